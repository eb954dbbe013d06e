"""Makes the figures and tables of docs/estimators.md by running the estimators: `python docs/generate_estimators.py`.

Tables stand between `<!-- NAME -->` and `<!-- end -->` on the page; the words around them are kept. Two minutes.
"""

import warnings
from pathlib import Path

import matplotlib
import numpy as np

from partita.measures import UninformativeEstimate, correlation, log_weights, null_correlation
from partita.plot._style import COLOURS, FAINT, INK, RC

matplotlib.use("Agg")
import matplotlib.pyplot as plt

HERE = Path(__file__).parent
SIZE, BATCH, BATCHES = 5000, 128, 60
PAPER = {"facecolor": "white", "edgecolor": "none", "alpha": 0.75, "pad": 0.8}
SHOWN = ("importance", "mss", "mss_published", "naive")
COLOUR = dict(zip((*SHOWN, "exact"), (COLOURS[0], COLOURS[5], COLOURS[1], COLOURS[4], INK)))


def posteriors(latents: int, correlated: float, sd: float, size: int = SIZE) -> list[np.ndarray]:
    """Means from an equicorrelated Gaussian with unit variances, posteriors of one width, one draw each."""
    rng = np.random.default_rng([latents, round(100 * correlated), round(100 * sd)])
    covariance = np.full((latents, latents), correlated) + (1 - correlated) * np.eye(latents)
    mean = rng.normal(size=(size, latents)) @ np.linalg.cholesky(covariance).T
    z = mean + sd * rng.normal(size=mean.shape)
    return [z, mean, np.full_like(mean, 2 * np.log(sd))]


def population_tc(latents: int, correlated: float, sd: float) -> float:
    """TC of infinitely many such posteriors: a Gaussian."""
    r = correlated / (1 + sd**2)
    return 0.5 * abs((latents - 1) * np.log(1 - r) + np.log(1 + (latents - 1) * r))


def estimates(arrays: list[np.ndarray], by: str, batches: int = BATCHES, batch: int = BATCH) -> np.ndarray:
    """TC from `batches` random minibatches, the same for every estimator."""
    rng = np.random.default_rng(0)
    size = len(arrays[0])
    chosen = [rng.choice(size, batch, replace=False) for _ in range(batches)]
    return np.array([correlation(*(a[rows] for a in arrays), by=by, size=size).tc for rows in chosen])


def bias_figure(path: Path) -> None:
    figure, panels = plt.subplots(1, 3, figsize=(8.6, 3.0))
    for axis, latents in zip(panels, (2, 4, 10)):
        arrays = posteriors(latents, 0.5, 0.3)
        exact, null = correlation(*arrays).tc, null_correlation(*arrays, draws=3).tc
        scatter = np.random.default_rng(1).uniform(-0.22, 0.22, BATCHES)
        for x, by in enumerate(SHOWN):
            values = estimates(arrays, by)
            axis.plot(x + scatter, values, ".", color=COLOUR[by], alpha=0.45, markersize=3.5, markeredgewidth=0)
            axis.plot([x - 0.32, x + 0.32], [values.mean()] * 2, color=COLOUR[by], linewidth=2)
        axis.axhline(exact, color=INK, linewidth=1)
        axis.axhline(null, color=FAINT, linewidth=1, linestyle=(0, (4, 3)))
        room = 0.06 * np.diff(axis.get_ylim())[0]
        axis.text(3.45, exact + room / 3, "exact", ha="right", va="bottom", color=INK, fontsize=8, bbox=PAPER)
        axis.text(
            3.45, null - room / 3, "exact, permuted (null)", ha="right", va="top", color=FAINT, fontsize=8, bbox=PAPER
        )
        axis.set_title(f"K = {latents} latents")
        axis.set_xticks(range(len(SHOWN)), ["importance", "mss", "mss\npublished", "naive"])
        axis.set_xlim(-0.5, 3.5)
        axis.margins(y=0.12)
    panels[0].set_ylabel("total correlation (nats)")
    figure.savefig(path, dpi=160, metadata={"Date": None, "Creator": None})
    plt.close(figure)


def response_figure(path: Path) -> None:
    figure, panels = plt.subplots(1, 3, figsize=(8.6, 3.1))
    grid = np.array([0.0, 0.3, 0.5, 0.65, 0.78, 0.87, 0.93, 0.97])
    for axis, latents in zip(panels, (2, 4, 10)):
        truth = [population_tc(latents, r, 0.3) for r in grid]
        data = [posteriors(latents, r, 0.3) for r in grid]
        axis.plot([0, truth[-1]], [0, truth[-1]], color=FAINT, linewidth=0.8, linestyle=(0, (1, 2)))
        axis.plot(
            truth, [correlation(*arrays).tc for arrays in data], color=INK, linewidth=1.4, label="exact, 5,000 points"
        )
        for by, words in (("importance", "importance, 128 of them"), ("mss_published", "mss_published, 128 of them")):
            values = np.array([estimates(arrays, by, 24) for arrays in data])
            middle, spread = values.mean(1), values.std(1)
            axis.plot(truth, middle, color=COLOUR[by], linewidth=1.4, label=words)
            axis.fill_between(truth, middle - spread, middle + spread, color=COLOUR[by], alpha=0.2, linewidth=0)
        axis.set_title(f"K = {latents} latents")
        axis.set_xlabel("true total correlation (nats)")
        axis.set_xlim(0, truth[-1])
    panels[0].set_ylabel("estimate (nats)")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3)
    figure.savefig(path, dpi=160, metadata={"Date": None, "Creator": None})
    plt.close(figure)


