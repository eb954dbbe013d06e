// Codes as points: coloured by a factor, with a lasso, and the observation under the pointer.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Place } from "./address";
import { type Corner, inside } from "./camera";
import { hex, kinds, pointRamp, type Rgb } from "./colours";
import type { Run } from "./documents";
import { html, Problem, useAsked, useDark, Waiting } from "./html";
import { Latest, type Library, type Points } from "./library";
import { Picture } from "./picture";
import { Scatter } from "./scatter";
import { count, number, plural } from "./words";

const column = (points: Points, k: number) => Float32Array.from({ length: points.n }, (_, i) => points.codes[i * points.latents + k]);
const factorOf = (points: Points, f: number) => Float32Array.from({ length: points.n }, (_, i) => points.factors[i * points.factorCount + f]);
const corners = (text: string | undefined): Corner[] => {
  const numbers = (text ?? "").split(",").map(Number);
  return numbers.length >= 6 && numbers.every(Number.isFinite) ? [...Array(numbers.length >> 1).keys()].map((i) => [numbers[2 * i], numbers[2 * i + 1]] as Corner) : [];
};

function extent(values: Float32Array): [number, number] {
  let low = Infinity;
  let high = -Infinity;
  for (const v of values) {
    if (v < low) low = v;
    if (v > high) high = v;
  }
  return low < high ? [low, high] : [low || 0, (low || 0) + 1];
}

/** Codes of a run; beside a first run they show the same observations as chosen there, where both have the same rows. */
export function Codes({ library, place, run, name, first }: { library: Library; place: Place; run: Run; name?: string; first?: Run }) {
  const { value: theirs } = useAsked(first?.count ? () => library.points(first) : null, [first?.id]);
  const { value: points, problem } = useAsked(run.count ? () => library.points(run) : null, [run.id]);
  if (!run.count) return html`<p class="empty">There are no codes to show: the data of this run could not be read.</p>`;
  if (problem) return html`<${Problem} words=${problem} />`;
  if (!points) return html`<div class="scatter"><div class="stage"><${Waiting} words="Reading the codes…" /></div></div>`;
  if (!points.n || !run.latents) return html`<p class="empty">There are no codes to show: the data of this run could not be read.</p>`;
  return html`<${Plane} ...${{ library, place, run, points, name, first, theirs }} />`;
}

/** The two latents across and up: as the address says, else a group's first two, else the two with most KL. */
function axes(run: Run, x: string | undefined, y: string | undefined): [number, number] {
  const pair = run.groups.find((group) => group.length > 1) ?? byKl(run);
  const latent = (text: string | undefined, otherwise: number) => Math.min(run.latents - 1, Math.max(0, text ? Number(text) | 0 : otherwise));
  return [latent(x, pair[0]), latent(y, pair[1] ?? pair[0])];
}

