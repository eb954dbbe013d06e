"""SmallNORB: 50 toys from 9 heights, 18 directions, under 6 lights (LeCun, Huang, Bottou 2004)."""

import gzip
from pathlib import Path
from typing import IO, cast

import numpy as np

from partita.data._card import Card, RemoteFile
from partita.data._fetch import obtain
from partita.data._memory import check_fits
from partita.data._npy import exactly
from partita.data._reading import existing_file, reading
from partita.data._resize import area_resize
from partita.data.dataset import Dataset

SERVER = "https://cs.nyu.edu/~ylclab/data/norb-v1.0-small/"
PARTS = {
    "training": "smallnorb-5x46789x9x18x6x2x96x96-training",
    "testing": "smallnorb-5x01235x9x18x6x2x96x96-testing",
}
PUBLISHED = {  # of the .gz: bytes, sha256
    "training-dat": (131896188, "5ffd6272a07d32695ee1082a26a41a93a37aab8c28da047f8c34ed348d214873"),
    "training-cat": (348, "2784e542c1922060691090952b6cd6278879a216c90f81476f0f00256d42cdaa"),
    "training-info": (71052, "de7eb932ebe7a4ee16217fead60660d0eb3d23632c2f4d1c51f88c501c17bf32"),
    "testing-dat": (130799817, "cf7104eed3e51174d2f65b66d1e5878b9da233b886f161b0d88f4510ba2c7474"),
    "testing-cat": (347, "ecaf6d5bb8c3bc5eab9cf0258f6d2198dd474e016e374836fc097f2e5ff509ff"),
    "testing-info": (10428, "16adf314226327ee006d1a44db8cfef52773c06c829951d5653a9f6f310248a2"),
}


def _file(part: str, kind: str) -> RemoteFile:
    size, sha256 = PUBLISHED[f"{part}-{kind}"]
    name = f"{PARTS[part]}-{kind}.mat.gz"
    return RemoteFile(name, (SERVER + name,), f"sha256:{sha256}", size)


CARD = Card(
    summary="48,600 grey images of 50 toys: category, elevation, azimuth, light",
    size=48_600,
    shape=(1, 64, 64),
    factor_names=("category", "elevation", "azimuth", "lighting"),
    factor_sizes=(5, 9, 18, 6),
    order="as published, training part first; every combination of the factors ten times, once a toy (instance)",
    licence="research use, not for sale; no open licence known",
    citation="LeCun, Huang, Bottou: Learning Methods for Generic Object Recognition with Invariance to Pose and "
    "Lighting, CVPR 2004",
    folder="smallnorb",
    files=tuple(_file(part, kind) for part in PARTS for kind in ("dat", "cat", "info")),
    obtain="The files may be gzipped or plain.",
)
TYPES = {
    0x1E3D4C55: np.dtype("u1"),
    0x1E3D4C54: np.dtype("<i4"),
    0x1E3D4C56: np.dtype("<i2"),
    0x1E3D4C51: np.dtype("<f4"),
    0x1E3D4C53: np.dtype("<f8"),
}


def smallnorb(*, part: str = "all", size: int = 64, instance: bool = False) -> Dataset:
    """Left images of both parts (or `part="training"`, `"testing"`), brought to `size` by area means.

    `instance=True` adds which of the ten toys of the category it is as a fifth factor; otherwise it is a nuisance.
    """
    if part not in ("all", *PARTS):
        raise ValueError(f"smallnorb: part must be all, training or testing, got {part!r}")
    if not 8 <= size <= 96:
        raise ValueError(f"smallnorb: size must be 8 to 96 pixels, got {size!r}")
    parts = [_part(name, size) for name in (PARTS if part == "all" else (part,))]
    factors = np.concatenate([factors for _, factors in parts])
    count = 5 if instance else 4
    return Dataset(
        name="smallnorb",
        x=np.concatenate([images for images, _ in parts]),
        x_scale=1 / 255,
        factors=factors[:, :count],
        factor_names=(*CARD.factor_names, "instance")[:count],
        factor_sizes=(*CARD.factor_sizes, 10)[:count],
        description={"name": "smallnorb", "options": {"part": part, "size": size, "instance": instance}},
    )


def _part(part: str, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Left images and classes (category, elevation, azimuth, lighting, instance) of one part."""
    dat, cat, info = (obtain(CARD, _file(part, kind)) for kind in ("dat", "cat", "info"))
    images, category, details = read_matrix(dat), read_matrix(cat), read_matrix(info)
    n = len(images)
    for path, found, shape in ((dat, images, (n, 2, 96, 96)), (cat, category, (n,)), (info, details, (n, 4))):
        if found.shape != shape:
            raise ValueError(f"{path}: expected shape {shape}, found {found.shape}")
    toy, elevation, azimuth, light = details.T
    factors = np.stack([category, elevation, azimuth // 2, light, toy], 1).astype(np.int64)
    return area_resize(np.ascontiguousarray(images[:, :1]), size, size), factors


def read_matrix(path: Path) -> np.ndarray:
    """A matrix in NORB's binary format, gzipped or plain: type, dimensions, sizes, numbers, all little-endian."""
    path = existing_file(path)
    with reading(path), gzip.open(path) if path.suffix == ".gz" else path.open("rb") as stream:
        magic, dimensions = np.frombuffer(stream.read(8), "<i4", 2)
        if int(magic) not in TYPES or not 0 <= dimensions <= 8:
            raise ValueError(f"not a NORB matrix: it starts with {int(magic):#x}, {dimensions} dimensions")
        dtype = TYPES[int(magic)]
        stored = max(3, int(dimensions))  # at least three sizes are written, the surplus ones are 1
        shape = tuple(int(extent) for extent in np.frombuffer(stream.read(4 * stored), "<i4", stored))
        shape = shape[: int(dimensions)]
        if any(extent < 0 for extent in shape):
            raise ValueError(f"not a NORB matrix: sizes {shape}")
        expected = int(np.prod(shape, dtype=object)) * dtype.itemsize
        check_fits(2 * expected, f"the matrix, {dtype} {shape},")  # and the half of it that is kept, resized
        content = exactly(cast(IO[bytes], stream), expected, "the matrix")
        if stream.read(1):
            raise ValueError(f"should hold {expected:,} bytes for {dtype} {shape}, has more")
        return np.frombuffer(content, dtype).reshape(shape)
