// A movie's pixels: each is an observation, its curve over frames; a latent is then a map.
import { useEffect, useRef, useState } from "preact/hooks";
import { hex, ramp } from "./colours";
import type { Run } from "./documents";
import { html } from "./html";
import type { Points } from "./library";
import { Scale } from "./picture";

export function LatentMap({ run, points, row, onPick }: { run: Run; points: Points; row: number | null; onPick: (row: number) => void }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [k, setK] = useState(0);
  const [down, across] = ["row", "column"].map((name) => run.factors.findIndex((factor) => factor.name === name));
  const at = (i: number, f: number) => points.factors[i * points.factorCount + f];
  const most = (f: number) => [...Array(points.n).keys()].reduce((best, i) => Math.max(best, at(i, f)), 0) + 1;
  const known = down >= 0 && across >= 0 && points.n > 0;
  const [h, w] = known ? [most(down), most(across)] : [1, 1];
  const range = run.range[k];
  useEffect(() => {
    const context = canvas.current?.getContext("2d");
    if (!context || !known) return;
    context.clearRect(0, 0, w, h);
    for (let i = 0; i < points.n; i++) {
      context.fillStyle = hex(ramp((points.codes[i * points.latents + k] - range[0]) / (range[1] - range[0] || 1)));
      context.fillRect(at(i, across), at(i, down), 1, 1);
    }
    if (row != null) {
      context.fillStyle = "#d55e00";
      context.fillRect(at(row, across), at(row, down), 1, 1);
    }
  }, [points, k, row, h, w]);
  if (!known) return null;
  function pick(event: MouseEvent) {
    const box = canvas.current!.getBoundingClientRect();
    const [x, y] = [Math.floor(((event.clientX - box.left) / box.width) * w), Math.floor(((event.clientY - box.top) / box.height) * h)];
    for (let i = 0; i < points.n; i++) if (at(i, across) === x && at(i, down) === y) return onPick(i);
  }
  return html`<figure class="map"><label class="field">Map of <select onChange=${(e: any) => setK(Number(e.target.value))}>${run.latent_names.map((name, i) => html`<option value=${i} selected=${i === k}>${name}</option>`)}</select></label>
    <div class="raster"><canvas ref=${canvas} width=${w} height=${h} role="img" aria-label=${`${run.latent_names[k]} at each pixel of the movie`} style=${{ aspectRatio: `${w} / ${h}` }} onClick=${pick} /></div>
    <${Scale} range=${range} /><figcaption>${run.latent_names[k]} at each pixel. Click a pixel to take it.</figcaption></figure>`;
}
