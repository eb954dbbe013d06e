// A plane of points: to move, to zoom, to draw a lasso in, by pointer, finger or keys.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { around, type Camera, type Corner, moved, nearest, ticks, toPlane, toScreen, zoomed } from "./camera";
import { html, onSize } from "./html";
import { type Painter, painter } from "./painters";
import { tick } from "./words";

interface Props {
  xs: Float32Array; ys: Float32Array; colours: Uint8Array; xRange: [number, number]; yRange: [number, number];
  xName: string; yName: string; lasso: Corner[]; canLasso: boolean; tool: "move" | "lasso"; label: string;
  /** A row to mark. */
  marked: number | null;
  onLasso: (corners: Corner[]) => void; onUndo: () => void; onHover: (row: number) => void; onPick: (row: number) => void;
}

export function Scatter(props: Props) {
  const { xs, ys, colours, xRange, yRange, lasso, tool, marked, label } = props;
  const canvas = useRef<HTMLCanvasElement>(null);
  const stage = useRef<HTMLDivElement>(null);
  const points = useRef<Painter | null>(null);
  const frame = useRef(0);
  const [size, setSize] = useState<[number, number]>([0, 0]);
  const view = useRef<Camera>(around(xRange, yRange)); // what is drawn; `camera` follows it, for axes and lasso
  const [camera, setCamera] = useState<Camera>(view.current);
  const [cross, setCross] = useState<Corner | null>(null); // pixels; where pointer or keys are
  const [drawing, setDrawing] = useState<Corner[] | null>(null);
  const dragged = useRef<{ at: Corner; begun: Corner; far: number; lasso: boolean } | null>(null);
  const fingers = useRef(new Map<number, Corner>());
  const [w, h] = size;

  // Layout effects: a move is drawn in the frame it happens in, not in the one after.
  useLayoutEffect(() => {
    points.current = painter(canvas.current!);
    canvas.current!.dataset.painter = points.current.kind;
    const stop = onSize(stage.current!, (width, height) => setSize([Math.round(width), Math.round(height)]));
    return () => {
      stop();
      cancelAnimationFrame(frame.current);
      points.current?.close();
    };
  }, []);
  useEffect(() => aim(() => around(xRange, yRange)), [xRange[0], xRange[1], yRange[0], yRange[1]]);
  useLayoutEffect(() => points.current?.load(xs, ys, colours), [xs, ys, colours]);
  // Drawn in the frame in which it was moved, whatever the rest of the page is at; asked for once a frame and never put
  // off, since moves that keep coming would put it off for ever.
  function draw() {
    frame.current ||= requestAnimationFrame(() => {
      frame.current = 0;
      if (!canvas.current || !stage.current) return;
      const dense = Math.min(2, devicePixelRatio || 1);
      const [pw, ph] = [Math.round(stage.current.clientWidth * dense), Math.round(stage.current.clientHeight * dense)];
      if (canvas.current.width !== pw || canvas.current.height !== ph) [canvas.current.width, canvas.current.height] = [pw, ph];
      const across = xs.length > 30000 ? 2.5 : xs.length > 5000 ? 4 : 7;
      points.current?.draw(view.current, pw, ph, across * dense);
    });
  }
  function aim(change: (camera: Camera) => Camera) {
    view.current = change(view.current);
    draw();
    setCamera(view.current);
  }
  useLayoutEffect(draw, [size, xs, ys, colours]);

  const look = (at: Corner) => {
    setCross(at);
    props.onHover(nearest(camera, at, w, h, xs, ys));
  };
  const place = (event: { clientX: number; clientY: number }): Corner => {
    const box = stage.current!.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  const plane = (at: Corner) => toPlane(camera, at, w, h);

  function down(event: PointerEvent) {
    if (event.button > 0) return;
    stage.current!.setPointerCapture(event.pointerId);
    const at = place(event);
    fingers.current.set(event.pointerId, at);
    const lassoing = props.canLasso && (tool === "lasso" || event.shiftKey) && fingers.current.size === 1;
    dragged.current = { at, begun: at, far: 0, lasso: lassoing };
    setDrawing(lassoing ? [plane(at)] : null);
  }
  function move(event: PointerEvent) {
    const at = place(event);
    const drag = dragged.current;
    if (fingers.current.size === 2) pinch(event.pointerId, at);
    else if (!drag) look(at);
    else if (drag.lasso) setDrawing((corners) => [...(corners ?? []), plane(at)]);
    else aim((c) => moved(c, (drag.at[0] - at[0]) / w, (at[1] - drag.at[1]) / h));
    if (drag) {
      drag.at = at;
      drag.far = Math.max(drag.far, Math.hypot(at[0] - drag.begun[0], at[1] - drag.begun[1])); // a lasso ends where it began
    }
    if (fingers.current.has(event.pointerId)) fingers.current.set(event.pointerId, at);
  }
  function pinch(id: number, at: Corner) {
    const other = [...fingers.current].find(([each]) => each !== id)![1];
    const before = fingers.current.get(id)!;
    const gap = (a: Corner, b: Corner) => Math.hypot(a[0] - b[0], a[1] - b[1]) || 1;
    const middle: Corner = [(at[0] + other[0]) / 2, (at[1] + other[1]) / 2];
    aim((c) => zoomed(c, gap(before, other) / gap(at, other), toPlane(c, middle, w, h)));
  }
  function up(event: PointerEvent) {
    const drag = dragged.current;
    fingers.current.delete(event.pointerId);
    if (fingers.current.size) return;
    dragged.current = null;
    const at = place(event);
    const still = drag && drag.far < 4;
    if (drag?.lasso && !still && drawing && drawing.length > 2) props.onLasso(drawing);
    else if (still) pick(at);
    setDrawing(null);
  }
  function pick(at: Corner) {
    const row = nearest(camera, at, w, h, xs, ys);
    if (row >= 0) props.onPick(row);
  }
  // The browser would scroll the page unless told otherwise by a listener that is not passive.
  useEffect(() => {
    const element = stage.current!;
    const turn = (event: WheelEvent) => {
      event.preventDefault();
      const at = place(event);
      const [pw, ph] = [element.clientWidth, element.clientHeight];
      aim((c) => zoomed(c, Math.exp(Math.max(-60, Math.min(60, event.deltaY)) * 0.004), toPlane(c, at, pw, ph)));
    };
    element.addEventListener("wheel", turn, { passive: false });
    return () => element.removeEventListener("wheel", turn);
  }, []);

  function key(event: KeyboardEvent) {
    const arrows: Record<string, Corner> = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    const at: Corner = cross ?? [w / 2, h / 2];
    const arrow = arrows[event.key];
    if (arrow && event.shiftKey) aim((c) => moved(c, 0.08 * arrow[0], -0.08 * arrow[1]));
    else if (arrow) look([Math.max(0, Math.min(w, at[0] + 12 * arrow[0])), Math.max(0, Math.min(h, at[1] + 12 * arrow[1]))]);
    else if (event.key === "+" || event.key === "=") aim((c) => zoomed(c, 0.8));
    else if (event.key === "-") aim((c) => zoomed(c, 1.25));
    else if (event.key === "0") aim(() => around(xRange, yRange));
    else if (props.canLasso && (event.key === "l" || event.key === " ")) setDrawing((corners) => [...(corners ?? []), plane(at)]);
    else if (event.key === "Enter" && drawing) {
      if (drawing.length > 2) props.onLasso(drawing);
      setDrawing(null);
    } else if (event.key === "Enter") pick(at);
    else if (event.key === "Escape") setDrawing(null);
    else if ((event.key === "z" && (event.ctrlKey || event.metaKey)) || event.key === "u") props.onUndo();
    else return;
    event.preventDefault();
  }

  const screen = (corner: Corner) => toScreen(camera, corner, w, h);
  const path = (corners: Corner[], close: boolean) => corners.map((c, i) => `${i ? "L" : "M"}${screen(c).map((v) => v.toFixed(1)).join(",")}`).join("") + (close ? "Z" : "");
  const at = marked != null && marked >= 0 && marked < xs.length ? screen([xs[marked], ys[marked]]) : null;
  return html`<div class="scatter">
    <div class="stage ${tool}" ref=${stage} tabindex="0" role="application" aria-roledescription="plane of points" aria-label=${label}
      aria-describedby="scatter-keys" onPointerDown=${down} onPointerMove=${move} onPointerUp=${up} onPointerCancel=${up}
      onPointerLeave=${() => { if (!dragged.current) { setCross(null); props.onHover(-1); } }} onKeyDown=${key}
      onDblClick=${() => aim(() => around(xRange, yRange))}>
      <canvas ref=${canvas} aria-hidden="true"></canvas>
      <svg width=${w} height=${h} aria-hidden="true">
        ${ticks(camera.x - camera.width / 2, camera.x + camera.width / 2).filter((t) => screen([t, 0])[0] > 30 && screen([t, 0])[0] < w - 20).map((t) => html`<text key=${`x${t}`} class="tick" x=${screen([t, 0])[0]} y=${h - 6} text-anchor="middle">${tick(t)}</text>`)}
        ${ticks(camera.y - camera.height / 2, camera.y + camera.height / 2).filter((t) => screen([0, t])[1] > 34 && screen([0, t])[1] < h - 24).map((t) => html`<text key=${`y${t}`} class="tick" x="6" y=${screen([0, t])[1] + 4}>${tick(t)}</text>`)}
        <text class="name" x=${w - 8} y=${h - 22} text-anchor="end">${props.xName} →</text>
        <text class="name" x="8" y="18">↑ ${props.yName}</text>
        ${lasso.length > 2 && html`<path class="lasso" d=${path(lasso, true)} />`}
        ${drawing && html`<path class="lasso drawing" d=${path(drawing, false)} />${drawing.length < 40 && drawing.map((c) => html`<circle class="corner" cx=${screen(c)[0]} cy=${screen(c)[1]} r="2.5" />`)}`}
        ${at && html`<circle class="mark" cx=${at[0]} cy=${at[1]} r="7" />`}
        ${cross && html`<path class="cross" d=${`M${cross[0] - 7},${cross[1]}h14M${cross[0]},${cross[1] - 7}v14`} />`}
      </svg>
    </div>
    <details class="keys"><summary>How to move here</summary><p id="scatter-keys" class="quiet">Drag to move, wheel or pinch to zoom, Shift and drag for a lasso, click a point to take it. With keys: arrows move the cross, Shift and arrows the view, + and − zoom, 0 shows all, L sets a corner of the lasso, Enter closes it or takes the point, U undoes.</p></details>
  </div>`;
}
