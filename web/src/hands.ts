// What a hand moves: a slider for each latent, a plane for each group of two.
import { useEffect, useRef } from "preact/hooks";
import type { Run } from "./documents";
import { html, useDark } from "./html";
import type { Points } from "./library";
import { number } from "./words";

type Set = (changes: Record<number, number>) => void;

function bounds(run: Run, k: number, value: number): [number, number] {
  const [low, high] = run.range[k];
  return [Math.min(low, value), Math.max(high, value)]; // a file may lie farther out than the data did
}

export function Slider({ run, k, z, set }: { run: Run; k: number; z: Float32Array; set: Set }) {
  const [low, high] = bounds(run, k, z[k]);
  const name = run.latent_names[k];
  const silent = run.active[k] === false;
  return html`<label class="slider ${silent ? "silent" : ""}"><span class="name">${name}</span>
    <input type="range" min=${low} max=${high} step="any" value=${z[k]} aria-label=${`${name}${silent ? ", silent" : ""}`} aria-valuetext=${number(z[k], 2)}
      onInput=${(e: any) => set({ [k]: Number(e.target.value) })} onKeyDown=${(e: KeyboardEvent) => {
        const steps: Record<string, number> = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -10, PageUp: 10 };
        if (!steps[e.key]) return;
        e.preventDefault();
        set({ [k]: Math.max(low, Math.min(high, z[k] + (steps[e.key] * (high - low)) / 100)) });
      }} />
    <output>${number(z[k], 2)}</output>
    <span class="about">${silent ? "silent" : run.kl[k] != null ? `${number(run.kl[k], 2)} nats` : ""}</span></label>`;
}

const FAINT = 4000; // points behind a plane

export function Plane({ run, group, z, set, points }: { run: Run; group: number[]; z: Float32Array; set: Set; points: Points | null }) {
  const [a, b] = group;
  const canvas = useRef<HTMLCanvasElement>(null);
  const pad = useRef<HTMLDivElement>(null);
  const dark = useDark();
  const [[x0, x1], [y0, y1]] = [bounds(run, a, z[a]), bounds(run, b, z[b])];
  useEffect(() => {
    const context = canvas.current?.getContext("2d");
    if (!context || !points) return;
    const side = canvas.current!.width;
    context.clearRect(0, 0, side, side);
    context.fillStyle = dark ? "rgba(160, 190, 215, 0.28)" : "rgba(30, 70, 110, 0.2)";
    const step = Math.max(1, Math.floor(points.n / FAINT));
    for (let i = 0; i < points.n; i += step) {
      const [x, y] = [points.codes[i * points.latents + a], points.codes[i * points.latents + b]];
      context.fillRect(((x - x0) / (x1 - x0)) * side - 1, (1 - (y - y0) / (y1 - y0)) * side - 1, 2, 2);
    }
  }, [points, dark, x0, x1, y0, y1, a, b]);
  const clamp = (v: number, low: number, high: number) => Math.max(low, Math.min(high, v));
  function to(event: PointerEvent) {
    const box = pad.current!.getBoundingClientRect();
    const [u, v] = [clamp((event.clientX - box.left) / box.width, 0, 1), clamp((event.clientY - box.top) / box.height, 0, 1)];
    set({ [a]: x0 + u * (x1 - x0), [b]: y1 - v * (y1 - y0) });
  }
  function key(event: KeyboardEvent) {
    const far = event.shiftKey ? 0.1 : 0.02;
    const steps: Record<string, [number, number]> = { ArrowLeft: [-far, 0], ArrowRight: [far, 0], ArrowUp: [0, far], ArrowDown: [0, -far] };
    if (event.key === "Home") set({ [a]: run.start[a], [b]: run.start[b] });
    else if (steps[event.key]) {
      const [dx, dy] = steps[event.key];
      set({ [a]: clamp(z[a] + dx * (x1 - x0), x0, x1), [b]: clamp(z[b] + dy * (y1 - y0), y0, y1) });
    } else return;
    event.preventDefault();
  }
  const names = [run.latent_names[a], run.latent_names[b]];
  const said = `${names[0]} ${number(z[a], 2)}, ${names[1]} ${number(z[b], 2)}`;
  return html`<div class="plane" ref=${pad} tabindex="0" role="slider" aria-roledescription="plane" aria-label=${`${names[0]} across, ${names[1]} up; arrows move, Home goes to the mean`}
    aria-valuemin=${x0} aria-valuemax=${x1} aria-valuenow=${z[a]} aria-valuetext=${said} onKeyDown=${key}
    onPointerDown=${(e: PointerEvent) => { pad.current!.setPointerCapture(e.pointerId); to(e); }} onPointerMove=${(e: PointerEvent) => e.buttons && to(e)}>
    <canvas ref=${canvas} width="336" height="336" aria-hidden="true"></canvas>
    <span class="knob" style=${{ left: `${(100 * (z[a] - x0)) / (x1 - x0)}%`, top: `${100 - (100 * (z[b] - y0)) / (y1 - y0)}%` }}></span>
    <span class="across" aria-hidden="true">${names[0]} →</span><span class="up" aria-hidden="true">↑ ${names[1]}</span>
  </div>`;
}
