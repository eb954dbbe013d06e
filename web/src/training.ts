// How training went, and whether its result is to be trusted.
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import type { Curve, Run } from "./documents";
import { html, onSize, useAsked, useDark, Waiting } from "./html";
import type { Library } from "./library";

export function Training({ library, run, other }: { library: Library; run: Run; other: Run | null }) {
  const names = Object.keys(run.curves);
  return html`<section class="training" aria-label="Training">
    <${Verdict} library=${library} run=${run} name=${other ? run.title || run.id : ""} />
    ${other && html`<${Verdict} library=${library} run=${other} name=${other.title || other.id} />`}
    <h2>Learning curves</h2>
    ${names.length ? html`<div class="curves">${names.map((name) => html`<${LearningCurve} key=${name} ...${{ name, curve: run.curves[name], against: other?.curves[name] ?? null }} />`)}</div>
    ${other && html`<p class="quiet">Solid: ${run.title || run.id}. Dashed: ${other.title || other.id}.</p>`}` : html`<p class="empty">This run has no log: learning curves are written while a run trains.</p>`}
  </section>`;
}

function Verdict({ library, run, name }: { library: Library; run: Run; name: string }) {
  const { value, problem } = useAsked(() => library.diagnosis(run), [run.id]);
  const said = value?.diagnosis;
  const kind = !said ? "" : /hold/.test(said.verdict) ? "good" : /trust/.test(said.verdict) ? "bad" : "open";
  const sign = { good: "✓", bad: "✕", open: "?", "": "" }[kind];
  return html`<div class="verdict ${kind}"><h2>Diagnosis${name && `: ${name}`}</h2>
    ${!value && !problem ? html`<${Waiting} words="Looking at the groups…" />` : said ? html`<p class="lead"><span aria-hidden="true">${sign}</span> ${said.verdict}</p><ul>${said.reasons.map((reason) => html`<li>${reason}</li>`)}</ul>` : html`<p class="empty">${problem ?? value?.problem ?? "No diagnosis was stored with this run."}</p>`}</div>`;
}

function LearningCurve({ name, curve, against }: { name: string; curve: Curve; against: Curve | null }) {
  const place = useRef<HTMLDivElement>(null);
  const dark = useDark();
  const label = curve.label ?? name;
  const last = [...curve.value].reverse().find((v) => v != null);
  useEffect(() => {
    const element = place.current!;
    const style = getComputedStyle(element);
    const [ink, line, accent, second] = ["--soft", "--line", "--accent", "--second"].map((each) => style.getPropertyValue(each).trim());
    const axis = { stroke: ink, grid: { stroke: line, width: 1 }, ticks: { show: false }, font: "12px system-ui" };
    const steps = [...new Set([...curve.step, ...(against?.step ?? [])])].sort((a, b) => a - b);
    const at = (each: Curve) => {
      const known = new Map(each.step.map((step, i) => [step, each.value[i]]));
      return steps.map((step) => known.get(step));
    };
    const series = { width: 1.75, points: { show: false }, spanGaps: true };
    const plot = new uPlot({
      width: element.clientWidth, height: 190, legend: { show: false }, cursor: { show: false }, scales: { x: { time: false } },
      axes: [{ ...axis, space: 70, size: 28 }, { ...axis, size: 58 }],
      series: [{}, { ...series, stroke: accent }, ...(against ? [{ ...series, stroke: second, dash: [6, 4] }] : [])],
    }, [steps, at(curve), ...(against ? [at(against)] : [])] as uPlot.AlignedData, element);
    const stop = onSize(element, (width) => plot.setSize({ width, height: 190 }));
    return () => {
      stop();
      plot.destroy();
    };
  }, [curve, against, dark]);
  return html`<figure class="learning"><figcaption><strong>${label}</strong><br />${curve.unit ? `${curve.unit}, by step` : "by step"}</figcaption>
    <div ref=${place} class="canvas" role="img" aria-label=${`${label}: from ${curve.value[0] ?? "unknown"} at step ${curve.step[0] ?? 0} to ${last ?? "unknown"} at step ${curve.step[curve.step.length - 1] ?? 0}`}></div></figure>`;
}
