"""Makes docs/metrics.md by running the metrics on constructed codes: `python docs/generate_metrics.py`.

`--discovery all` also re-runs the table of group discovery (an hour), `--discovery 0,4` two of its rows (row 0: six
minutes); without it the table on the page is kept.
"""

import argparse
import warnings
from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path

import numpy as np

from partita import data, metrics, structure
from partita.metrics.dci import LIGHT

PAGE = Path(__file__).with_name("metrics.md")
MARKS = ("<!-- discovery -->", "<!-- /discovery -->")
SIZES = (3, 6, 10, 8, 5)
CASES = 20
FITTING = {
    1: ("uniform", "two_peaks", "exponential", "logistic"),
    2: ("ring", "moons", "bowtie", "spiral", "checkerboard", "clusters"),
    3: ("ring", "bowtie", "spiral", "checkerboard"),
    4: ("ring", "bowtie"),
}


def constructed() -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """A complete grid of five factors, and codes for it that are right or wrong in one way each."""
    rng = np.random.default_rng(0)
    factors = np.stack([column.ravel() for column in np.indices(SIZES)], 1)
    factors = factors[rng.permutation(len(factors))]
    perfect = (factors - factors.mean(0)) / factors.std(0)
    n = len(factors)
    angle = 2 * np.pi * factors[:, 2] / SIZES[2]
    split = np.concatenate([perfect[:, [0, 1]], np.stack([np.cos(angle), np.sin(angle)], 1), perfect[:, [3, 4]]], 1)
    both = factors[:, 0] * SIZES[4] + factors[:, 4]
    merged = np.concatenate([perfect[:, 1:4], ((both - both.mean()) / both.std())[:, None]], 1)
    jitter = 0.02
    codes = {
        "perfect": perfect,
        "rotated": perfect @ np.linalg.qr(rng.standard_normal((5, 5)))[0],
        "split": split,
        "copied": np.concatenate([perfect, perfect], 1),
        "merged": merged,
        "missing": perfect[:, :3],
        "dead": np.concatenate([perfect, np.zeros((n, 3))], 1),
        "noise latents": np.concatenate([perfect, rng.standard_normal((n, 3))], 1),
        "noisy": perfect + 0.5 * rng.standard_normal(perfect.shape),
        "pure noise": rng.standard_normal((n, 5)),
    }
    alive = {name: np.where(z.std(0) > 0, jitter, 0.0) for name, z in codes.items()}
    return factors, {name: z + alive[name] * rng.standard_normal(z.shape) for name, z in codes.items()}


EXPLAINED = {
    "perfect": "one latent a factor (noise 0.02 on every code below, too)",
    "rotated": "the perfect codes times a random rotation",
    "split": "factor 2 as a cosine and a sine",
    "copied": "every latent twice",
    "merged": "two factors in one latent, one level after the other",
    "missing": "two factors nowhere",
    "dead": "three constant latents beside the perfect ones",
    "noise latents": "three latents of noise beside the perfect ones",
    "noisy": "noise of half a standard deviation on every latent",
    "pure noise": "nothing of the factors",
}


def columns() -> dict:
    """What is tabulated: a name and a function of (codes, factors)."""
    m = metrics
    cells = {name: entry.function for name, entry in m.METRICS.items() if entry.needs in ("factors", "grid", "codes")}
    for name in ("dci", "infomec", "leakage"):
        cells.pop(name)
    cells["sap, continuous"] = lambda z, f: m.sap(z, f, continuous=True)
    dci = {part: _part("dci", part) for part in ("disentanglement", "completeness", "informativeness")}
    mec = {part: _part("infomec", part) for part in ("infom", "infoc", "infoe")}
    return cells | {f"dci: {part}": work for part, work in dci.items()} | {f"infomec: {p}": w for p, w in mec.items()}


_KNOWN: dict = {}


