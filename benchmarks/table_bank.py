"""What `by="bank"` changes: PC or TC penalised against the batch and the remembered posteriors of other points.

On `groups` (N = 2000, M = 128): how often PDisVAE ends with a latent R2 of at least 0.95 by its own groups, from a
random start and from a warm start with label-free regrouping, no run left out. On dSprites (46,080 images, M = 64,
beta-TCVAE with total weight 6): the estimate printed during training against the exact TC afterwards, and MIG.

    python benchmarks/table_bank.py [--worlds groups,dsprites] [--seeds 20] [--steps 10000] [--out FOLDER]
"""

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

from partita.data import Dataset, load
from partita.data._some_rows import some_rows
from partita.measures.correlation import correlation, gaussian_tc
from partita.metrics import mig
from partita.recipes import RECIPES
from partita.recipes.restarts import put_together
from partita.structure import align
from partita.studies import Run, Store, plan, train
from partita.training import Ensemble, Interrupted, Model
from partita.training.device import choose_device
from partita.training.latents import map_latents
from partita.training.program import passed
from written import about, in_one_line, keep, markdown, mean_and_range

SOLVED, BETA, GROUPS = 0.95, 4.0, (2, 2, 2)
ACTIVE = 0.01  # variance of a latent's means (Burda et al. 2016)


