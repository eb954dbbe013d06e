"""TC of the posterior means beside TC of the samples, for FactorVAE and RTC-VAE by weight (RTC-VAE paper, Fig. 3).

K = 10, the convolutions of Burgess et al., dSprites images (every 4th orientation, every 2nd place: 46,080), the
discriminator with 6 hidden layers of 1000. All weights and seeds of a method are one ensemble; weight 0 is the VAE, or
for RTC-VAE the VAE with the variance penalty alone. The paper has batches of 500 and says neither steps nor rate.

    python benchmarks/table_tc_pairs.py [--steps 10000] [--seeds 2] [--betas 0,2,6,10,20,50] [--out FOLDER]
"""

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

from partita.data import Dataset, load
from partita.data._some_rows import some_rows
from partita.metrics import gaussian_tc, mig
from partita.studies import Run, Store, plan, train
from partita.training import Interrupted
from partita.training.device import choose_device
from written import about, in_one_line, keep, markdown, mean_and_range

POINTS = 5000
ACTIVE = 0.01  # variance of a latent's means (Burda et al. 2016)
FAR, NEAR = 3.0, 1.5  # ratios that count as "much larger" and as "about equal"
WEIGHT = {"factor_vae": "gamma", "rtc_vae": "beta"}


def measured(store: Store, run: Run, dataset: Dataset, device: torch.device) -> dict[str, Any]:
    ended = store.result(run) or {}
    weight = run.options[WEIGHT[run.method]]
    name = {"method": run.method, "weight": weight, "seed": run.seed}
    if ended.get("status") != "finished":
        return {**name, "failed": f"{ended.get('status', 'not trained')} at step {ended.get('diverged_at')}"}
    rows = some_rows(dataset.size, POINTS)
    model = store.model(run, dataset.x_scale, device)
    mean, log_variance = (part.astype(np.float64) for part in model.posterior(dataset.x[rows]))
    draws = mean + np.exp(0.5 * log_variance) * np.random.default_rng(run.seed).standard_normal(mean.shape)
    recon, kl = model.bound(dataset.x[rows])
    of_means, of_draws = gaussian_tc(mean, draws=0), gaussian_tc(draws, draws=0)
    variance, alive = np.exp(log_variance).mean(0), mean.var(0) > ACTIVE
    return {
        **name,
        "tc_mean": of_means.value,
        "tc_sample": of_draws.value,
        "ratio": of_means.value / max(of_draws.value, 1e-12),
        "tc_mean_active": gaussian_tc(mean[:, alive], draws=0).value if alive.sum() > 1 else 0.0,
        "tc_sample_active": gaussian_tc(draws[:, alive], draws=0).value if alive.sum() > 1 else 0.0,
        "dropped": of_means.parts.get("dropped"),
        "largest_variance": float(variance.max()),
        "mean_variance": float(variance.mean()),
        "active": int(alive.sum()),
        "recon": float(recon.mean()),
        "kl": float(kl.mean()),
        "mig": mig(mean, np.asarray(dataset.factors)[rows]).value,
    }


def table(runs: list[dict[str, Any]]) -> str:
    header = (
        "method", "weight", "TC_mean", "TC_sample", "TC_mean / TC_sample", "both, active latents alone",
        "active latents", "largest posterior variance", "1/(1+2 eta)", "reconstruction, nats", "KL, nats", "MIG",
    )  # fmt: skip
    lines = []
    for method in dict.fromkeys(run["method"] for run in runs):
        for weight in dict.fromkeys(run["weight"] for run in runs if run["method"] == method):
            own = [run for run in runs if (run["method"], run["weight"]) == (method, weight) and "failed" not in run]
            column = lambda name, own=own: [run[name] for run in own]  # noqa: E731
            ceiling = f"{1 / (1 + 2 * max(10.0, weight)):.4f}" if method == "rtc_vae" else "–"
            lines.append([
                method, f"{weight:g}", mean_and_range(column("tc_mean")), mean_and_range(column("tc_sample")),
                mean_and_range(column("ratio"), 1),
                f"{mean_and_range(column('tc_mean_active'))}; {mean_and_range(column('tc_sample_active'))}",
                mean_and_range(column("active"), 1), mean_and_range(column("largest_variance"), 4), ceiling,
                mean_and_range(column("recon"), 1), mean_and_range(column("kl"), 1), mean_and_range(column("mig")),
            ])  # fmt: skip
    return markdown(header, lines)