def _part(metric: str, part: str):
    def work(codes, factors):
        key = (metric, codes.tobytes())
        if key not in _KNOWN:
            options = {"protocol": "dlib-2019-fast-ties"} if metric == "dci" else {}
            _KNOWN[key] = metrics.METRICS[metric].function(codes, factors, **options)
        return _KNOWN[key].parts[part]

    return work


def main_table() -> list[str]:
    factors, codes = constructed()
    lines = ["| metric | " + " | ".join(codes) + " | forgives |", "|---" * (len(codes) + 2) + "|"]
    for name, work in columns().items():
        values = {case: float(work(z, factors)) for case, z in codes.items()}
        better = metrics.METRICS[name].better if name in metrics.METRICS else "higher"
        cells = " | ".join(f"{value:.2f}" for value in values.values())
        lines.append(f"| `{name}` | {cells} | {_forgiven(values, better)} |")
    return lines


def _forgiven(values: dict[str, float], better: str) -> str:
    """The faults that cost a score less than a tenth of what separates perfect codes from noise."""
    if better == "lower":
        return "-"
    margin = 0.1 * (values["perfect"] - values["pure noise"])
    faults = [case for case in values if case not in ("perfect", "pure noise")]
    return ", ".join(case for case in faults if values[case] >= values["perfect"] - margin) or "nothing here"


def traps() -> list[str]:
    factors, codes = constructed()
    m = metrics
    perfect, merged, rotated = codes["perfect"], codes["merged"], codes["rotated"]
    sizes = (900, 1800, 3600, 7200)
    sap = ", ".join(f"{m.sap(perfect[:n], factors[:n]).value:.2f} (n={n})" for n in sizes)
    noise = m.infomec(codes["pure noise"], factors).parts
    ring = data.load("groups", size=5000, groups=(2,), shapes=("ring",)).truth
    same, other = _three_models(perfect, rotated)
    width = np.random.default_rng(3)
    wide = {s: m.monte_carlo_tc(width.standard_normal((64, 10)), np.full((64, 10), 2 * np.log(s))) for s in (0.1, 0.3)}
    boost = {p: m.dci(rotated, factors, protocol=p) for p in ("dlib-2019-fast-ties", "ubisoft-2020")}
    twice = np.concatenate([perfect, perfect], 1)
    copies = {p: m.dci(twice, factors, protocol=p).parts["completeness"] for p in LIGHT}
    in_order = np.lexsort(factors.T[::-1])
    with warnings.catch_warnings(action="ignore", category=m.UntrainedClasses):  # that is the trap
        sorted_rows = m.explicitness(perfect[in_order], factors[in_order]).value
    return [
        "- **SAP, DCI and explicitness train on the first two thirds of the rows.** Rows sorted by their factors ask"
        f" for classes that were never trained on: explicitness {sorted_rows:.2f} instead of"
        f" {m.explicitness(perfect, factors).value:.2f} for perfect codes. The metrics warn (`UntrainedClasses`);"
        " `partita evaluate` hands rows over in random order.",
        f"- **Discrete SAP moves with the number of rows**, because its C is fixed. Perfect codes: {sap}. Compare at"
        " equal size only, and do not expect 1.",
        f"- **MIG depends on the divisor.** Merged codes: {m.mig(merged, factors).value:.3f} by factor entropy"
        f' ("dlib-2019"), {m.mig(merged, factors, protocol="ubisoft-2020").value:.3f} by code entropy ("ubisoft-2020").'
        " And it does not see the merging at all: `mig_sup`, `dcimig`, DCI disentanglement and InfoM do.",
        f"- **InfoM and InfoC count pure noise as modular and compact**: {noise['infom']:.2f} and {noise['infoc']:.2f}"
        " for codes that know nothing, because the little information estimated is noise too and lies on one factor by"
        f" chance. Read them beside InfoE ({noise['infoe']:.2f} there).",
        f"- **Modularity averages over dead latents** (as 0): {m.modularity(codes['dead'], factors).value:.2f} for"
        f" perfect codes with three of them; and it is high for rotated codes:"
        f" {m.modularity(rotated, factors).value:.2f}.",
        "- **DCI is the DCI of a predictor.** Rotated codes: disentanglement"
        f" {boost['dlib-2019-fast-ties'].value:.2f} by boosted trees,"
        f" {boost['ubisoft-2020'].value:.2f} by lasso. Trees of depth 3 are part of the protocol.",
        "- **LightGBM takes the first of equal latents.** Perfect codes, every latent twice and exactly: completeness"
        f' {copies["dlib-2019-fast"]:.2f} by "dlib-2019-fast", {copies["dlib-2019-fast-ties"]:.2f} by'
        ' "dlib-2019-fast-ties", the default of `evaluate`, which draws among equals; two shares of a half are'
        f" {1 - np.log(2) / np.log(10):.2f}.",
        f"- **Gaussian TC is blind to nonlinear dependence**: {m.gaussian_tc(ring).value:.4f} nats for a ring, whose"
        f" total correlation is {structure.min_total_correlation(ring).value:.2f} nats or more under every linear map.",
        f"- **UDR sees agreement, not truth**: three models with one rotation score {same:.2f}, three with one each"
        f" {other:.2f}.",
        "- **Monte-Carlo TC of 64 posteriors follows their width**: independent codes, true value 0, K=10, give "
        + ", ".join(f"{score.value:.1f} nats at deviation {s}" for s, score in wide.items())
        + ". Read `excess`: "
        + ", ".join(f"{score.parts['excess']:+.2f}" for score in wide.values())
        + ".",
        "- **Explicitness is a raw area**, chance 0.5; `beta_vae` and `factor_vae` are accuracies, chance 1/factors.",
        "- **FactorVAE prunes latents below a standard deviation of 0.05**, an absolute scale: scale the codes and it"
        " changes.",
    ]


