// What each latent says: its KL, what it knows of the factors, and which learned group is which true one.
import { inkOn, hex, ramp } from "./colours";
import type { Run } from "./documents";
import { html } from "./html";
import { number } from "./words";

export function Latents({ run }: { run: Run }) {
  return html`<section class="latents" aria-label="Latents"><${Kl} run=${run} /><${Information} run=${run} /><${Aligned} run=${run} /></section>`;
}

function Kl({ run }: { run: Run }) {
  const most = Math.max(...run.kl.map((v) => v ?? 0), 1e-9);
  const active = run.active.filter(Boolean).length;
  return html`<div class="block"><h2>What each latent carries</h2>
    ${run.kl.length ? html`<p class="lead">${active} of ${run.latents} latents are in use.</p>
    <dl class="kl">${run.kl.map((kl, k) => html`<div class=${run.active[k] ? "" : "silent"}><dt>${run.latent_names[k]}</dt><dd><span class="track" aria-hidden="true"><span class="bar" style=${{ left: "0", width: `${(100 * (kl ?? 0)) / most}%` }}></span></span><output>${number(kl, 2)} nats</output><span class="about">${run.active[k] ? "in use" : "silent"}</span></dd></div>`)}</dl>
    <p class="quiet">KL of q(z|x) to the prior, mean over observations, in nats. A silent latent says nothing of x: the decoder ignores it.</p>` : html`<p class="empty">The KL of this run is not known: its weights or its data could not be read.</p>`}</div>`;
}

function Heat({ rows, columns, cells, most, caption, marked }: { rows: string[]; columns: string[]; cells: (number | null)[][]; most: number; caption: string; marked?: (r: number, c: number) => boolean }) {
  return html`<div class="scroll" tabindex="0" role="region" aria-label=${caption}><table class="heat"><caption class="unseen">${caption}</caption>
    <thead><tr><td></td>${columns.map((name) => html`<th scope="col">${name}</th>`)}</tr></thead>
    <tbody>${rows.map((name, r) => html`<tr><th scope="row">${name}</th>${columns.map((_, c) => {
      const value = cells[r]?.[c];
      if (value == null) return html`<td>–</td>`;
      const colour = ramp(value / (most || 1));
      const mark = marked?.(r, c);
      return html`<td class=${mark ? "matched" : ""} style=${{ backgroundColor: hex(colour), color: inkOn(colour) }}>${number(value, 2)}${mark && html`<span class="unseen">, matched</span>`}</td>`;
    })}</tr>`)}</tbody></table></div>`;
}

function Information({ run }: { run: Run }) {
  const table = run.information;
  if (!table?.rows.length || !table.columns.length)
    return html`<div class="block"><h2>What latents know of factors</h2><p class="empty">This data has no known factors, so there is nothing to compare the latents with.</p></div>`;
  const most = Math.max(...table.nats.flat().map((v) => v ?? 0), 1e-9);
  return html`<div class="block"><h2>What latents know of factors</h2>
    <${Heat} rows=${table.rows} columns=${table.columns} cells=${table.nats} most=${most} caption="Mutual information of each latent with each factor, in nats" />
    <p class="quiet">Mutual information in nats. Disentangled: one bright cell in each column, and few in each row.</p></div>`;
}

function Aligned({ run }: { run: Run }) {
  const found = run.alignment;
  if (!found) return html`<div class="block"><h2>Which group is which</h2><p class="empty">The true groups of this data are not known.</p></div>`;
  return html`<div class="block"><h2>Which group is which</h2><p class="lead">Mean R² of the matched groups: ${number(found.mean, 2)}.</p>
    <${Heat} rows=${found.rows} columns=${found.columns} cells=${found.r2} most=${1} caption="R squared of each true group from each learned group" marked=${(r: number, c: number) => found.assignment[r] === c} />
    <p class="quiet">R² of each true group (row) by a linear map of each learned group (column); 1 is perfect. Framed: the match.</p></div>`;
}