def verdicts(runs: list[dict[str, Any]]) -> list[str]:
    """The paper's two claims, and in how many runs they hold."""
    known = [run for run in runs if "failed" not in run and run["weight"] > 0]
    factor = np.array([run["ratio"] for run in known if run["method"] == "factor_vae"])
    rtc = np.array([run["ratio"] for run in known if run["method"] == "rtc_vae"])
    lines = []
    if len(factor):
        lines.append(
            f"Paper (P2-C9): with FactorVAE TC_mean is much larger than TC_sample at every weight. Measured: the ratio "
            f"is above {FAR:g} in {(factor > FAR).sum()} of {len(factor)} runs, median {np.median(factor):.1f}."
        )
    if len(rtc):
        near = (rtc < NEAR) & (rtc > 1 / NEAR)
        lines.append(
            f"Paper (P2-C10): with RTC-VAE TC_mean is about TC_sample, both low. Measured: the ratio is within a "
            f"factor {NEAR:g} of 1 in {near.sum()} of {len(rtc)} runs, median {np.median(rtc):.1f}."
        )
    floor = 10 * 9 / (4 * POINTS)
    lines.append(
        f"TC_mean and TC_sample: Gaussian, -1/2 log det of the correlation matrix over {POINTS} points, of the means "
        f"and of one draw a point; about {floor:.4f} for independent latents. Mean over seeds (smallest to largest)."
    )
    return lines + [
        f"{run['method']} {run['weight']:g}, seed {run['seed']}: {run['failed']}" for run in runs if "failed" in run
    ]


def draw(runs: list[dict[str, Any]], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    methods = list(dict.fromkeys(run["method"] for run in runs))
    figure, panels = plt.subplots(1, len(methods), figsize=(4 * len(methods), 3), sharey=True, squeeze=False)
    for panel, method in zip(panels[0], methods):
        own = [run for run in runs if run["method"] == method and "failed" not in run]
        weights = sorted({run["weight"] for run in own})
        for name, shown, colour in (("tc_mean", "TC of means", "C0"), ("tc_sample", "TC of samples", "C1")):
            means = [np.mean([run[name] for run in own if run["weight"] == weight]) for weight in weights]
            panel.plot(range(len(weights)), means, colour, label=shown)
            for run in own:
                panel.plot(weights.index(run["weight"]), run[name], ".", color=colour)
        panel.set(title=method, xlabel="weight on TC", yscale="log", xticks=range(len(weights)))
        panel.set_xticklabels([f"{weight:g}" for weight in weights])
    panels[0][0].set_ylabel("nats")
    panels[0][0].legend(frameon=False)
    figure.tight_layout()
    figure.savefig(path, dpi=150)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=10000)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--betas", default="0,2,6,10,20,50")
    parser.add_argument("--methods", default="factor_vae,rtc_vae")
    parser.add_argument("--batch-size", type=int, default=128, help="half for the model, half for the discriminator")
    parser.add_argument("--learning-rate", type=float, default=5e-4)
    parser.add_argument("--every", default="1,1,4,2,2", help="which classes of each factor of dSprites are kept")
    parser.add_argument("--precision", default="float32")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--out", type=Path, default=Path("runs/table_tc_pairs"))
    asked = parser.parse_args()
    device = choose_device(asked.device)
    dataset = load("dsprites", every=tuple(map(int, asked.every.split(","))))
    betas = [float(beta) for beta in asked.betas.split(",")]
    runs, lines = [], []
    for method in asked.methods.split(","):
        store = Store(asked.out / "runs")
        planned = plan(
            [method], dataset, options={WEIGHT[method]: betas}, seeds=range(asked.seeds), steps=asked.steps,
            batch_size=asked.batch_size, learning_rate=asked.learning_rate, network="burgess", likelihood="bernoulli",
            precision=asked.precision,
        )  # fmt: skip
        try:
            start = time.perf_counter()
            train(planned, dataset, store, device=device)
            lines.append(f"{method}: {len(planned)} models at once, {time.perf_counter() - start:.0f} s of training.")
            runs += [measured(store, run, dataset, device) for run in planned]
        except Interrupted:
            raise
        except Exception as error:
            lines.append(f"{method}: {in_one_line(error)}")
        print(lines[-1], flush=True)
        made = about(device)
        text = "\n".join([
            f"{made['date']}, {made['device']}, torch {made['torch']}; {dataset.size} images, {asked.steps} steps, "
            f"batches of {asked.batch_size}, rate {asked.learning_rate:g}", f"`{made['command']}`", "",
            table(runs), "", *verdicts(runs), *lines,
        ])  # fmt: skip
        settings = {name: str(value) for name, value in vars(asked).items()}
        keep(asked.out, "tc_pairs", text, {"about": made, "runs": runs, "settings": settings})
    if runs:
        draw(runs, asked.out / "tc_pairs.png")


if __name__ == "__main__":
    main()