def _three_models(perfect: np.ndarray, rotated: np.ndarray) -> tuple[float, float]:
    """UDR of three models that share one rotation, up to order and sign, and of three with a rotation each."""
    rng = np.random.default_rng(4)
    turns = [np.linalg.qr(rng.standard_normal((5, 5)))[0] for _ in range(3)]
    same = metrics.udr([rotated[:, rng.permutation(5)] * rng.choice([-1.0, 1.0], 5) for _ in range(3)], draws=0)
    other = metrics.udr([perfect @ turn for turn in turns], draws=0)
    return same.value, other.value


def registry_table() -> list[str]:
    lines = ["| metric | asks | reads | better | protocols (first: default) |", "|---|---|---|---|---|"]
    for name, metric in metrics.METRICS.items():
        protocols = ", ".join(f'"{protocol}"' for protocol in metric.protocols)
        groups = ", groups" if metric.grouped else ""
        lines.append(f"| `{name}` | {metric.summary} | {metric.needs}{groups} | {metric.better} | {protocols} |")
    return lines


def partition_case(case: int, condition: float | None = None) -> data.Dataset:
    """Random case `case`: 4 to 12 latents in groups of 1 to 4, random shapes, 4,000 rows mixed without noise.

    Linearly, or bent with a Jacobian of at most the given `condition`.
    """
    rng = np.random.default_rng([2026, case])
    latents = int(rng.integers(4, 13))
    sizes: list[int] = []
    while sum(sizes) < latents:
        sizes.append(int(min(rng.integers(1, 5), latents - sum(sizes))))
    shapes = [str(rng.choice(FITTING[size])) for size in sizes]
    options: dict = {"size": 4000, "features": latents, "noise": 0.0}
    if condition is not None:
        options |= {"mixing": "nonlinear", "condition": condition}
    return data.load("groups", seed=case, groups=tuple(sizes), shapes=tuple(shapes), **options)


