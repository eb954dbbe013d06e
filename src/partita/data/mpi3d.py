"""MPI3D: a robot arm, in a toy rendering, a realistic rendering and for real (Gondal et al. 2019)."""

from collections.abc import Sequence
from math import prod

import numpy as np

from partita.data._card import Card, RemoteFile
from partita.data._fetch import obtain
from partita.data._memory import check_fits
from partita.data._npy import npz_keys, read_npz_rows
from partita.data._reading import reading
from partita.data.dataset import Dataset
from partita.data.factors import coarser

SERVERS = (
    "https://storage.googleapis.com/disentanglement_dataset/Final_Dataset/",
    "https://huggingface.co/datasets/waleedgondal/mpi3d/resolve/main/",
)
HASHES = {
    "toy": "55889cb7c7dfc655d6e0277beee88868",
    "realistic": "59a6225b88b635365f70c91b3e52f70f",
    "real": "0f33f609918fb5c97996692f91129802",
}
FILES = {
    variant: RemoteFile(
        f"mpi3d_{variant}.npz", tuple(f"{server}mpi3d_{variant}.npz" for server in SERVERS), f"md5:{md5}"
    )
    for variant, md5 in HASHES.items()
}
CARD = Card(
    summary="1,036,800 colour images 64 x 64 of a robot arm holding an object: toy, realistic, real",
    size=1_036_800,
    shape=(3, 64, 64),
    factor_names=("colour", "shape", "size", "camera_height", "background", "horizontal", "vertical"),
    factor_sizes=(6, 6, 2, 3, 3, 40, 40),
    licence="CC BY 4.0",
    citation="Gondal et al.: On the Transfer of Inductive Bias from Simulation to the Real World: a New "
    "Disentanglement Dataset, NeurIPS 2019",
    folder="mpi3d",
    files=tuple(FILES.values()),
    obtain="",
)


def mpi3d(*, variant: str = "toy", every: Sequence[int] = (1, 1, 1, 1, 1, 1, 1)) -> Dataset:
    """`variant` toy, realistic or real; all 1,036,800 images take 12.7 GB, `every=(1, 1, 1, 1, 1, 4, 4)` a sixteenth.

    A coarser grid is picked out while the file is read, so it needs only its own memory.
    """
    if variant not in FILES:
        raise ValueError(f"mpi3d: variant must be {', '.join(FILES)}, got {variant!r}")
    grid, rows = coarser(CARD.factor_names, CARD.factor_sizes, every)
    path = obtain(CARD, FILES[variant])
    with reading(path):
        dtype, shape = npz_keys(path).get("images", (np.dtype("V"), ()))
        if dtype != np.uint8 or len(shape) != 4 or shape[0] != CARD.size or shape[3] != 3:
            raise ValueError(f"expected uint8 images ({CARD.size}, 64, 64, 3), found {dtype} {shape}")
        needed = 2 * len(rows) * prod(shape[1:])  # as they are stored, and with the channels first
        check_fits(needed, f"a grid of {len(rows):,} images", "take a coarser grid, every=...")
        images = read_npz_rows(path, "images", rows)
    return Dataset(
        name="mpi3d",
        x=np.ascontiguousarray(np.moveaxis(images, 3, 1)),
        x_scale=1 / 255,
        factors=grid.all_classes(),
        factor_names=grid.names,
        factor_sizes=grid.sizes,
        description={"name": "mpi3d", "options": {"variant": variant, "every": [int(step) for step in every]}},
    )
