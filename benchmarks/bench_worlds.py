"""Are groups found in worlds nobody looked at?

    python benchmarks/bench_worlds.py linear,bent-3 --seeds 10000:10100 --processes 2

Each world of each family (`worlds.py`) is fitted by `Disentangler` with everything by default. It is *solved* when the
latent R2 of rows held out, with the model's own groups, is within .03 of the ceiling: the same R2 of supervised
regression from x, linear or by kernels with a cross-validated width. Beside it ICA (Picard-O) with the same grouping.
Development looks at seeds below 1,000; what is told uses seeds from 10,000 on. `--record` keeps range, commit and
result in `benchmarks/worlds.json`, which lists every range that was ever run.
"""

import argparse
import json
import multiprocessing
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed
from datetime import date
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parent))

import numpy as np

from partita.data import Dataset
from partita.structure import align

WITHIN = 0.03
TEST_ROWS = 3000
ROWS_TO_CHOOSE, ROWS_FOR_KERNELS = 1200, 3000
RECORD = Path(__file__).parent / "worlds.json"


def ceiling(train: Dataset, test: Dataset, bent: bool) -> float:
    from sklearn.decomposition import PCA
    from sklearn.kernel_ridge import KernelRidge
    from sklearn.linear_model import LinearRegression
    from sklearn.model_selection import GridSearchCV, cross_val_score

    latents = train.truth.shape[1]
    linear = LinearRegression().fit(train.x, train.truth).predict(test.x)
    if not bent:
        return align(linear, test.truth, test.truth_groups, test.truth_groups).r2
    plane = PCA(latents, whiten=True, random_state=0).fit(train.x)
    x, z = plane.transform(train.x), train.truth
    grid = {"gamma": [1 / (2 * latents * width**2) for width in (1, 2, 4, 8)], "alpha": [0.01, 0.1, 1]}
    kernel = GridSearchCV(KernelRidge(kernel="rbf"), grid, cv=3, scoring="neg_mean_squared_error", refit=False)
    kernel.fit(x[:ROWS_TO_CHOOSE], z[:ROWS_TO_CHOOSE])
    straight = -cross_val_score(
        LinearRegression(), x[:ROWS_TO_CHOOSE], z[:ROWS_TO_CHOOSE], cv=3, scoring="neg_mean_squared_error"
    ).mean()
    if -kernel.best_score_ < straight:
        curve = KernelRidge(kernel="rbf", **kernel.best_params_).fit(x[:ROWS_FOR_KERNELS], z[:ROWS_FOR_KERNELS])
        linear = curve.predict(plane.transform(test.x))
    return align(linear, test.truth, test.truth_groups, test.truth_groups).r2


def by_ica(train: Dataset, test: Dataset, told: dict) -> float:
    """Picard-O of as many principal components as there are true latents, in groups by the same function."""
    from partita.structure._linear_groups import ends_of_ica
    from partita.structure._principal import Principal

    sizes = told["groups"] if told["groups"] != "auto" else None
    principal = Principal.of(train.x.astype(float), train.truth.shape[1])
    end = ends_of_ica(principal, principal.white(train.x.astype(float)), sizes, 0)[0]
    return align(principal.white(test.x.astype(float)) @ end.rotation, test.truth, end.groups, test.truth_groups).r2


def fitted(job: tuple[str, int, dict]) -> dict:
    import torch

    import partita as pt
    from worlds import FAMILIES, draw

    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    family, seed, keywords = job
    world = draw(FAMILIES[family], seed)
    train, test = world.rows(0), world.rows(1, TEST_ROWS)
    began = time.process_time()
    model = pt.Disentangler(**world.told, **keywords).fit(train.x)
    took = time.process_time() - began
    r2 = align(model.transform(test.x), test.truth, model.groups_, test.truth_groups).r2
    top = ceiling(train, test, FAMILIES[family].condition is not None)
    ica = by_ica(train, test, world.told)
    return {
        "family": family, "seed": seed, "rows": len(train.x), "features": train.x.shape[1],
        "sizes": list(world.options["groups"]), "shapes": list(world.options["shapes"]),
        "found": [len(group) for group in model.groups_], "r2": round(r2, 4), "ceiling": round(top, 4),
        "ica": round(ica, 4), "network": ["linear", "nearly_linear"][model.candidate_], "seconds": round(took, 2),
    }  # fmt: skip


def wilson(k: int, n: int) -> str:
    z, p = 1.96, k / n
    middle, half = p + z * z / (2 * n), z * np.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    low, high = (middle - half) / (1 + z * z / n), (middle + half) / (1 + z * z / n)
    return f"{100 * low:.0f} to {100 * high:.0f} %"


def kept_rows(work: Callable[[tuple], dict], jobs: list[tuple], processes: int, path: Path | None) -> list[dict]:
    """The rows of jobs (family, seed, ...): those that the file has, and the others as they come, which it keeps."""
    wanted, rows = {job[:2] for job in jobs}, []
    if path is not None and path.exists():
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        rows = [row for row in rows if (row["family"], row["seed"]) in wanted]
    known = {(row["family"], row["seed"]) for row in rows}
    with ProcessPoolExecutor(processes, mp_context=multiprocessing.get_context("spawn")) as pool:
        for each in as_completed([pool.submit(work, job) for job in jobs if job[:2] not in known]):
            rows.append(each.result())
            if path is not None:
                with path.open("a") as file:
                    file.write(json.dumps(rows[-1]) + "\n")
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("families")
    parser.add_argument("--seeds", default="0:20")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--device", default="cpu")
    parser.add_argument(
        "--rows", type=Path, help="keep every world's row here, a JSON line each; what it has is not done again"
    )
    parser.add_argument("--record", action="store_true", help="keep range, commit and result in worlds.json")
    asked = parser.parse_args()
    low, high = map(int, asked.seeds.split(":"))
    jobs = [
        (family, seed, {"device": asked.device}) for seed in range(low, high) for family in asked.families.split(",")
    ]
    rows = kept_rows(fitted, jobs, asked.processes, asked.rows)
    rows.sort(key=lambda row: row["seed"])
    print("| family | solved | 95 % interval | ICA solves | mean R2, ceiling | below ICA by > .01 | CPU s, median |")
    print("|---|---|---|---|---|---|---|")
    results = []
    for family in asked.families.split(","):
        own = [row for row in rows if row["family"] == family]
        solved = [row["r2"] > row["ceiling"] - WITHIN for row in own]
        ica = sum(row["ica"] > row["ceiling"] - WITHIN for row in own)
        below = sum(row["r2"] < row["ica"] - 0.01 for row in own)
        means = [np.mean([row[name] for row in own]) for name in ("r2", "ceiling")]
        print(
            f"| {family} | {sum(solved)} of {len(own)} | {wilson(sum(solved), len(own))} | {ica} | {means[0]:.3f}, "
            f"{means[1]:.3f} | {below} | {np.median([row['seconds'] for row in own]):.1f} |"
        )
        results.append({"family": family, "solved": sum(solved), "worlds": len(own), "ica": ica})
    for row in rows:
        if row["r2"] <= row["ceiling"] - WITHIN:
            print(row)
    if asked.record:
        commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
        told = json.loads(RECORD.read_text()) if RECORD.exists() else []
        told.append({"date": str(date.today()), "commit": commit, "seeds": [low, high], "results": results})
        RECORD.write_text(json.dumps(told, indent=1) + "\n")


if __name__ == "__main__":
    main()
