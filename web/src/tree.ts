// The tree of dependence: which latents share information, and where the tree was cut into groups.
import type { Merge, Run, Tree } from "./documents";
import { html, Problem, useAsked, Waiting } from "./html";
import type { Library } from "./library";
import { latentsNamed, number, probability } from "./words";

const ROW = 34;

/** Leaves in an order that lets no branches cross: members of a merge stand together. */
function leaves(run: Run, merges: Merge[]): number[] {
  let parts = [...Array(run.latents).keys()].map((k) => [k]);
  for (const merge of merges) {
    const met = parts.filter((part) => merge.groups.some((group) => group.some((k) => part.includes(k))));
    if (met.length > 1) parts = [...parts.filter((part) => !met.includes(part)), met.flat()];
  }
  return parts.sort((a, b) => Math.min(...a) - Math.min(...b)).flat();
}

export function Dependence({ library, run }: { library: Library; run: Run }) {
  const { value, problem } = useAsked(() => library.tree(run), [run.id]);
  const words = problem ?? value?.problem;
  return html`<section class="tree" aria-label=${`Groups of ${run.title || run.id}`}><h2>Which latents belong together</h2>
    ${words ? html`<${Problem} words=${words} />` : !value ? html`<${Waiting} words="Testing which latents depend on each other, which takes some seconds…" />`
      : value.tree ? html`<${Branches} run=${run} tree=${value.tree} />` : html`<p class="empty">There is no tree for this run. It needs at least two latents in use and enough observations.</p>`}
  </section>`;
}

function Branches({ run, tree }: { run: Run; tree: Tree }) {
  const merges = tree.merges;
  const order = leaves(run, merges);
  const accepted = merges.filter((merge) => merge.accepted).length;
  const column = (i: number) => 150 + (i + 1) * 92 - 46;
  const width = 150 + (merges.length + 1) * 92;
  const height = ROW * run.latents + 46;
  const parts = order.map((k, i) => ({ members: [k], x: 96, y: 30 + ROW * i }));
  const branches: { path: string; merge: Merge; x: number; y: number }[] = [];
  merges.forEach((merge, i) => {
    const met = parts.filter((part) => merge.groups.some((group) => group.some((k) => part.members.includes(k))));
    if (met.length < 2) return;
    const x = column(i);
    const ys = met.map((part) => part.y);
    const y = ys.reduce((a, b) => a + b, 0) / ys.length;
    const path = met.map((part) => `M${part.x},${part.y}H${x}`).join("") + `M${x},${Math.min(...ys)}V${Math.max(...ys)}`;
    branches.push({ path, merge, x, y });
    for (const part of met) parts.splice(parts.indexOf(part), 1);
    parts.push({ members: met.flatMap((part) => part.members), x, y });
  });
  const cut = column(accepted) - 46;
  return html`<p class="lead">${tree.groups.map((group) => `(${latentsNamed(group, run.latent_names)})`).join(" ")}</p>
    ${tree.words && html`<p>${tree.words}</p>`}
    <div class="scroll" tabindex="0" role="region" aria-label="Tree of dependence">
    <svg width=${width} height=${height} viewBox=${`0 0 ${width} ${height}`} role="img" aria-label="Tree of dependence; the list below says the same">
      ${order.map((k, i) => html`<text class="leaf" x="88" y=${35 + ROW * i} text-anchor="end">${run.latent_names[k]}</text>`)}
      ${branches.map(({ path, merge, x, y }) => html`<path class=${merge.accepted ? "branch" : "branch refused"} d=${path} /><text class="nats" x=${x + 6} y=${y - 5}>${number(merge.nats, 2)}</text>`)}
      <path class="cut" d=${`M${cut},6V${height - 22}`} /><text class="cutname" x=${cut} y=${height - 6} text-anchor="middle">cut</text>
    </svg></div>
    <p class="quiet">Numbers: nats shared where branches meet, chance and background taken off. Left of the cut: tested and accepted. Right of it, dashed: what would come next, and does not stand out.</p>
    <details><summary>The merges in words</summary><ol class="merges">${merges.map((merge) => html`<li>${merge.groups.map((group) => latentsNamed(group, run.latent_names)).join(" and ")} share ${number(merge.nats, 3)} nats${merge.interval ? ` (${number(merge.interval[0], 2)} to ${number(merge.interval[1], 2)})` : ""}${merge.p != null ? `, ${probability(merge.p)}` : ""}: ${merge.accepted ? "one group" : "kept apart"}</li>`)}</ol></details>`;
}
