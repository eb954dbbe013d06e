"""Are planted groups found over a background of weak dependence, and is nothing else?

    python benchmarks/bench_discovery.py --latents 6,12,32,128 --background 0,.02,.05,.1 --seeds 10000:10003

Half of the coordinates lie in groups of two and three (rings, moons, bow-ties, spirals, clusters), the others are
alone; then a background of so many nats a pair ties everything, and leaves what is inside a group as it is: events at
which every group is near one place of its own (`events`: about the same for all pairs), or an order of rows in which
the ranks of one direction of each follow a common cause, more or less (`cause`: pairs differ by a factor of up to 9).
A merge is true where it joins coordinates of one planted group, and false where it joins others. Beside it the simplest
alternative on the same codes: connected components of the pairs whose information in 12 bins of ranks is above 1.5
times the largest of permuted codes. `--glove FILE` plants circles in word vectors.
"""

import argparse
import os
import sys
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from partita.data.shapes import SHAPES
from partita.structure import discover_groups

PLANTED = {2: ("ring", "moons", "bowtie", "spiral", "clusters"), 3: ("ring",)}


def planted(latents: int, rows: int, nats: float, kind: str, rng: np.random.Generator) -> tuple[np.ndarray, list[int]]:
    """Standardised codes over a background, and the planted group of each column."""
    groups: list[np.ndarray] = []
    while (filled := sum(group.shape[1] for group in groups)) < latents:
        size = int(rng.integers(2, 4)) if filled < latents // 2 else 1
        if size == 1:
            own = (rng.standard_normal, rng.uniform, rng.exponential)[rng.integers(3)](size=(rows, 1))
        else:
            own = SHAPES[str(rng.choice(PLANTED[size]))].draw(rows, size, rng)
        groups.append((own - own.mean(0)) / own.std(0))
    if nats > 0:
        groups = (_events if kind == "events" else _cause)(groups, nats, rng)
    return np.concatenate(groups, 1), [g for g, group in enumerate(groups) for _ in group.T]


