"""Own data by default settings: does anything diverge, how long does it take, and is the bound better than PCA's?

    PARTITA_DATA=../shared/data python benchmarks/bench_own_data.py [--steps 5000] [--only wine,glove] [--rows 20000]
                                                                    [--reasons]

Every row is `Disentangler().fit(x)` of four fifths of the rows, with no setting but the number of steps: how long it
took (CPU seconds are the process's own, whatever else the machine does), and after how many steps; its bound on the
other fifth (contiguous stretches of recordings) in nats of x, the importance-weighted one with 64 draws, and the
verdict of `diagnose`. Beside it stands the bound of probabilistic PCA with as many latents, which is exact; not where
one is a probability (counts, booleans, pixels) and the other a density. Files that are not there are left out.
"""

import argparse
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

import partita as pt

FOLDER = Path(os.environ.get("PARTITA_DATA", "../shared/data"))
BLOCKS = 10


def sklearn(name: str, images: tuple[int, ...] | None = None) -> Callable[[], np.ndarray]:
    def made() -> np.ndarray:
        import sklearn.datasets

        x = getattr(sklearn.datasets, f"load_{name}")().data
        return x if images is None else x.reshape(len(x), *images)

    return made


def movie(path: str, flat: bool) -> Callable[[], np.ndarray]:
    """Frames as they were recorded, flat or as images of one channel."""

    def made() -> np.ndarray:
        with np.load(FOLDER / path) as file:
            key = max(file.files, key=lambda name: file[name].size)
            frames = file[key]
        frames = np.moveaxis(frames, -1, 0) if frames.shape[-1] > frames.shape[0] else frames
        return frames.reshape(len(frames), -1) if flat else frames[:, None]

    return made


def array(path: str, key: str) -> Callable[[], np.ndarray]:
    def made() -> np.ndarray:
        with np.load(FOLDER / path) as file:
            return file[key].astype(np.float32) if file[key].dtype == np.float16 else file[key]

    return made


def cells() -> np.ndarray:
    import scipy.sparse

    with np.load(FOLDER / "covid_cells/covid_cells_1000genes.npz") as file:
        parts = tuple(file[name] for name in ("data", "indices", "indptr"))
        return scipy.sparse.csr_matrix(parts, tuple(file["shape"])).toarray()


def named(name: str, flat: bool) -> Callable[[], np.ndarray]:
    def made() -> np.ndarray:
        x = np.asarray(pt.data.load(name).x)
        return x.reshape(len(x), -1) if flat else x

    return made


MOUSE, FERRET = "mouse_2p/mouse_2p_64x64x500.npz", "ferret_vsd/ferret_vsd_25x25x977.npz"
# Each with how it is made, and whether neighbouring rows resemble each other.
SETS: dict[str, tuple[Callable[[], np.ndarray], bool]] = {
    "wine": (sklearn("wine"), False),
    "breast_cancer": (sklearn("breast_cancer"), False),
    "diabetes": (sklearn("diabetes"), False),
    "digits": (sklearn("digits"), False),
    "digits_images": (sklearn("digits", (1, 8, 8)), False),
    "head_direction": (array("head_direction/head_direction.npz", "counts"), True),
    "glove": (array("glove/glove_10k.npz", "vectors"), False),
    "ferret": (movie(FERRET, flat=True), True),
    "ferret_images": (movie(FERRET, flat=False), True),
    "mouse_2p": (movie(MOUSE, flat=True), True),
    "mouse_2p_images": (movie(MOUSE, flat=False), True),
    "covid_cells": (cells, False),
    "mnist": (named("mnist", flat=True), False),
    "mnist_images": (named("mnist", flat=False), False),
    "cars3d": (named("cars3d", flat=True), False),
    "cars3d_images": (named("cars3d", flat=False), False),
}


def split(n: int, recording: bool) -> tuple[np.ndarray, np.ndarray]:
    """Rows to fit and rows to judge by, four to one."""
    rng = np.random.default_rng(0)
    pieces = np.array_split(np.arange(n), BLOCKS) if recording else np.array_split(rng.permutation(n), BLOCKS)
    order = rng.permutation(BLOCKS)
    return tuple(np.sort(np.concatenate([pieces[i] for i in part])) for part in (order[2:], order[:2]))


def measured(x: np.ndarray, recording: bool, steps: int, reasons: bool) -> Iterator[str]:
    fit, judge = split(len(x), recording)
    yield f"{x.shape!s:>20} {x.dtype!s:8}"
    started, worked = time.perf_counter(), time.process_time()
    model = pt.Disentangler(steps=steps).fit(x[fit])
    taken, worked = time.perf_counter() - started, time.process_time() - worked
    kind = str(model.likelihood_).partition(":")[0]
    yield f"{kind:17} {model.seen_.scale.name:8} {model.network_ if isinstance(model.network_, str) else 'own':13}"
    few = judge[:: max(1, len(judge) // 500)]
    yield f"{taken:7.1f} s {worked:7.1f} {model.history_['step'][-1]:5d}"
    yield f"{model.score(x[judge]):12.2f} {model.score(x[few], draws=64):12.2f}"
    if kind in ("gaussian", "student"):
        pca = pt.Disentangler("pca", latents=len(np.concatenate(model.groups_)), scale=model.seen_.scale.name).fit(
            x[fit]
        )
        yield f"{pca.score(x[judge]):12.2f}"
    diagnosis = model.diagnose(x[judge], time=recording)
    yield f"  {diagnosis.verdict}" + "".join(f"\n    {reason}" for reason in diagnosis.reasons if reasons)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=pt.Disentangler().steps)
    parser.add_argument("--only", default=",".join(SETS))
    parser.add_argument("--rows", type=int, default=20000, help="at most, drawn at random, of large sets")
    parser.add_argument("--reasons", action="store_true", help="of the verdict, too")
    asked = parser.parse_args()
    print(f"{'data':16}{'shape':>20} type     likelihood        scale    network          time     CPU steps", end="")
    print("     held out   64 draws          PCA  verdict")
    for name in asked.only.split(","):
        make, recording = SETS[name]
        print(f"{name:16}", end="", flush=True)
        try:
            x = make()
        except OSError as error:
            print(f"not there: {str(error)[:60]}")
            continue
        rows = np.sort(np.random.default_rng(0).permutation(len(x))[: asked.rows])
        try:
            for words in measured(x if len(x) <= asked.rows else x[rows], recording, asked.steps, asked.reasons):
                print(words, end=" ", flush=True)
            print()
        except ValueError as error:
            print(f"FAILED: {error}")


if __name__ == "__main__":
    main()