def found_partition(dataset: data.Dataset, discovery: structure.Discovery) -> bool:
    """Whether the groups found are the true ones: every coordinate belongs to the true group that predicts it best."""
    coordinates = discovery.coordinates(dataset.x)
    single = tuple((k,) for k in range(coordinates.shape[1]))
    predicted = structure.align(dataset.truth, coordinates, dataset.truth_groups, single).matrix
    home = predicted.argmax(1)
    true = {frozenset(np.flatnonzero(home == g).tolist()) for g in range(len(dataset.truth_groups))}
    sizes = sorted(len(group) for group in dataset.truth_groups)
    return true == {frozenset(group) for group in discovery.groups} and sorted(map(len, true)) == sizes


def random_partition(condition: float | None = None, first: int = 0) -> Callable[[int], bool]:
    def found(case: int) -> bool:
        dataset = partition_case(first + case, condition)
        return found_partition(dataset, structure.discover_groups(dataset.x))

    return found


def from_principal_components(name: str, sizes: list[int]) -> Callable[[int], bool]:
    """Data seed `case`, 20 noisy features, through its six principal components."""

    def found(case: int) -> bool:
        dataset = data.load(name, seed=case)
        u, s, _ = np.linalg.svd(dataset.x - dataset.x.mean(0).astype(float), full_matrices=False)
        codes = u[:, :6] * s[:6]
        discovery = structure.discover_groups(codes)
        aligned = structure.align(discovery.coordinates(codes), dataset.truth, discovery.groups, dataset.truth_groups)
        return sorted(map(len, discovery.groups)) == sizes and aligned.r2 > 0.95

    return found


def mixed_sprites(case: int) -> bool:
    """Place and size of every square of pdsprites three times with noise of 0.05, times random matrix `case`."""
    rng = np.random.default_rng([2026, case])
    truth = np.tile(data.load("pdsprites").truth, (3, 1))
    truth = truth + 0.05 * rng.standard_normal(truth.shape)
    codes = truth @ rng.standard_normal((3, 3))
    discovery = structure.discover_groups(codes)
    aligned = structure.align(discovery.coordinates(codes), truth, discovery.groups, ((0, 1), (2,)))
    return sorted(map(len, discovery.groups)) == [1, 2] and aligned.r2 > 0.95


DISCOVERIES: dict[str, tuple[Callable[[int], bool], int]] = {
    "random partitions, linear mixing": (random_partition(), CASES),
    "20 more, drawn after the method was settled": (random_partition(first=1000), CASES),
    "random partitions, nonlinear, Jacobian condition up to 2": (random_partition(2.0), CASES),
    "random partitions, nonlinear, Jacobian condition up to 10": (random_partition(10.0), CASES),
    "`groups`, principal components": (from_principal_components("groups", [2, 2, 2]), 10),
    "`independent`, principal components": (from_principal_components("independent", [1] * 6), 10),
    "`pdsprites`, place and size mixed linearly": (mixed_sprites, 10),
}


def discovery_table(again: Sequence[int]) -> list[str]:
    """The rows numbered in `again` are re-run; the others are kept as the page has them."""
    kept = {line.split(" | ")[0].removeprefix("| "): line for line in kept_discovery()[2:]}
    for row in again:
        name, (work, cases) = list(DISCOVERIES.items())[row]
        found = sum(work(case) for case in range(cases))
        kept[name] = f"| {name} | {found} of {cases} | {date.today()} |"
    missing = [name for name in DISCOVERIES if name not in kept]
    if missing:
        print(f"no figure yet for {', '.join(missing)}: run with --discovery")
    head = ["| codes | true partition found | measured |", "|---|---|---|"]
    return head + [kept.get(name, f"| {name} | - | - |") for name in DISCOVERIES]


def kept_discovery() -> list[str]:
    text = PAGE.read_text() if PAGE.exists() else ""
    return text.split(MARKS[0])[1].split(MARKS[1])[0].strip().splitlines() if MARKS[0] in text else []