function Plane({ library, place, run, points, name, first, theirs }: { library: Library; place: Place; run: Run; points: Points; name?: string; first?: Run; theirs: Points | null }) {
  const at = place.parameters;
  const dark = useDark();
  const keys = first ? ["x2", "y2"] : ["x", "y"];
  const [x, y] = axes(run, at[keys[0]], at[keys[1]]);
  const f = run.factors.findIndex((factor) => factor.name === (at.color ?? run.factors[0]?.name));
  const [xs, ys] = useMemo(() => [column(points, x), column(points, y)], [points, x, y]);
  const shade = useMemo(() => (f >= 0 ? factorOf(points, f) : null), [points, f]);
  const [only, setOnly] = useState<number | null>(null);
  const [tool, setTool] = useState<"move" | "lasso">("move");
  const [hovered, setHovered] = useState(-1);
  const undo = useRef<string[]>([]);
  const lasso = useMemo(() => corners(at.lasso), [at.lasso]);
  const mask = useMemo(() => {
    if (!lasso.length) return null;
    if (!first) return inside(lasso, xs, ys);
    const [a, b] = axes(first, at.x, at.y);
    return theirs?.n === points.n ? inside(lasso, column(theirs, a), column(theirs, b)) : null;
  }, [lasso, xs, ys, first, theirs, at.x, at.y]);
  useEffect(() => setOnly(null), [f]);

  const legend = useMemo(() => legendOf(run, f, shade, dark), [run, f, shade, dark]);
  const colours = useMemo(() => {
    const all = new Uint8Array(4 * points.n);
    for (let i = 0; i < points.n; i++) {
      all.set(legend.colour(shade ? shade[i] : 0), 4 * i);
      const out = (mask && !mask[i]) || (only != null && shade?.[i] !== only);
      all[4 * i + 3] = out ? (dark ? 34 : 26) : 205;
    }
    return all;
  }, [points, legend, shade, mask, only, dark]);

  function draw(polygon: Corner[]) {
    const step = Math.max(1, Math.ceil(polygon.length / 60)); // an address has room for sixty corners
    undo.current.push(at.lasso ?? "");
    place.set({ lasso: polygon.filter((_, i) => i % step === 0).flat().map((v) => Number(v.toPrecision(4))).join(",") });
    setTool("move");
  }
  const undone = () => place.set({ lasso: undo.current.pop() ?? "" });
  const select = (label: string, value: number, key: string) => html`<label class="field">${label}
    <select value=${value} onChange=${(e: any) => place.set(first ? { [key]: e.target.value } : { [key]: e.target.value, lasso: "" })}>${run.latent_names.map((each, k) => html`<option value=${k} selected=${k === value}>${each}</option>`)}</select></label>`;
  return html`<section class="codes" aria-label=${name ? `Codes of ${name}` : "Codes"}>${name && html`<h3>${name}</h3>`}
    <div class="toolbar">
      ${select("Across", x, keys[0])}${select("Up", y, keys[1])}
      <label class="field">Colour <select onChange=${(e: any) => place.set({ color: e.target.value })}>
        ${run.factors.map((factor, i) => html`<option value=${factor.name} selected=${i === f}>${factor.name}</option>`)}<option value="-" selected=${f < 0}>one colour</option></select></label>
      ${!first && html`<div class="buttons"><button aria-pressed=${tool === "lasso"} onClick=${() => setTool(tool === "lasso" ? "move" : "lasso")}>Lasso</button>
      <button disabled=${!at.lasso && !undo.current.length} onClick=${undone}>Undo the lasso</button></div>`}
    </div>
    <div class="beside">
      <${Scatter} ...${{ xs, ys, colours, lasso: first ? [] : lasso, canLasso: !first, tool, xRange: run.range[x] ?? extent(xs), yRange: run.range[y] ?? extent(ys) }}
        xName=${run.latent_names[x]} yName=${run.latent_names[y]} marked=${at.row ? Number(at.row) : null}
        label=${`${plural(points.n, "observation")}: ${run.latent_names[x]} across, ${run.latent_names[y]} up`}
        onLasso=${draw} onUndo=${undone} onHover=${setHovered} onPick=${(row: number) => place.set({ row: String(row), z: "" })} />
      <div class="side">
        <${Legend} ...${{ legend, only, setOnly }} />
        <${Under} ...${{ library, run, points, row: hovered >= 0 ? hovered : at.row ? Number(at.row) : -1, place, f, shade }} />
        <${Chosen} ...${{ run, points, mask, shade, f, place }} />
        <p class="quiet">${plural(points.n, "observation")}${points.n < run.total ? html`, drawn at random from ${count(run.total)}` : ""}.</p>
      </div>
    </div>
  </section>`;
}

function byKl(run: Run): number[] {
  const order = [...Array(run.latents).keys()].sort((a, b) => (run.kl[b] ?? 0) - (run.kl[a] ?? 0));
  return order.slice(0, 2).sort((a, b) => a - b);
}

interface LegendOf { name: string; colour: (value: number) => Rgb; levels: { name: string; colour: Rgb; index: number }[] | null; range: [number, number] | null }

function legendOf(run: Run, f: number, shade: Float32Array | null, dark: boolean): LegendOf {
  const missing: Rgb = dark ? [90, 98, 106] : [190, 196, 202];
  if (f < 0 || !shade) return { name: "", colour: () => kinds(1, dark)[0], levels: null, range: null };
  const factor = run.factors[f];
  if (factor.kind === "categorical" && factor.levels) {
    const palette = kinds(factor.levels.length, dark);
    const levels = factor.levels.map((name, index) => ({ name: String(name), colour: palette[index], index }));
    return { name: factor.name, colour: (v) => palette[v] ?? missing, levels, range: null };
  }
  const range = extent(shade);
  const table = [...Array(256).keys()].map((i) => pointRamp(i / 255, dark));
  const scale = 255 / (range[1] - range[0] || 1);
  return { name: factor.name, colour: (v) => table[Math.round((v - range[0]) * scale)] ?? missing, levels: null, range };
}

