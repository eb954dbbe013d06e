// What a latent does, at a glance: pictures decoded along its range, everything else as it stands.
import { useEffect, useRef, useState } from "preact/hooks";
import type { Run } from "./documents";
import { html } from "./html";
import { Latest, type Library } from "./library";
import { paint } from "./picture";
import { number } from "./words";

const PICTURES = 7;
const MOST_LATENTS = 18; // two requests of 64 codes
const REST = 180; // ms without a move before the strips follow

const places = (run: Run, k: number) => [...Array(PICTURES).keys()].map((i) => run.range[k][0] + (i / (PICTURES - 1)) * (run.range[k][1] - run.range[k][0]));
export const hasStrips = (run: Run): boolean => run.shows === "image" && run.latents <= MOST_LATENTS;

/** For each latent its pictures around z; null until the first are there. */
export function useStrips(library: Library, run: Run, z: Float32Array): Float32Array[][] | null {
  const [strips, set] = useState<Float32Array[][] | null>(null);
  const latest = useRef<Latest<Float32Array, Float32Array[][]> | null>(null);
  useEffect(() => {
    if (!hasStrips(run)) return;
    latest.current = new Latest((at: Float32Array) => decoded(library, run, at), set, () => set(null));
    return () => latest.current?.close();
  }, [run.id]);
  useEffect(() => {
    if (!hasStrips(run)) return;
    const timer = setTimeout(() => void latest.current?.ask(z), REST);
    return () => clearTimeout(timer);
  }, [z, run.id]);
  return strips;
}

async function decoded(library: Library, run: Run, at: Float32Array): Promise<Float32Array[][]> {
  const found: Float32Array[][] = [];
  const together = Math.floor(64 / PICTURES);
  for (let first = 0; first < run.latents; first += together) {
    const latents = [...Array(Math.min(together, run.latents - first)).keys()].map((i) => first + i);
    const z = new Float32Array(latents.length * PICTURES * run.latents);
    latents.forEach((k, row) => places(run, k).forEach((value, i) => {
      z.set(at, (row * PICTURES + i) * run.latents);
      z[(row * PICTURES + i) * run.latents + k] = value;
    }));
    const all = await library.source.decode(run.id, z);
    const size = all.length / (latents.length * PICTURES);
    for (let row = 0; row < latents.length; row++)
      found.push([...Array(PICTURES).keys()].map((i) => all.subarray((row * PICTURES + i) * size, (row * PICTURES + i + 1) * size)));
  }
  return found;
}

export function Strip({ run, k, pictures, set }: { run: Run; k: number; pictures: Float32Array[] | null; set: (changes: Record<number, number>) => void }) {
  return html`<div class="strip">${places(run, k).map((value, i) => html`<button key=${i} tabindex="-1" aria-label=${`${run.latent_names[k]} to ${number(value, 2)}`} onClick=${() => set({ [k]: value })}>
    <${Small} run=${run} values=${pictures?.[i] ?? null} /></button>`)}</div>`;
}

function Small({ run, values }: { run: Run; values: Float32Array | null }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [h, w] = run.shape.slice(-2);
  useEffect(() => {
    if (values) paint(canvas.current!.getContext("2d")!, run, values);
  }, [values]);
  return html`<canvas ref=${canvas} width=${w} height=${h} aria-hidden="true" style=${{ aspectRatio: `${w} / ${h}` }}></canvas>`;
}
