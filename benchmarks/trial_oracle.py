"""Which step loses a world: the coordinates, their grouping, or who judges?

    python benchmarks/trial_oracle.py linear,linear-K32,bent-3,bent-10 --seeds 0:100 --processes 2

Worlds of `worlds.py`, development seeds (below 1,000). Solved, as `bench_worlds.py` counts it, by
- ICA: Picard-O, grouped without labels;
- told: the coordinates of Picard-O or JADE, whichever is better, in groups told by the truth; unbent from there where
  rows are bent;
- truth: unbent from the linear map nearest to the truth, in true groups (bent worlds only);
- ours: `structure.unmixed` as it is.
What "told" loses, the coordinates lose; what "ours" loses beyond it, grouping and judge. Of each bent world that is
lost beyond, the log-density of 3,000 fresh rows is printed, with our groups and as told: by a mixture of 24 Gaussians a
group, and by nearest neighbours. Where ours is as high, no judge that looks at rows alone could have known.

Where a family's groups are to be found (auto-bent-3), ICA and ours are told no sizes, and what the search's own judges
say of ours and of the truth is printed: where they take ours, a search that had tried the truth would have, too.
"""

import argparse
import json
import multiprocessing
import os
import sys
import warnings
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import partial
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
from scipy.optimize import linear_sum_assignment

from bench_worlds import TEST_ROWS, WITHIN, ceiling, wilson
from partita.measures._ica import jade, picard
from partita.structure import align, unmixed
from partita.structure._bent_judges import judge, worth_bent
from partita.structure._principal import Principal
from partita.structure._unbending import Bend, Start, Unbent, unbend

NEIGHBOURS = 4


def told_groups(codes: np.ndarray, truth: np.ndarray, groups: tuple) -> tuple:
    """Each coordinate in the true group that explains it best, as many in each as there are."""
    known = np.empty((codes.shape[1], len(groups)))
    for number, group in enumerate(groups):
        design = np.c_[truth[:, list(group)], np.ones(len(codes))]
        left = codes - design @ np.linalg.lstsq(design, codes, rcond=None)[0]
        known[:, number] = 1 - left.var(0) / codes.var(0)
    places = [number for number, group in enumerate(groups) for _ in group]
    chosen = linear_sum_assignment(-known[:, places])[1]
    return tuple(
        tuple(k for k in range(codes.shape[1]) if places[chosen[k]] == number) for number in range(len(groups))
    )


def explained(bend: Bend, groups: tuple, white: np.ndarray, fresh: np.ndarray) -> tuple[float, float]:
    """Mean log-density of fresh rows, nats: by mixtures fitted to the rows, and by their nearest neighbours."""
    from scipy.special import digamma, gammaln
    from sklearn.mixture import GaussianMixture
    from sklearn.neighbors import NearestNeighbors

    codes, asked = bend(white), bend(fresh)
    bent = np.tanh(fresh @ bend.enter.T + bend.offset)
    slope = np.einsum("kh,nh,hl->nkl", bend.leave, 1 - bent**2, bend.enter) + bend.rotation.T
    mixture = near = float(np.linalg.slogdet(slope)[1].mean())
    for group in map(list, groups):
        fitted = GaussianMixture(24, reg_covar=2e-3, random_state=0).fit(codes[:, group])
        mixture += float(fitted.score(asked[:, group]))
        size, n = len(group), len(asked)
        far = NearestNeighbors(n_neighbors=NEIGHBOURS).fit(asked[:, group]).kneighbors()[0][:, NEIGHBOURS - 1]
        ball = size / 2 * np.log(np.pi) - gammaln(size / 2 + 1)
        near -= float(digamma(n) - digamma(NEIGHBOURS) + ball + size * np.log(far).mean())
    return mixture, near