function Legend({ legend, only, setOnly }: { legend: LegendOf; only: number | null; setOnly: (level: number | null) => void }) {
  if (!legend.name) return null;
  if (legend.range)
    return html`<div class="legend"><h3>${legend.name}</h3><p class="scale"><span>${number(legend.range[0])}</span><span class="ramp points" aria-hidden="true"></span><span>${number(legend.range[1])}</span></p></div>`;
  return html`<div class="legend"><h3>${legend.name}</h3><ul>${legend.levels!.slice(0, 40).map((level) => html`<li key=${level.index}><button class="level" aria-pressed=${only === level.index}
    onClick=${() => setOnly(only === level.index ? null : level.index)}><svg width="12" height="12" aria-hidden="true"><circle cx="6" cy="6" r="5" fill=${hex(level.colour)} /></svg>${level.name}</button></li>`)}</ul>
    ${legend.levels!.length > 40 && html`<p class="quiet">and ${legend.levels!.length - 40} more</p>`}</div>`;
}

const valueOf = (run: Run, f: number, v: number) => (Number.isNaN(v) ? "unknown" : (run.factors[f].levels?.[v] ?? number(v)));

function Under({ library, run, points, row, place, f, shade }: { library: Library; run: Run; points: Points; row: number; place: Place; f: number; shade: Float32Array | null }) {
  const [shown, setShown] = useState<{ row: number; values: Float32Array | null; problem: string | null }>({ row: -1, values: null, problem: null });
  const { value: order } = useAsked(run.shows === "bars" && run.decodes ? () => library.order(run) : null, [run.id]);
  const latest = useRef<Latest<number, Float32Array> | null>(null);
  const current = useRef(row);
  current.current = row;
  useEffect(() => {
    latest.current = new Latest((each: number) => library.observation(run, each), (values) => setShown({ row: current.current, values, problem: null }), (error) => setShown({ row: current.current, values: null, problem: error.message }));
    return () => latest.current?.close();
  }, [run.id]);
  useEffect(() => {
    if (row >= 0 && row < points.n) void latest.current?.ask(row);
  }, [row, run.id]);
  const known = row >= 0 && row < points.n;
  return html`<div class="under" aria-live="polite"><h3>${known ? `Observation ${count(row + 1)}` : "Under the pointer"}</h3>
    <div class="thumb">${shown.problem ? html`<p class="quiet">${shown.problem}</p>` : html`<${Picture} run=${run} values=${shown.values} order=${order} small=${true} label=${known ? `observation ${row + 1}` : "no observation yet"} />`}</div>
    ${known ? html`<p>${f >= 0 && shade ? `${run.factors[f].name}: ${valueOf(run, f, shade[row])}` : ""}
      ${place.parameters.row === String(row) && html` <a href=${place.with({ view: "turn", z: "" })} onClick=${(e: Event) => { e.preventDefault(); place.go({ ...place.parameters, view: "turn", z: "" }); }}>Turn its latents</a>`}</p>` : html`<p class="quiet">Point at a dot to see its observation.</p>`}
  </div>`;
}

function Chosen({ run, points, mask, shade, f, place }: { run: Run; points: Points; mask: Uint8Array | null; shade: Float32Array | null; f: number; place: Place }) {
  const about = useMemo(() => {
    if (!mask) return null;
    const rows: number[] = [];
    mask.forEach((hit, i) => hit && rows.push(i));
    const mean = [...Array(points.latents).keys()].map((k) => rows.reduce((sum, i) => sum + points.codes[i * points.latents + k], 0) / (rows.length || 1));
    const tally = new Map<number, number>();
    if (shade) for (const i of rows) if (!Number.isNaN(shade[i])) tally.set(shade[i], (tally.get(shade[i]) ?? 0) + 1);
    return { rows, mean, tally };
  }, [mask, points, shade]);
  if (!about) return null;
  const { rows, mean, tally } = about;
  const factor = run.factors[f];
  const common = [...tally].sort((a, b) => b[1] - a[1]).slice(0, 5);
  const known = [...tally].reduce((sum, [, n]) => sum + n, 0);
  const centre = [...tally].reduce((sum, [v, n]) => sum + v * n, 0) / (known || 1);
  return html`<div class="chosen" role="status"><h3>In the lasso</h3>
    <p><strong>${count(rows.length)}</strong> of ${count(points.n)} (${((100 * rows.length) / points.n).toFixed(1)} %)</p>
    ${factor && rows.length > 0 && (factor.kind === "categorical" ? html`<ul class="tally">${common.map(([v, n]) => html`<li>${valueOf(run, f, v)}: ${((100 * n) / rows.length).toFixed(0)} %</li>`)}</ul>` : html`<p>${factor.name}: mean ${number(centre)}</p>`)}
    ${rows.length > 0 && html`<p><a href=${place.with({ view: "turn", row: "", z: mean.map((v) => v.toFixed(3)).join(",") })} onClick=${(e: Event) => { e.preventDefault(); place.go({ ...place.parameters, view: "turn", row: "", z: mean.map((v) => v.toFixed(3)).join(",") }); }}>Decode their mean code</a></p>`}
  </div>`;
}
