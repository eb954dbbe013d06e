"""Training one CPU ensemble from disk against the same ensemble from memory, in one process.

Four beta-TCVAEs with convolutions on 64 x 64 colour images, from an uncompressed HDF5 file, a compressed one and a
folder of PNG files; and, the hardest case since its steps are the shortest, linear beta-TCVAEs on vectors of 200
numbers. The first pass over packed sources unpacks them, later ones read what was unpacked: both ratios are given.
Memory and disk take turns, and the ratio is of the best of each.
    python benchmarks/bench_streaming.py [--images 4608] [--models 4] [--seconds 15]
"""

import argparse
import os
import tempfile
import time
from pathlib import Path

import h5py
import numpy as np
import torch
from PIL import Image

from partita.data import load
from partita.recipes import RECIPES
from partita.training import Ensemble

BATCH, STRIDE = 64, 5


def write_sources(folder: Path, count: int) -> dict[str, Path]:
    """dSprites in three noisy colours, three times over."""
    rng = np.random.default_rng(0)
    sprites = load("dsprites", every=(1, 1, 4, 4, 4)).x[:, 0]
    images = np.repeat(sprites[rng.choice(len(sprites), count)][..., None] * np.uint8(200), 3, -1)
    images += rng.integers(0, 50, images.shape, np.uint8)
    sources = {"HDF5": folder / "plain.h5", "HDF5, gzip": folder / "packed.h5", "folder of PNG": folder / "images"}
    with h5py.File(folder / "plain.h5", "w") as file:
        file["images"] = images
    with h5py.File(folder / "packed.h5", "w") as file:
        file.create_dataset("images", data=images, chunks=(32, 64, 64, 3), compression="gzip")
    (folder / "images").mkdir()
    for number, image in enumerate(images):
        Image.fromarray(image).save(folder / f"images/{number:06d}.png", compress_level=1)
    with h5py.File(folder / "vectors.h5", "w") as file:
        file["x"] = rng.standard_normal((100_000, 200), np.float32)
    return sources | {"HDF5 of vectors": folder / "vectors.h5"}


def ensemble_of(models: int, dataset) -> Ensemble:
    kind = ("burgess", "bernoulli") if len(dataset.shape) == 3 else ("linear", "gaussian")
    recipe = RECIPES["beta_tcvae"](latents=10, shape=dataset.shape, network=kind[0], likelihood=kind[1])
    settings = {"x_scale": dataset.x_scale, "batch_size": BATCH, "device": torch.device("cpu")}
    return Ensemble([recipe] * models, list(range(models)), dataset.x, **settings)


def rate(ensemble: Ensemble, seconds: float) -> float:
    """Steps a second of the whole ensemble."""
    start, first = time.perf_counter(), ensemble.step
    while time.perf_counter() - start < seconds:
        ensemble.advance(STRIDE)
    return (ensemble.step - first) / (time.perf_counter() - start)


def compare(name: str, path: Path, models: int, seconds: float) -> None:
    held, streamed = (ensemble_of(models, load(path, stream=stream)) for stream in (False, True))
    rate(held, 2)
    cold = rate(streamed, seconds / 3)
    pairs = [(rate(held, seconds / 3), rate(streamed, seconds / 3)) for _ in range(3)]
    memory, disk = (max(column) for column in zip(*pairs))
    same = all(torch.equal(a, b) for a, b in zip(advanced(held, streamed), advanced(streamed, held)))
    print(
        f"{name:<16}{memory:>10.2f}{disk:>10.2f}{disk / memory:>8.2f}{cold / memory:>13.2f}   {'yes' if same else 'NO'}"
    )


def advanced(ensemble: Ensemble, other: Ensemble) -> list[torch.Tensor]:
    """The parameters once the ensemble has gone as far as the other."""
    if ensemble.step < other.step:
        ensemble.advance(other.step - ensemble.step)
    return list(ensemble.parameters.values())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, default=4608)
    parser.add_argument("--models", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=15.0)
    parser.add_argument("--source", default="", help="only sources whose name begins so")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CACHE_HOME"] = folder  # what is unpacked goes there too, so that the first pass is a first pass
        sources = write_sources(Path(folder), arguments.images)
        print(
            f"{arguments.models} beta-TCVAEs, {arguments.images} images 3 x 64 x 64 or 100,000 vectors, M={BATCH}, ",
            end="",
        )
        print(f"{torch.get_num_threads()} threads, torch {torch.__version__}; steps a second")
        print(f"{'source':<16}{'memory':>10}{'disk':>10}{'ratio':>8}{'first pass':>13}   same weights")
        for name, path in sources.items():
            if name.startswith(arguments.source):
                compare(name, path, arguments.models, arguments.seconds)


if __name__ == "__main__":
    main()
