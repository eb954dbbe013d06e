// One observation, seen: an image, a map, a curve, or bars by feature name.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import { ramp } from "./colours";
import type { Run } from "./documents";
import { html, onSize, useDark } from "./html";
import { number } from "./words";

interface Shown {
  run: Run;
  values: ArrayLike<number> | null;
  label: string;
  /** Features in the order of how much they move, for tables with many. */
  order?: number[] | null;
  /** A small picture beside something else. */
  small?: boolean;
}

export function Picture(props: Shown) {
  if (props.run.shows === "bars") return html`<${Bars} ...${props} />`;
  if (props.run.shows === "curve" || props.run.shape.length < 2) return html`<${CurvePicture} ...${props} />`;
  return html`<${Raster} ...${props} />`;
}

const MOST_FRAMES = 12;

/** Channels, height and width; a map with several frames has them as tiles beside each other. */
function layout(run: Run): { channels: number; tiles: number; across: number; h: number; w: number } {
  const [h, w] = run.shape.slice(-2);
  const first = run.shape.length > 2 ? run.shape[0] : 1;
  if (run.shows === "image") return { channels: first, tiles: 1, across: 1, h, w };
  const tiles = Math.min(first, MOST_FRAMES);
  return { channels: 1, tiles, across: Math.ceil(Math.sqrt(tiles)), h, w };
}

export function paint(context: CanvasRenderingContext2D, run: Run, values: ArrayLike<number>): void {
  const { channels, tiles, across, h, w } = layout(run);
  const frames = run.shows === "map" && run.shape.length > 2 ? run.shape[0] : 1;
  const [low, high] = run.value_range;
  const scale = 1 / (high - low || 1);
  const pixels = context.createImageData(across * w, Math.ceil(tiles / across) * h);
  for (let tile = 0; tile < tiles; tile++) {
    const frame = Math.floor((tile * frames) / tiles);
    const [left, top] = [(tile % across) * w, Math.floor(tile / across) * h];
    for (let i = 0; i < h * w; i++) {
      const at = 4 * ((top + Math.floor(i / w)) * across * w + left + (i % w));
      const level = (c: number) => (values[(frame * channels + c) * h * w + i] - low) * scale;
      if (run.shows === "map") pixels.data.set(ramp(level(0)), at);
      else for (let c = 0; c < 3; c++) pixels.data[at + c] = Math.round(255 * level(channels >= 3 ? c : 0));
      pixels.data[at + 3] = 255;
    }
  }
  context.putImageData(pixels, 0, 0);
}

function Raster({ run, values, label }: Shown) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const { tiles, across, h, w } = layout(run);
  const [width, height] = [across * w, Math.ceil(tiles / across) * h];
  useEffect(() => {
    if (values && canvas.current) paint(canvas.current.getContext("2d", { willReadFrequently: true })!, run, values);
  }, [values, run]);
  return html`<div class="raster">
    <canvas ref=${canvas} width=${width} height=${height} role="img" aria-label=${label} style=${{ aspectRatio: `${width} / ${height}` }} />
    ${run.shows === "map" && html`<${Scale} range=${run.value_range} units=${run.units} />`}
  </div>`;
}

export function Scale({ range, units }: { range: [number, number]; units?: string | null }) {
  return html`<p class="scale"><span>${number(range[0])}</span><span class="ramp" aria-hidden="true"></span><span>${number(range[1])}${units ? ` ${units}` : ""}</span></p>`;
}

function CurvePicture({ run, values, label, small }: Shown) {
  const height = small ? 170 : 300;
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const dark = useDark();
  const length = run.shape[run.shape.length - 1] ?? 0;
  const channels = run.shape.length > 1 ? run.shape[0] : 1;
  const xs = useMemo(() => [...Array(length).keys()], [length]);
  const data = () => [xs, ...[...Array(channels).keys()].map((c) => (values ? Array.from(values as Float32Array).slice(c * length, (c + 1) * length) : xs.map(() => null)))] as uPlot.AlignedData;
  useEffect(() => {
    if (!place.current) return;
    const style = getComputedStyle(place.current);
    const [ink, line, accent] = ["--soft", "--line", "--accent"].map((name) => style.getPropertyValue(name).trim());
    const axis = { stroke: ink, grid: { stroke: line, width: 1 }, ticks: { show: false }, font: "12px system-ui" };
    const [low, high] = run.value_range;
    const pad = 0.04 * (high - low || 1);
    plot.current = new uPlot({
      width: place.current.clientWidth, height, legend: { show: false }, cursor: { show: false },
      scales: { x: { time: false, range: [0, length - 1] }, y: { range: [low - pad, high + pad] } },
      axes: [{ ...axis, label: run.shows === "map" ? "frame" : "place in the row", labelSize: 22, labelFont: "12px system-ui", size: 30 }, { ...axis, size: 56, label: small ? undefined : (run.units ?? undefined), labelSize: 22, labelFont: "12px system-ui" }],
      series: [{}, ...[...Array(channels).keys()].map((c) => ({ stroke: c ? ink : accent, width: 2, points: { show: false } }))],
    }, data(), place.current);
    const stop = onSize(place.current, (width) => plot.current?.setSize({ width, height }));
    return () => {
      stop();
      plot.current?.destroy();
      plot.current = null;
    };
  }, [run, dark]);
  useEffect(() => plot.current?.setData(data()), [values]);
  return html`<div class=${small ? "curve small" : "curve"} ref=${place} role="img" aria-label=${label}></div>`;
}

const MOST_BARS = 24;
const FEW_BARS = 10;

function Bars({ run, values, label, order, small }: Shown) {
  const [filter, setFilter] = useState("");
  const size = run.shape.reduce((a, b) => a * b, 1);
  const name = (i: number) => run.features?.[i] ?? `feature ${i + 1}`;
  const wanted = filter.trim().toLowerCase();
  const all = order ?? [...Array(size).keys()];
  const shown = (wanted ? all.filter((i) => name(i).toLowerCase().includes(wanted)) : all).slice(0, small ? FEW_BARS : MOST_BARS);
  const [low, high] = [Math.min(0, run.value_range[0]), Math.max(0, run.value_range[1])];
  const span = high - low || 1;
  const part = (v: number) => Math.max(0, Math.min(1, (v - low) / span));
  return html`<div class="bars">
    ${size > MOST_BARS && !small && html`<label class="field">Find a feature
      <input type="search" value=${filter} onInput=${(e: any) => setFilter(e.target.value)} placeholder=${`${size} features; shown: the ${MOST_BARS} that move most`} /></label>`}
    <dl aria-label=${label}>${shown.map((i) => {
      const value = values ? values[i] : null;
      const [a, b] = value == null ? [0, 0] : [part(Math.min(0, value)), part(Math.max(0, value))];
      return html`<div key=${i}><dt title=${name(i)}>${name(i)}</dt><dd><span class="track" aria-hidden="true"><span class="bar" style=${{ left: `${100 * a}%`, width: `${100 * (b - a)}%` }}></span></span><output>${number(value)}</output></dd></div>`;
    })}</dl>
    ${!shown.length && html`<p class="quiet">No feature is called that.</p>`}
    ${run.units && !small && html`<p class="quiet">${run.units}</p>`}
  </div>`;
}
