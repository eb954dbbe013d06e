// Runs and their scores: a table to sort, to filter, and to choose two from.
import { useMemo, useState } from "preact/hooks";
import type { Place } from "./address";
import type { RunRow, Study } from "./documents";
import { html } from "./html";
import { number, plural } from "./words";

interface Column { key: string; name: string; numeric: boolean; value: (run: RunRow) => string | number | null; cell?: (run: RunRow) => unknown }

const STATES: Record<string, string> = { finished: "finished", diverged: "diverged", unfinished: "not finished", damaged: "damaged" };

function columnsOf(study: Study): Column[] {
  const settings = [...new Set(study.runs.flatMap((run) => Object.keys(run.settings ?? {})))];
  // A setting that is the same everywhere says nothing in a table.
  const varied = settings.filter((name) => new Set(study.runs.map((run) => JSON.stringify(run.settings?.[name]))).size > 1);
  const text = (value: unknown) => (value == null ? null : typeof value === "number" ? value : typeof value === "object" ? JSON.stringify(value) : String(value));
  return [
    { key: "method", name: "Method", numeric: false, value: (run) => run.method },
    { key: "data", name: "Data", numeric: false, value: (run) => run.data },
    ...varied.map((name) => ({ key: `settings.${name}`, name, numeric: study.runs.some((run) => typeof run.settings?.[name] === "number"), value: (run: RunRow) => text(run.settings?.[name]) })),
    { key: "seed", name: "Seed", numeric: true, value: (run) => run.seed },
    { key: "state", name: "State", numeric: false, value: (run) => STATES[run.state] ?? run.state },
    { key: "bound", name: "Bound (nats)", numeric: true, value: (run) => run.bound },
    ...study.score_names.map((name) => ({
      key: `scores.${name}`, name, numeric: true, value: (run: RunRow) => run.scores?.[name]?.value ?? null,
      cell: (run: RunRow) => {
        const score = run.scores?.[name];
        if (score?.value == null) return "–";
        const interval = score.low != null && score.high != null ? html`<small>${number(score.low)} to ${number(score.high)}</small>` : null;
        return html`<span title=${score.protocol ?? ""}>${number(score.value)}</span>${interval}`;
      },
    })),
    { key: "verdict", name: "Diagnosis", numeric: false, value: (run) => run.problem ?? run.verdict },
  ];
}

function ordered(runs: RunRow[], column: Column | undefined, down: boolean): RunRow[] {
  if (!column) return runs;
  const compare = (a: RunRow, b: RunRow) => {
    const [x, y] = [column.value(a), column.value(b)];
    if (x == null || y == null) return x == null ? (y == null ? 0 : 1) : -1; // what is not known comes last, either way
    const sign = typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y), "en", { numeric: true });
    return down ? -sign : sign;
  };
  return [...runs].sort(compare);
}

export function Runs({ study, place }: { study: Study; place: Place }) {
  const at = place.parameters;
  const columns = useMemo(() => columnsOf(study), [study]);
  const [sorted, down] = [(at.sort ?? "").replace(/^-/, ""), (at.sort ?? "").startsWith("-")];
  const [chosen, setChosen] = useState<string[]>([]);
  const wanted = (at.filter ?? "").toLowerCase().split(/\s+/).filter(Boolean);
  const shown = useMemo(() => {
    const words = new Map(study.runs.map((run) => [run.id, [run.id, ...columns.map((c) => c.value(run) ?? "")].join(" ").toLowerCase()]));
    const kept = study.runs.filter((run) => (!at.state || run.state === at.state) && wanted.every((word) => words.get(run.id)!.includes(word)));
    return ordered(kept, columns.find((column) => column.key === sorted), down);
  }, [study, columns, at.filter, at.state, sorted, down]);
  if (!study.runs.length) return html`<${Empty} />`;

  const open = (run: RunRow) => ({ run: run.id });
  const link = (to: Record<string, string>, words: unknown, name = "") => html`<a href=${place.with({ ...to, sort: "", filter: "", state: "" })} aria-label=${name || undefined}
    onClick=${(e: MouseEvent) => { if (e.ctrlKey || e.metaKey || e.shiftKey) return; e.preventDefault(); place.go(to); }}>${words}</a>`;
  const pick = (id: string) => setChosen((old) => (old.includes(id) ? old.filter((each) => each !== id) : [...old, id].slice(-2)));
  const states = [...new Set(study.runs.map((run) => run.state))];
  return html`<section aria-label="Runs">
    <div class="toolbar">
      <label class="field wide">Find <input type="search" value=${at.filter ?? ""} placeholder="method, data, setting, id" onInput=${(e: any) => place.set({ filter: e.target.value })} /></label>
      ${states.length > 1 && html`<label class="field">State <select onChange=${(e: any) => place.set({ state: e.target.value })}><option value="">any</option>${states.map((state) => html`<option value=${state} selected=${at.state === state}>${STATES[state] ?? state}</option>`)}</select></label>`}
      <p class="counted" role="status">${shown.length === study.runs.length ? plural(shown.length, "run") : `${shown.length} of ${plural(study.runs.length, "run")}`}</p>
      <p class="compare">${chosen.length === 2 ? link({ run: chosen[0], compare: chosen[1], view: "turn" }, "Compare the two") : html`<span class="quiet">Tick two runs to compare them</span>`}</p>
    </div>
    <div class="scroll" tabindex="0" role="region" aria-label="Table of runs">
    <table class="runs"><thead><tr><th scope="col"><span class="unseen">Compare</span></th>${columns.map((column) => html`<th key=${column.key} scope="col" class=${column.numeric ? "number" : ""} aria-sort=${sorted === column.key ? (down ? "descending" : "ascending") : "none"}>
      <button title=${study.score_about?.[column.name]?.explanation ?? ""} onClick=${() => place.set({ sort: sorted !== column.key ? (column.numeric ? "-" : "") + column.key : down === column.numeric ? (column.numeric ? "" : "-") + column.key : "" })}>${column.name}<span class="arrow" aria-hidden="true">${sorted === column.key ? (down ? "↓" : "↑") : ""}</span></button></th>`)}</tr></thead>
    <tbody>${shown.map((run) => html`<tr key=${run.id} class=${run.state}><td><input type="checkbox" aria-label=${`Compare ${run.method}, seed ${run.seed ?? "none"}`} checked=${chosen.includes(run.id)} onChange=${() => pick(run.id)} /></td>
      ${columns.map((column, i) => i === 0 ? html`<th scope="row">${link(open(run), run.method || run.id, `Open ${run.method}, seed ${run.seed ?? "none"}, ${run.id}`)}<small>${run.id.slice(-10)}</small></th>`
        : html`<td class=${column.numeric ? "number" : column.key === "verdict" ? "words" : ""}>${column.cell ? column.cell(run) : column.numeric ? cellNumber(column.value(run)) : (column.value(run) ?? "–")}</td>`)}</tr>`)}</tbody></table>
    </div>
    ${!shown.length && html`<p class="empty">No run has all of these words. <button onClick=${() => place.set({ filter: "", state: "" })}>Show all</button></p>`}
    ${study.metrics_note && html`<p class="quiet">${study.metrics_note}</p>`}
  </section>`;
}

const cellNumber = (value: string | number | null) => (typeof value === "number" ? (Number.isInteger(value) ? String(value).replace("-", "−") : number(value)) : (value ?? "–"));

function Empty() {
  return html`<section class="empty"><h2>No runs here yet</h2><p>Train some into this folder and reload the page:</p>
    <pre>partita train --data groups --method tcvae --seeds 3 --out FOLDER
partita evaluate FOLDER</pre></section>`;
}
