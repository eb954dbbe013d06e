// Move the latents and see what the decoder says, of one run or of two at the same point.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Place } from "./address";
import type { Encoded, Run } from "./documents";
import { html, Problem, useAsked } from "./html";
import { Latest, type Library } from "./library";
import { hasStrips, Strip, useStrips } from "./strip";
import { LatentMap } from "./map";
import { Picture } from "./picture";
import { Plane, Slider } from "./hands";
import { latentsNamed, number } from "./words";

const codeOf = (text: string | undefined, run: Run): Float32Array | null => {
  const numbers = (text ?? "").split(",").map(Number);
  return text && numbers.length === run.latents && numbers.every(Number.isFinite) ? Float32Array.from(numbers) : null;
};
const inWords = (z: Float32Array) => [...z].map((v) => Number(v.toFixed(4))).join(",");

export function Turn({ library, place, run, other }: { library: Library; place: Place; run: Run; other: Run | null }) {
  const at = place.parameters;
  const { value: points } = useAsked(run.count ? () => library.points(run) : null, [run.id]);
  const { value: otherPoints } = useAsked(other?.count ? () => library.points(other) : null, [other?.id]);
  const [dropped, setDropped] = useState<{ name: string; encoded: Encoded; run: string } | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const row = at.row && points && Number(at.row) < points.n ? Number(at.row) : null;
  const z = useMemo(() => codeOf(at.z, run) ?? (row != null ? points!.codes.slice(row * run.latents, (row + 1) * run.latents) : Float32Array.from(run.start)), [at.z, row, points, run]);
  // The same point in both: the same observation where one was taken, the same numbers where latents were moved.
  const theirs = useMemo(() => {
    if (!other) return null;
    const taken = !codeOf(at.z, run) && row != null && otherPoints && row < otherPoints.n;
    if (taken) return otherPoints.codes.slice(row * other.latents, (row + 1) * other.latents);
    return Float32Array.from(other.start, (mean, k) => (k < z.length ? z[k] : mean));
  }, [other, otherPoints, z, row, at.z]);
  const { value: observed } = useAsked(row != null ? () => library.observation(run, row) : null, [row, run.id]);
  const { value: order } = useAsked(run.shows === "bars" ? () => library.order(run) : null, [run.id]);

  const strips = useStrips(library, run, z);
  const set = (changes: Record<number, number>) => {
    const next = z.slice();
    for (const k in changes) next[k] = changes[k];
    place.set({ z: inWords(next) });
  };
  async function encode(file: File | undefined) {
    if (!file) return;
    setProblem(null);
    try {
      const encoded = await library.source.encode(run.id, file);
      setDropped({ name: file.name, encoded, run: run.id });
      place.set({ z: inWords(Float32Array.from(encoded.mean)), row: "" });
    } catch (error) {
      setProblem((error as Error).message);
    }
  }
  const section = useRef<HTMLElement>(null);
  useEffect(() => {
    const page = section.current!.closest<HTMLElement>(".partita")!; // a file dropped beside the view is meant for it too
    const over = (event: DragEvent) => event.preventDefault();
    const drop = (event: DragEvent) => {
      event.preventDefault();
      void encode(event.dataTransfer?.files[0]);
    };
    page.addEventListener("dragover", over);
    page.addEventListener("drop", drop);
    return () => {
      page.removeEventListener("dragover", over);
      page.removeEventListener("drop", drop);
    };
  }, [run.id]);
  const given = dropped?.run === run.id ? dropped : null;
  const beside = row != null ? observed : given?.encoded.shown;
  return html`<section class="turn" aria-label="Turn the latents" ref=${section}>
    <div class="seen">
      <div class="pictures ${other ? "two" : ""} shows-${run.shows}"><${Decoded} key=${run.id} ...${{ library, run, z, order, caption: other ? run.title || run.id : "What the decoder says" }} />
        ${other && theirs && html`<${Decoded} key=${other.id} ...${{ library, run: other, z: theirs, order: order && other.features?.length === run.features?.length ? order : null, caption: (other.title || other.id) + (other.latents !== run.latents ? `: it has ${other.latents} latents, the first ${Math.min(run.latents, other.latents)} are moved` : "") }} />`}</div>
      <div class="given">
      ${run.shows === "map" && points && html`<${LatentMap} ...${{ run, points, row, onPick: (each: number) => place.set({ row: String(each), z: "" }) }} />`}
      <${Upload} run=${run} onFile=${encode} />
      ${beside && html`<figure class="itself"><${Picture} run=${run} values=${beside} order=${order} label="the observation itself" /><figcaption>${row != null ? `Observation ${row + 1}, as it is` : `${given!.name}, as it is`}</figcaption></figure>`}
      ${problem && html`<${Problem} words=${problem} />`}
      ${given && !row && html`<p class="quiet">Latents of ${given.name}, mean ± one deviation: ${given.encoded.mean.map((m, k) => `${run.latent_names[k]} ${number(m, 2)} ± ${number(Math.exp(0.5 * given.encoded.log_variance[k]), 2)}`).join(", ")}.</p>`}
      </div>
    </div>
    <div class="hands">
      <div class="buttons"><button onClick=${() => place.set({ z: inWords(Float32Array.from(run.start)), row: "" })}>To the mean</button>
        <button disabled=${!points?.n} onClick=${() => place.set({ row: String(Math.floor(Math.random() * points!.n)), z: "" })}>Take an observation</button></div>
      ${run.groups.map((group, g) => html`<fieldset key=${group.join()} class=${group.length === 2 ? "pair" : ""}>
        ${run.groups.length < run.latents && html`<legend>Group ${g + 1}: ${latentsNamed(group, run.latent_names)}</legend>`}
        ${group.length === 2 && html`<${Plane} ...${{ run, group, z, set, points }} />`}
        <div class="sliders">${group.map((k) => html`<${Slider} key=${k} ...${{ run, k, z, set }} />${hasStrips(run) && html`<${Strip} key=${`strip ${k}`} ...${{ run, k, set, pictures: strips?.[k] ?? null }} />`}`)}</div>
      </fieldset>`)}
    </div>
  </section>`;
}