def weights_figure(path: Path, batch: int = 8, size: int = 50) -> None:
    kinds = (
        (1 / size, "1/N", "#1d2a5b"),
        ((size - batch + 1) / (size * (batch - 1)), "(N−M+1) / N(M−1)", "#8fc4e8"),
        (1 / (batch - 1), "1/(M−1)", "#efefef"),
    )
    figure, panels = plt.subplots(1, 2, figsize=(6.4, 2.9))
    for axis, by, words in zip(panels, ("mss", "mss_published"), ("as derived: mss", "as published: mss_published")):
        weights = log_weights(by, batch, size).exp().numpy()
        which = np.array([[np.argmin([abs(w - kind[0]) for kind in kinds]) for w in row] for row in weights])
        colours = matplotlib.colors.ListedColormap([kind[2] for kind in kinds])
        axis.pcolormesh(which, cmap=colours, vmin=-0.5, vmax=2.5, edgecolor="white", linewidth=1.2)
        for i in range(batch):
            axis.add_patch(
                plt.Rectangle((i + 0.06, i + 0.06), 0.88, 0.88, fill=False, edgecolor=COLOURS[1], linewidth=1.3)
            )
        axis.invert_yaxis()
        axis.set_aspect("equal")
        axis.set_title(words)
        axis.set_xticks([])
        axis.set_yticks([])
        axis.spines[:].set_visible(False)
        axis.set_xlabel("posterior j")
    panels[0].set_ylabel("anchor i")
    handles = [plt.Rectangle((0, 0), 1, 1, facecolor=colour, edgecolor=FAINT, linewidth=0.4) for _, _, colour in kinds]
    handles.append(plt.Rectangle((0, 0), 1, 1, fill=False, edgecolor=COLOURS[1], linewidth=1.3))
    names = [kind[1] for kind in kinds] + ["the anchor's own posterior"]
    figure.legend(handles, names, loc="outside lower center", ncols=4)
    figure.savefig(path, dpi=160, metadata={"Date": None, "Creator": None})
    plt.close(figure)


def bias_table() -> str:
    lines = [
        "| K | sd | truth, N = ∞ | **exact** | its null | importance | mss | mss_published | naive | mws |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for latents in (2, 4, 10):
        for sd in (0.3, 0.1):
            for correlated in (0.0, 0.5, 0.9):
                arrays = posteriors(latents, correlated, sd)
                exact, null = correlation(*arrays).tc, null_correlation(*arrays, draws=3).tc
                found = [estimates(arrays, by, 24) for by in (*SHOWN, "mws")]
                cells = [f"{v.mean():.2f} ± {v.std():.2f}" for v in found[:-1]] + [f"{found[-1].mean():.1f}"]
                start = (
                    f"| {latents} | {sd} | {population_tc(latents, correlated, sd):.2f} | **{exact:.2f}** | {null:.2f} "
                )
                lines.append(start + "| " + " | ".join(cells) + " |")
    return "\n".join(lines).replace("-", "−").replace("|−−−", "|---")


def law_table() -> str:
    lines = [
        "| K | N | M | law, weight 1/N | importance | mss | law, weight 1/M | mss_published | naive |",
        "|" + "---|" * 9,
    ]
    for latents, size, batch, batches in (
        (2, 5000, 500, 8),
        (4, 5000, 500, 8),
        (10, 5000, 500, 8),
        (10, 50000, 2048, 2),
    ):
        arrays = posteriors(latents, 0.0, 0.1, size)
        information = latents * 0.5 * np.log(1 + 1 / 0.1**2)
        found = {by: estimates(arrays, by, batches, batch).mean() for by in SHOWN}
        law, light = information - np.log(size), information - np.log(batch)
        cells = (law, found["importance"], found["mss"], light, found["mss_published"], found["naive"])
        lines.append(f"| {latents} | {size:,} | {batch:,} | " + " | ".join(f"{cell:.2f}" for cell in cells) + " |")
    return "\n".join(lines).replace("| -", "| −")


def splice(page: str, name: str, table: str) -> str:
    before, rest = page.split(f"<!-- {name} -->\n", 1)
    return f"{before}<!-- {name} -->\n{table}\n<!-- end -->" + rest.split("<!-- end -->", 1)[1]


def main() -> None:
    warnings.simplefilter("ignore", UninformativeEstimate)
    figures = HERE / "figures"
    figures.mkdir(exist_ok=True)
    with matplotlib.rc_context(RC):
        bias_figure(figures / "estimators_bias.svg")
        response_figure(figures / "estimators_response.svg")
        weights_figure(figures / "mss_weights.svg")
    path = HERE / "estimators.md"
    page = path.read_text(encoding="utf-8")
    page = splice(splice(page, "bias", bias_table()), "law", law_table())
    path.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