def looked_at(job: tuple[str, int]) -> dict:
    import torch

    from worlds import FAMILIES, draw

    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    family, seed = job
    world, bent = draw(FAMILIES[family], seed), FAMILIES[family].condition is not None
    train, test = world.rows(0), world.rows(1, TEST_ROWS)
    x, sizes, groups = train.x.astype(float), world.options["groups"], train.truth_groups
    line = ceiling(train, test, bent) - WITHIN
    principal = Principal.of(x, sum(sizes))
    white, fresh = principal.white(x), principal.white(test.x.astype(float))

    def solves(bend: Bend, found: tuple) -> bool:
        return bool(align(bend(fresh), test.truth, found, groups).r2 > line)

    def unbent(start: Start) -> Bend:
        return unbend(white, [start], steps=800)[0].codes if bent else start.bend

    told, ways = [], []
    for solve in (partial(picard, seed=0), jade):
        straight = Bend.straight(solve(white).T)
        start = Start(straight, told_groups(straight(white), train.truth, groups))
        ways.append((unbent(start), start.groups))
        told.append(solves(*ways[-1]))
    asked = None if FAMILIES[family].told == "auto" else sizes
    found = {"ICA": unmixed(x, sum(sizes), asked, bends=False), "ours": unmixed(x, sum(sizes), asked)}
    solved = {
        name: bool(align(each.codes(test.x), test.truth, each.groups, groups).r2 > line) for name, each in found.items()
    }
    scaled = (train.truth - train.truth.mean(0)) / train.truth.std(0)
    left, _, right = np.linalg.svd(np.linalg.lstsq(white, scaled, rcond=None)[0])
    nearest = Start(Bend.straight(left @ right), tuple(map(tuple, groups)))
    truth, nats = {}, {}
    if bent:
        ended = unbent(nearest)
        truth = {"truth": solves(ended, nearest.groups)}
    if bent and not solved["ours"]:
        ours = found["ours"]
        bend = Bend.straight(ours.rotation) if ours.bend is None else ours.bend
        if any(told):
            nats = {"nats ours": explained(bend, ours.groups, white, fresh)}
            nats["nats told"] = explained(*ways[told.index(True)], white, fresh)
        if asked is None:
            each = [(bend, ours.groups, ours.bend is not None), (ended, nearest.groups, True)]
            ends = [Unbent(Start(codes, groups, bends), codes, 0.0) for codes, groups, bends in each]
            nats["judged"] = [round(float(value), 3) for value, _ in judge(ends, white, 0, worth_bent)]
    return {"family": family, "seed": seed, "rows": len(x), "told": any(told), **solved, **truth, **nats}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("families")
    parser.add_argument("--seeds", default="0:20")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--rows", type=Path, help="write every world's row here, one JSON line each")
    asked = parser.parse_args()
    low, high = map(int, asked.seeds.split(":"))
    jobs = [(family, seed) for family in asked.families.split(",") for seed in range(low, high)]
    with ProcessPoolExecutor(asked.processes, mp_context=multiprocessing.get_context("spawn")) as pool:
        rows = []
        for done in as_completed([pool.submit(looked_at, job) for job in jobs]):
            rows.append(done.result())
            if asked.rows:
                with asked.rows.open("a") as file:
                    file.write(json.dumps(rows[-1]) + "\n")
    print("| family | worlds | ICA | told | truth | ours |\n|---|---|---|---|---|---|")
    for family in asked.families.split(","):
        own = [row for row in rows if row["family"] == family]
        counts = [
            sum(row[name] for row in own) if name in own[0] else None for name in ("ICA", "told", "truth", "ours")
        ]
        shown = ["" if count is None else f"{count} ({wilson(count, len(own))})" for count in counts]
        print(f"| {family} | {len(own)} | {' | '.join(shown)} |")
    print("solved when told, not by ours; nats a fresh row, ours and told, by mixtures | by neighbours:")
    for row in sorted(rows, key=lambda row: (row["family"], row["seed"])):
        if row["told"] and not row["ours"]:
            pairs = zip(row.get("nats ours", ()), row.get("nats told", ()))
            shown = " | ".join(f"{ours:.3f} {told:.3f}" for ours, told in pairs)
            print(f"{row['family']} {row['seed']}, {row['rows']} rows: {shown}")
    for row in sorted(rows, key=lambda row: (row["family"], row["seed"])):
        if "judged" in row:
            print(f"{row['family']} {row['seed']}: judged {row['judged'][0]}, the truth {row['judged'][1]}")


if __name__ == "__main__":
    main()
