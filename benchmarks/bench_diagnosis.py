"""Is "groups hold" right where it is said, and said where it is right?

    python benchmarks/bench_diagnosis.py --seeds 20000:20030 --processes 16 --rows diagnosis.jsonl

Each world of each family (`worlds.py`, and hopeless ones from here) is fitted by `Disentangler` with everything by
default, and asked `diagnose(X)` of the rows it was fitted to. *Solved*: the latent R2 of other rows, with the model's
own groups, is within .03 of the supervised ceiling, and every group has the size of the true one it is matched to.
Hopeless: Gaussian groups, 60 to 200 rows, sizes wrong by one, a bend of condition 100, pure noise. Thresholds were
chosen on seeds below 1,000; what is told uses seeds from 20,000 on. Worlds whose rows are in the file are not done
again, and `bench_worlds.py --rows` reads the same file.
"""

import argparse
import os
import sys
import time
import warnings
from dataclasses import dataclass, replace
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parent))

import numpy as np

from bench_worlds import TEST_ROWS, WITHIN, by_ica, ceiling, kept_rows, wilson
from partita.data import Dataset
from partita.structure import align
from worlds import FAMILIES, World, draw

LINEAR = ("linear", "auto-linear", "few-rows", "wrong-sizes", "gaussian", "noise")
BENT = ("bent-3", "bent-10", "auto-bent-3", "auto-bent-10", "condition-100")
DEFAULT = "linear,auto-linear,bent-3,bent-10,auto-bent-3,gaussian,few-rows,wrong-sizes,condition-100,noise"


@dataclass(frozen=True)
class Rows:
    train: Dataset
    test: Dataset
    told: dict
    hopeless: bool = False


def world_of(family: str, seed: int) -> Rows:
    rng = np.random.default_rng([seed, 17])
    if family in FAMILIES:
        world = draw(FAMILIES[family], seed)
        return Rows(world.rows(0), world.rows(1, TEST_ROWS), world.told)
    if family == "condition-100":
        world = draw(replace(FAMILIES["bent-10"], condition=100.0), seed)
        return Rows(world.rows(0), world.rows(1, TEST_ROWS), world.told)
    world = draw(FAMILIES["linear"], seed)
    train, test = world.rows(0), world.rows(1, TEST_ROWS)
    if family == "few-rows":
        return Rows(world.rows(0, int(rng.integers(60, 200))), test, world.told)
    if family == "wrong-sizes":
        return Rows(train, test, world.told | {"groups": _wrong(world, rng)}, True)
    if family == "noise":
        blank = [replace(d, x=rng.standard_normal(d.x.shape).astype(np.float32)) for d in (train, test)]
        return Rows(*blank, world.told, True)
    if family == "gaussian":
        slope = np.linalg.lstsq(train.truth, train.x - train.x.mean(0), rcond=None)[0]
        return Rows(*(_gaussian(d, slope, world.options["noise"], rng) for d in (train, test)), world.told, True)
    raise ValueError(f"no family {family!r}: there are {', '.join((*FAMILIES, *LINEAR[2:], 'condition-100'))}")


def _wrong(world: World, rng: np.random.Generator) -> tuple[int, ...]:
    """One latent in another group than it is."""
    true = world.options["groups"]
    while True:
        sizes = list(true)
        to, of = rng.choice(len(sizes), 2, replace=False)
        sizes[to] += 1
        sizes[of] -= 1
        wrong = tuple(size for size in sizes if size)
        if sorted(wrong) != sorted(true):
            return wrong


def _gaussian(data: Dataset, slope: np.ndarray, noise: float, rng: np.random.Generator) -> Dataset:
    """The same mixing of correlated Gaussian groups."""
    truth = np.empty_like(data.truth)
    for group in data.truth_groups:
        turn = np.eye(len(group)) + 0.5
        truth[:, list(group)] = rng.standard_normal((len(truth), len(group))) @ turn / np.linalg.norm(turn[0])
    x = truth @ slope + noise * rng.standard_normal(data.x.shape)
    return replace(data, truth=truth, x=x.astype(np.float32))


def judged(job: tuple[str, int]) -> dict:
    import logging

    import torch

    import partita as pt

    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    torch.set_num_threads(1)
    family, seed = job
    world = world_of(family, seed)
    train, test = world.train, world.test
    began = time.process_time()
    model = pt.Disentangler(**world.told, device="cpu").fit(train.x)
    fitted = time.process_time()
    found = model.diagnose(train.x)
    ended = time.process_time()
    match = align(model.transform(test.x), test.truth, model.groups_, test.truth_groups)
    sizes = [len(model.groups_[part]) if part >= 0 else 0 for part in match.assignment]
    same = sizes == [len(group) for group in test.truth_groups] and len(model.groups_) == len(sizes)
    top = ceiling(train, test, family in BENT) if family != "noise" else 1.0
    return {
        "family": family, "seed": seed, "rows": len(train.x), "groups": [len(g) for g in model.groups_],
        "verdict": found.verdict, "reasons": list(found.reasons), "r2": round(match.r2, 4), "ceiling": round(top, 4),
        "solved": bool(same and match.r2 > top - WITHIN and not world.hopeless),
        "numbers": {name: round(float(value), 4) for name, value in found.numbers.items()},
        "seconds": round(fitted - began, 2), "diagnosis_s": round(ended - fitted, 2),
        "ica": round(by_ica(train, test, world.told), 4) if family in FAMILIES else None,
    }  # fmt: skip


def table(rows: list[dict]) -> list[str]:
    lines = [
        "| worlds | fits | solved | said to hold | right of them | said of the solved |",
        "|---|---|---|---|---|---|",
    ]
    names = list(dict.fromkeys(row["family"] for row in rows))
    kinds = [(name, (name,)) for name in names]
    kinds += [("**all linear**", LINEAR), ("**all bent**", BENT), ("**all**", tuple(names))]
    for name, families in kinds:
        own = [row for row in rows if row["family"] in families]
        if not own:
            continue
        said = [row for row in own if row["verdict"] == "groups hold"]
        solved = [row for row in own if row["solved"]]
        right = sum(row["solved"] for row in said)
        precision = f"{right} of {len(said)} ({wilson(right, len(said))})" if said else "-"
        recall = f"{right} of {len(solved)} ({wilson(right, len(solved))})" if solved else "-"
        lines.append(f"| {name} | {len(own)} | {len(solved)} | {len(said)} | {precision} | {recall} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--families", default=DEFAULT)
    parser.add_argument("--seeds", default="0:3")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--rows", type=Path, help="keep every world's row here, one JSON line each")
    asked = parser.parse_args()
    low, high = map(int, asked.seeds.split(":"))
    jobs = [(family, seed) for seed in range(low, high) for family in asked.families.split(",")]
    done = kept_rows(judged, jobs, asked.processes, asked.rows)
    print("\n".join(table(done)))
    for row in done:
        if (row["verdict"] == "groups hold") != row["solved"]:
            print({name: row[name] for name in ("family", "seed", "rows", "verdict", "reasons", "r2", "ceiling")})
    print(f"CPU s, median: fit {np.median([row['seconds'] for row in done]):.1f}, ", end="")
    print(f"diagnosis {np.median([row['diagnosis_s'] for row in done]):.1f}")


if __name__ == "__main__":
    main()