type Answer = { z: Float32Array; values: Float32Array };

function Decoded({ library, run, z, order, caption }: { library: Library; run: Run; z: Float32Array; order: number[] | null; caption: string }) {
  const [state, set] = useState<{ answer: Answer | null; took: number; problem: string | null }>({ answer: null, took: 0, problem: null });
  const latest = useRef<Latest<Float32Array, Answer> | null>(null);
  useEffect(() => {
    latest.current = new Latest(
      async (each: Float32Array) => ({ z: each, values: await library.source.decode(run.id, each) }),
      (answer, took) => set({ answer, took, problem: null }),
      (error) => set({ answer: null, took: 0, problem: error.message }),
    );
    return () => latest.current?.close();
  }, [run.id]);
  useEffect(() => void latest.current?.ask(z), [z, run.id]);
  if (state.problem) return html`<figure class="decoded"><${Problem} words=${state.problem} /></figure>`;
  return html`<figure class="decoded" data-decoded=${state.answer ? inWords(state.answer.z) : ""}>
    <${Picture} run=${run} values=${state.answer?.values ?? null} order=${order} label=${`decoded at ${[...z].map((v, k) => `${run.latent_names[k]} ${number(v, 2)}`).join(", ")}`} />
    <figcaption><span>${caption}</span><span class="took">${state.took ? `${state.took.toFixed(state.took < 10 ? 1 : 0)} ms ${library.source.where}` : " "}</span></figcaption></figure>`;
}

function Upload({ run, onFile }: { run: Run; onFile: (file: File | undefined) => void }) {
  const input = useRef<HTMLInputElement>(null);
  if (!run.encodes) return null;
  const kinds = run.shape.length > 1 ? "an image, .npy or a CSV row" : ".npy or a CSV row";
  return html`<div class="upload"><button onClick=${() => input.current?.click()}>Encode a file…</button><span class="quiet"> or drop it here: ${kinds}</span>
    <input ref=${input} type="file" class="unseen" tabindex="-1" aria-label="File to encode" accept="image/*,.npy,.csv,.tsv,.txt"
      onChange=${(e: any) => { onFile(e.target.files[0]); e.target.value = ""; }} /></div>`;
}