def _events(groups: list[np.ndarray], nats: float, rng: np.random.Generator) -> list[np.ndarray]:
    """In a share of the rows every group is drawn from its 5 % nearest to one of them: the share, by bisection."""
    rows = len(groups[0])
    near = [np.argsort(((own - own[0]) ** 2).sum(1))[: rows // 20] for own in groups]
    drawn = [own[rng.choice(which, rows)] for own, which in zip(groups, near)]
    chance = rng.random(rows)
    home = np.repeat(np.arange(len(groups)), [own.shape[1] for own in groups])
    apart = home[:, None] != home
    low, high = 0.0, 0.5
    for _ in range(12):
        share = (low + high) / 2
        tied = [np.where((chance < share)[:, None], other, own) for own, other in zip(groups, drawn)]
        # 121 / 2n is what independent ranks in 12 bins seem to share
        shared = binned(np.concatenate(tied, 1))[apart].mean() - 121 / (2 * rows)
        low, high = (share, high) if shared < nats else (low, share)
    return tied


def _cause(groups: list[np.ndarray], nats: float, rng: np.random.Generator) -> list[np.ndarray]:
    """Ranks follow Gaussians of correlation a_i a_j, which share -log(1 - r^2) / 2."""
    rows = len(groups[0])
    r = np.sqrt(1 - np.exp(-2 * nats))
    a = np.sqrt(r * rng.uniform(0.5, 1.5, len(groups)))
    normal = a * rng.standard_normal((rows, 1)) + np.sqrt(1 - a**2) * rng.standard_normal((rows, len(groups)))
    tied = []
    for own, wanted in zip(groups, normal.T):
        score = own @ rng.standard_normal(own.shape[1])
        tied.append(own[np.argsort(score)][np.argsort(np.argsort(wanted))])
    return tied


def binned(codes: np.ndarray, bins: int = 12) -> np.ndarray:
    from partita.structure._background import _cells, _information

    return _information(_cells(codes, bins, np.random.default_rng(0)), bins)


def by_threshold(codes: np.ndarray, rng: np.random.Generator) -> list[tuple[int, ...]]:
    from scipy.sparse.csgraph import connected_components

    latents = codes.shape[1]
    some = np.triu_indices(latents, 1)
    null = binned(np.stack([rng.permutation(column) for column in codes.T], 1))[some].max()
    tied = np.triu(binned(codes) > 1.5 * null, 1)
    label = connected_components(tied, directed=False)[1]
    return [tuple(np.flatnonzero(label == each)) for each in np.unique(label)]


def merges(groups: list[tuple[int, ...]], home: list[int]) -> tuple[int, int]:
    """How many merges made these groups: true ones, and false ones."""
    joined = sum(len(group) - 1 for group in groups)
    true = sum(len(group) - len({home[k] for k in group}) for group in groups)
    return true, joined - true


def glove(file: Path, circles: int, latents: int, seed: int) -> str:
    """Circles added to word vectors along random directions, found among their principal components?"""
    rng = np.random.default_rng(seed)
    stored = np.load(file, allow_pickle=False)
    x = next(stored[name] for name in stored if stored[name].ndim == 2).astype(float)[:4000]
    x = (x - x.mean(0)) / x.std()
    angle = rng.uniform(0, 2 * np.pi, (len(x), circles))
    truth = np.concatenate([np.cos(angle), np.sin(angle)], 1) + 0.1 * rng.standard_normal((len(x), 2 * circles))
    directions = np.linalg.qr(rng.standard_normal((x.shape[1], 2 * circles)))[0]
    x = x + 4.0 * truth @ directions.T
    u, s, _ = np.linalg.svd(x - x.mean(0), full_matrices=False)
    began = time.process_time()
    found = discover_groups(u[:, :latents] * s[:latents], unmix=True, seed=seed)
    took = time.process_time() - began
    y = found.coordinates(u[:, :latents] * s[:latents])
    right = 0
    for c in range(circles):
        fits = [1 - _left(y[:, list(g)], truth[:, [c, c + circles]]) for g in found.groups if len(g) == 2]
        right += max(fits, default=0.0) > 0.9
    others = [len(group) for group in found.groups if len(group) > 1]
    simple = [len(g) for g in by_threshold(y, rng) if len(g) > 1]
    return (
        f"| {seed} | {latents} | {right} of {circles} | {others} | {found.background:.3f} | {simple} | {took:.0f} |\n"
        f"  {found}"
    )


def _left(codes: np.ndarray, truth: np.ndarray) -> float:
    design = np.c_[codes, np.ones(len(codes))]
    rest = truth - design @ np.linalg.lstsq(design, truth, rcond=None)[0]
    return float(rest.var(0).sum() / truth.var(0).sum())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--latents", default="6,12,32,128")
    parser.add_argument("--background", default="0,.02,.05,.1")
    parser.add_argument("--kinds", default="events,cause")
    parser.add_argument("--seeds", default="0:2")
    parser.add_argument("--rows", type=int, default=4000)
    parser.add_argument("--glove", type=Path, help="word vectors (.npz) to plant circles in")
    asked = parser.parse_args()
    low, high = map(int, asked.seeds.split(":"))
    if asked.glove is not None:
        print("| seed | K | circles found | groups found | background | by threshold | CPU s |")
        for seed in range(low, high):
            print(glove(asked.glove, 3, 32, seed), flush=True)
        return
    print("| background | nats a pair | K | true merges | false | threshold: true | false | CPU s, median |")
    print("|---|---|---|---|---|---|---|---|")
    for kind in asked.kinds.split(","):
        for nats in map(float, asked.background.split(",")):
            for latents in map(int, asked.latents.split(",")):
                counts, seconds = np.zeros(5, int), []
                for seed in range(low, high):
                    rng = np.random.default_rng([seed, latents])
                    codes, home = planted(latents, asked.rows, nats, kind, rng)
                    began = time.process_time()
                    found = discover_groups(codes, unmix=False, seed=seed)
                    seconds.append(time.process_time() - began)
                    simple = by_threshold(codes, rng)
                    counts += [*merges(list(found.groups), home), *merges(simple, home), len(home) - len(set(home))]
                true, false, threshold_true, threshold_false, all_true = counts
                print(
                    f"| {kind} | {nats:g} | {latents} | {true} of {all_true} | {false} | {threshold_true} of {all_true}"
                    f" | {threshold_false} | {np.median(seconds):.1f} |",
                    flush=True,
                )


if __name__ == "__main__":
    sys.exit(main())
