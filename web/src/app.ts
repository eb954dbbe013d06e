// The page: its head, its views, and which of them the address asks for.
import { useEffect, useState } from "preact/hooks";
import type { Place } from "./address";
import { Codes } from "./codes";
import type { Run, Study } from "./documents";
import { html, Problem, useAsked, useDark, Waiting } from "./html";
import type { Library } from "./library";
import { Runs } from "./runs";
import { Latents } from "./tables";
import { Training } from "./training";
import { Dependence } from "./tree";
import { Turn } from "./turn";

const VIEWS: [string, string][] = [["turn", "Turn"], ["codes", "Codes"], ["latents", "Latents"], ["groups", "Groups"], ["training", "Training"]];

export function App({ library, place }: { library: Library; place: Place }) {
  const [, redraw] = useState(0);
  useEffect(() => place.listen(() => redraw((n) => n + 1)), [place]);
  const { value: study, problem } = useAsked(library.study, [library]);
  const at = place.parameters;
  const id = at.run ?? (study?.kind === "model" || study?.runs.length === 1 ? study.runs[0]?.id : undefined);
  useEffect(() => {
    if (study && place.keep) document.title = `${study.title} · partita`;
  }, [study]);
  return html`<${Head} ...${{ study, place, id }} /><main id="partita-main">
    ${problem ? html`<${Problem} words=${problem} />` : !study ? html`<${Waiting} words="Opening…" />`
      : id ? html`<${OneRun} key=${id} ...${{ library, place, study, id }} />` : html`<${Runs} ...${{ study, place }} />`}
  </main>`;
}

function Head({ study, place, id }: { study: Study | null; place: Place; id?: string }) {
  const dark = useDark();
  const back = study && study.runs.length > 1 && id;
  const change = () => {
    for (const each of document.querySelectorAll<HTMLElement>(".partita, .partita-page")) each.dataset.theme = dark ? "light" : "dark";
    dispatchEvent(new Event("partita-theme"));
  };
  return html`<header><p class="brand">partita</p>
    <h1>${study?.title ?? " "}</h1>
    ${back && html`<a class="back" href="#" onClick=${(e: Event) => { e.preventDefault(); place.go({}); }}>← All runs</a>`}
    <button class="theme" onClick=${change} aria-label=${dark ? "Light page" : "Dark page"} title=${dark ? "Light page" : "Dark page"}><svg width="18" height="18" viewBox="0 0 18 18" aria-hidden="true"><circle cx="9" cy="9" r="7" fill="none" stroke="currentColor" stroke-width="1.5" /><path d="M9 2a7 7 0 0 1 0 14z" fill="currentColor" /></svg></button>
  </header>`;
}

function OneRun({ library, place, study, id }: { library: Library; place: Place; study: Study; id: string }) {
  const at = place.parameters;
  const { value: run, problem } = useAsked(() => library.run(id), [id]);
  const { value: other, problem: otherProblem } = useAsked(at.compare ? () => library.run(at.compare) : null, [at.compare ?? ""]);
  const row = study.runs.find((each) => each.id === id);
  if (problem) return html`<${Problem} words=${problem} />`;
  if (!run) return html`<${Waiting} words="Reading the run…" />`;
  const view = VIEWS.some(([key]) => key === at.view) ? at.view : "turn";
  const others = study.runs.filter((each) => each.id !== id);
  return html`<h2 class="runname">${run.title || run.method}</h2>
    <div class="runhead">      <nav aria-label="Views of this run">${VIEWS.map(([key, name]) => html`<a href=${place.with({ run: id, view: key })} aria-current=${key === view ? "page" : undefined}
        onClick=${(e: MouseEvent) => { if (e.ctrlKey || e.metaKey || e.shiftKey) return; e.preventDefault(); place.go({ ...place.parameters, run: id, view: key }); }}>${name}</a>`)}</nav>
      ${others.length > 0 && html`<label class="field versus">Compare with <select onChange=${(e: any) => place.go({ ...at, run: id, compare: e.target.value })}><option value="">nothing</option>
        ${others.map((each) => html`<option value=${each.id} selected=${each.id === at.compare}>${each.method}, seed ${each.seed ?? "–"}, ${each.id.slice(-6)}</option>`)}</select></label>`}
    </div>
    ${(run.problem || row?.problem) && html`<${Problem} words=${run.problem ?? row!.problem!} />`}
    ${at.compare && (otherProblem || other?.problem) && html`<${Problem} words=${`The run beside it: ${otherProblem ?? other!.problem}`} />`}
    ${run.notes.map((note) => html`<p class="quiet">${note}</p>`)}
    <${View} ...${{ library, place, run, view, other: at.compare ? other : null }} />`;
}

function View({ library, place, run, view, other }: { library: Library; place: Place; run: Run; view: string; other: Run | null }) {
  const usable = (each: Run) => each.latents > 0 && each.shape.length > 0 && each.decodes;
  const pair = other && usable(other) ? other : null;
  if (view === "training") return html`<${Training} ...${{ library, run, other }} />`;
  const lost = html`<p class="empty">There is nothing to move here, because this run's model cannot be read. Learning curves may still be there: see Training.</p>`;
  if (view === "groups") return usable(run) ? html`<${Dependence} ...${{ library, run }} />${pair && html`<h2 class="beside-name">${pair.title || pair.id}</h2><${Dependence} ...${{ library, run: pair }} />`}` : lost;
  if (view === "latents") return run.latents ? html`<${Latents} run=${run} />${pair && html`<h2 class="beside-name">${pair.title || pair.id}</h2><${Latents} run=${pair} />`}` : lost;
  if (!usable(run)) return lost;
  if (view === "codes") return html`<div class=${pair ? "pairs" : ""}><${Codes} key=${run.id} ...${{ library, place, run, name: pair ? run.title || run.id : "" }} />${pair && html`<${Codes} key=${pair.id} ...${{ library, place, run: pair, first: run, name: pair.title || pair.id }} />`}</div>`;
  return html`<${Turn} ...${{ library, place, run, other: pair }} />`;
}