def trained(ensemble: Ensemble, until: int) -> dict[str, np.ndarray]:
    """Steps until `until`; means of the logged quantities over the last tenth of them."""
    last = max(10, (until - ensemble.step) // 100 * 10)
    while ensemble.step < until - last:
        ensemble.advance(10)
    ensemble.read_quantities(1)
    count = until - ensemble.step
    while ensemble.step < until:
        ensemble.advance(min(10, until - ensemble.step))
    return dict(zip(ensemble.quantity_names, ensemble.read_quantities(max(1, count))))


def exact(mean: np.ndarray, log_variance: np.ndarray, groups, device: torch.device):
    """The correlation of these posteriors' mixture, one draw from each."""
    mean, log_variance = mean.astype(np.float64), log_variance.astype(np.float64)
    z = mean + np.exp(0.5 * log_variance) * np.random.default_rng(0).standard_normal(mean.shape)
    parts = [torch.as_tensor(part, device=device) for part in (z, mean, log_variance)]
    return correlation(*parts, groups=groups)


def judged(ensemble: Ensemble, dataset: Dataset, printed: np.ndarray, device: torch.device) -> list[dict[str, float]]:
    found = []
    for position, seed in enumerate(ensemble.seeds):
        mean, log_variance = Model(ensemble.recipe, ensemble.model(position), device=device).posterior(dataset.x)
        if not np.isfinite(mean).all():
            found.append({"seed": seed, "r2": 0.0, "printed": float("nan"), "exact": float("nan")})
            continue
        r2 = align(mean, dataset.truth, GROUPS, dataset.truth_groups).r2
        pc = exact(mean, log_variance, GROUPS, device).pc
        found.append({"seed": seed, "r2": float(r2), "printed": float(printed[position]), "exact": pc})
    return found


def on_groups(by: str, data_seed: int, seeds: int, steps: int, device: torch.device) -> list[dict[str, Any]]:
    """Two records: from a random start, and from a warm start regrouped half-way."""
    dataset = load("groups", seed=data_seed)
    house = {"latents": 6, "shape": dataset.shape, "network": "linear", "likelihood": "gaussian:0.25"}
    house |= {"learning_rate": 3e-3, "beta": BETA, "by": by}
    grouped, single = RECIPES["pdisvae"](groups=GROUPS, **house), RECIPES["pdisvae"](groups=None, **house)

    def ensemble(recipe) -> Ensemble:
        return Ensemble([recipe] * seeds, list(range(seeds)), dataset.x, batch_size=128, device=device)

    records = []
    for start in ("random start", "warm start, regrouped"):
        begun = time.perf_counter()
        onward = ensemble(grouped)
        if start != "random start":
            warm = ensemble(single)
            trained(warm, steps // 2)
            map_latents(warm, onward, passed(warm, put_together, [grouped.groups] * seeds))
        printed = trained(onward, steps)["pc"]
        seconds = time.perf_counter() - begun
        runs = judged(onward, dataset, printed, device)
        print(f"groups {data_seed}, {by}, {start}: {_solved(runs)}, {seconds:.1f} s", flush=True)
        records.append({"start": start, "by": by, "data": data_seed, "seconds": seconds, "runs": runs})
    return records


def _solved(runs: list[dict[str, Any]]) -> str:
    return f"{sum(run['r2'] >= SOLVED for run in runs)} of {len(runs)}"


def groups_table(records: list[dict[str, Any]]) -> str:
    lines = []
    for start, by in dict.fromkeys((record["start"], record["by"]) for record in records):
        own = [record for record in records if (record["start"], record["by"]) == (start, by)]
        runs = [run for record in own for run in record["runs"]]
        column = lambda name, runs=runs: [run[name] for run in runs if np.isfinite(run[name])]  # noqa: E731
        lines.append([
            start, by, _solved(runs), mean_and_range(column("r2")), mean_and_range(column("printed"), 2),
            mean_and_range(column("exact"), 2), f"{sum(record['seconds'] for record in own):.1f}",
        ])  # fmt: skip
    header = ("start", "by", f"R2 ≥ {SOLVED}", "R2", "PC printed in training", "PC, exact", "training, s")
    return markdown(header, lines)


def on_dsprites(by: str, asked: argparse.Namespace, device: torch.device) -> dict[str, Any]:
    dataset = load("dsprites", every=tuple(map(int, asked.every.split(","))))
    store = Store(asked.out / "runs")
    runs = plan(
        ["beta_tcvae"], dataset, options={"beta": [6.0], "by": [by]}, seeds=range(asked.dsprites_seeds),
        steps=asked.dsprites_steps, batch_size=64, learning_rate=5e-4, network="burgess", likelihood="bernoulli",
        precision=asked.precision,
    )  # fmt: skip
    begun = time.perf_counter()
    train(runs, dataset, store, device=device)
    seconds = time.perf_counter() - begun
    found = [_of_dsprites(store, run, dataset, device) for run in runs]
    print(f"dsprites, {by}: {len(runs)} models in {seconds:.1f} s", flush=True)
    return {"by": by, "seconds": seconds, "size": dataset.size, "runs": found}


def _of_dsprites(store: Store, run: Run, dataset: Dataset, device: torch.device) -> dict[str, Any]:
    model = store.model(run, dataset.x_scale, device)
    mean, log_variance = model.posterior(dataset.x)
    # all points on a GPU; on a CPU, where that takes an hour, as many as `evaluate` takes
    rows = np.arange(len(mean)) if device.type == "cuda" else some_rows(len(mean), 2000)
    scored = some_rows(len(mean), 10000)
    recon, _ = model.bound(dataset.x[scored])
    return {
        "seed": run.seed,
        "printed": float(np.mean(store.history(run)["tc"][-10:])),
        "exact": exact(mean[rows], log_variance[rows], None, device).tc,
        "exact_rows": len(rows),
        "tc_mean": float(gaussian_tc(mean.astype(np.float64))),
        "active": int((mean.var(0) > ACTIVE).sum()),
        "mig": mig(mean[scored], np.asarray(dataset.factors)[scored]).value,
        "recon": float(recon.mean()),
    }


def dsprites_table(records: list[dict[str, Any]]) -> str:
    header = (
        "by", "TC printed in training", "TC, exact", "Gaussian TC of means", "active latents", "MIG",
        "reconstruction, nats", "training, s",
    )  # fmt: skip
    lines = []
    for record in records:
        column = lambda name, record=record: [run[name] for run in record["runs"]]  # noqa: E731
        lines.append([
            record["by"], mean_and_range(column("printed"), 2), mean_and_range(column("exact"), 2),
            mean_and_range(column("tc_mean")), mean_and_range(column("active"), 1), mean_and_range(column("mig")),
            mean_and_range(column("recon"), 1), f"{record['seconds']:.1f}",
        ])  # fmt: skip
    return markdown(header, lines)


def page(made: dict[str, str], groups: list, dsprites: list, asked: argparse.Namespace, failed: list[str]) -> str:
    lines = [f"{made['date']}, {made['device']}, torch {made['torch']}", f"`{made['command']}`"]
    if groups:
        lines += ["", f"**groups**, {asked.seeds} seeds, {asked.steps} steps", "", groups_table(groups)]
    if dsprites:
        size, rows = dsprites[0]["size"], dsprites[0]["runs"][0]["exact_rows"]
        words = f"**dsprites**, {size} images, {asked.dsprites_steps} steps, exact TC over {rows} of them"
        lines += ["", words, "", dsprites_table(dsprites)]
    return "\n".join([*lines, "", "Mean over seeds (smallest to largest).", *failed])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worlds", default="groups,dsprites")
    parser.add_argument("--by", default="importance,bank,bank:2000", help="on groups; 2000 are all of them")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--data-seeds", type=int, default=1)
    parser.add_argument("--steps", type=int, default=10000)
    parser.add_argument("--dsprites-by", default="importance,bank")
    parser.add_argument("--dsprites-seeds", type=int, default=5)
    parser.add_argument("--dsprites-steps", type=int, default=10000)
    parser.add_argument("--every", default="1,1,4,2,2", help="which classes of each factor of dSprites are kept")
    parser.add_argument("--precision", default="float32", help="of the networks on dSprites")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--out", type=Path, default=Path("runs/table_bank"))
    asked = parser.parse_args()
    device = choose_device(asked.device)
    groups, dsprites, failed = [], [], []
    jobs = []
    if "groups" in asked.worlds:
        cells = [(by, seed) for by in asked.by.split(",") for seed in range(asked.data_seeds)]
        jobs += [(groups.extend, on_groups, (by, seed, asked.seeds, asked.steps, device)) for by, seed in cells]
    if "dsprites" in asked.worlds:
        jobs += [(dsprites.append, on_dsprites, (by, asked, device)) for by in asked.dsprites_by.split(",")]
    for take, job, arguments in jobs:
        try:
            take(job(*arguments))
        except Interrupted:
            break
        except Exception as error:
            failed.append(f"{job.__name__}, {arguments[0]}: {in_one_line(error)}")
            print(failed[-1], flush=True)
    made = about(device)
    content = {"about": made, "groups": groups, "dsprites": dsprites, "failed": failed}
    keep(asked.out, "bank", page(made, groups, dsprites, asked, failed), content)


if __name__ == "__main__":
    main()