def page(discovery: list[str]) -> str:
    cases = [f"- *{name}*: {text}" for name, text in EXPLAINED.items()]
    return "\n".join(
        [
            "# Metrics: what each one rewards, what it forgives",
            "",
            "Made by `docs/generate_metrics.py`; every number below was computed by the metrics themselves.",
            "",
            "A score carries its protocol by name, because the same codes get very different numbers from different"
            " public code. `float(score)` is the value; `score.parts` what it was made of; `score.settings` bins,"
            " neighbours and library versions; `interval=0.95` adds an interval from half-samples of the rows."
            " `partita.metrics.evaluate(codes, factors)` runs what the arrays allow,"
            " `partita.metrics.inapplicable(codes, factors)` says what they do not, and why.",
            "",
            "## Constructed codes",
            "",
            f"Five factors with {', '.join(map(str, SIZES))} values, every combination once ({np.prod(SIZES):,} rows).",
            "",
            *cases,
            "",
            "The last column lists the faults that cost less than a tenth of the distance between perfect codes and"
            " noise. `gaussian_tc` and `wasserstein_correlation` see only the codes, and 0 is best.",
            "",
            *main_table(),
            "",
            "## Traps",
            "",
            *traps(),
            "",
            "## Groups",
            "",
            "`mig`, `dci`, `modularity`, `infomec` and `leakage` take `groups` of latents and `factor_groups`:"
            " information between vectors by nearest neighbours, a factor group as the combination of its values. A"
            " pair of latents that holds a position is then scored as one thing. Continuous factors: `mcc`, `sap` and"
            " `dci` with `continuous=True`, and `factor_bins=` where information is counted in bins. Information"
            " between groups is nobody's published protocol: such scores of `mig`, `modularity` and `infomec` are named"
            ' "nearest-neighbours".',
            "",
            "## Holding a factor fixed",
            "",
            "`beta_vae` and `factor_vae` need observations that share the value of one factor. From arrays they take a"
            " complete grid, or `draw(fixed, n, rng)`. `partita evaluate` draws among the rows of the data set that"
            " share the value, of all rows or 50,000 of them, so every data set with factors will do; where its factors"
            " are no complete grid, the others vary as they do in the data.",
            "",
            "## Group discovery",
            "",
            "`partita.structure.discover_groups` on random partitions: 4 to 12 latents in groups of 1 to 4, ten shapes"
            " (among them cubes whose coordinates are independent two at a time), 4,000 rows; the cases were fixed in"
            " advance. Found means: the groups are the true ones, coordinate by coordinate, their number and sizes"
            " included. `python docs/generate_metrics.py --discovery all` makes the table.",
            "",
            MARKS[0],
            *discovery,
            MARKS[1],
            "",
            "Where it fails: after a nonlinear mixing, which no rotation undoes, it merges what the bend ties together,"
            " so its groups are too large, in the end one group of everything: every failure there has fewer"
            " groups than the truth. A group close to Gaussian has no preferred coordinates and little to share, and"
            " comes out as single latents; so do four or more coordinates that are dependent only all together. Its"
            " tests need rows: on `groups` with 800 of them it was right for 4 data seeds of 4, with 400 or 200 for"
            " none (true pairs split; with 400 two seeds also joined wrong ones).",
            "",
            '`pdisvae` with `groups="auto"` asks the same question of its own codes half-way through training and goes'
            " on with the answer (`partita train pdisvae --groups auto`): figures in `benchmarks/RESULTS.md`.",
            "",
            "## Every metric",
            "",
            *registry_table(),
            "",
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--discovery", help="rows of the table of group discovery to re-run, such as 0,1 or all")
    parser.add_argument("--only-discovery", action="store_true", help="leave the rest of the page as it is")
    asked = parser.parse_args()
    every = range(len(DISCOVERIES))
    again = every if asked.discovery == "all" else [int(row) for row in (asked.discovery or "").split(",") if row]
    table = discovery_table(again)
    if asked.only_discovery:
        head, rest = PAGE.read_text().split(MARKS[0])
        PAGE.write_text("\n".join([head + MARKS[0], *table, MARKS[1]]) + rest.split(MARKS[1])[1])
    else:
        PAGE.write_text(page(table))


if __name__ == "__main__":
    main()
