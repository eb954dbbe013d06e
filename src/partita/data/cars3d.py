"""Cars3D: 183 car models seen from 24 directions at 4 heights (Reed, Zhang, Zhang, Lee 2015)."""

import io
import tarfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path, PurePosixPath

import numpy as np

from partita.data._card import Card, RemoteFile
from partita.data._fetch import advice, found, obtain, places
from partita.data._mat5 import read_mat5
from partita.data._memory import check_fits
from partita.data._npy import read_npz
from partita.data._reading import reading
from partita.data._resize import area_resize
from partita.data.dataset import Dataset
from partita.data.factors import coarser

ARCHIVE = RemoteFile(
    "nips2015-analogy-data.tar.gz",
    ("http://www.scottreed.info/files/nips2015-analogy-data.tar.gz",),
    "md5:4e866a7919c1beedf53964e6f7a23686",
)
PREPARED = "cars3d_64x64.npz"
CARD = Card(
    summary="17,568 colour images 64 x 64 of cars: elevation, azimuth, which car",
    size=17_568,
    shape=(3, 64, 64),
    factor_names=("elevation", "azimuth", "object_type"),
    factor_sizes=(4, 24, 183),
    licence="none stated: for research, do not pass on",
    citation="Reed, Zhang, Zhang, Lee: Deep Visual Analogy-Making, NIPS 2015; models: Fidler, Dickinson, Urtasun 2012",
    folder="cars3d",
    files=(ARCHIVE,),
    alternatives=(PREPARED, "original", "data/cars", "cars", "car_001_mesh.mat"),
    obtain=f"Also read: a folder of the 183 car_NNN_mesh.mat, or a prepared {PREPARED} (images, 64 x 64 x 3).",
)
MODELS = 183
STORED = (128, 128, 3, 24, 4)  # row, column, colour, azimuth, elevation
LARGEST_MODEL = 64 * 2**20  # bytes of one .mat; the real ones have less than one megabyte


def cars3d(*, every: Sequence[int] = (1, 1, 1)) -> Dataset:
    """All 17,568 images, or every n-th class of each factor; originals are halved to 64 x 64 by the 2 x 2 area mean.

    Read from a prepared npz, the folder of original .mat files, or the official archive, whichever is found first.
    """
    grid, rows = coarser(CARD.factor_names, CARD.factor_sizes, every)
    return Dataset(
        name="cars3d",
        x=np.ascontiguousarray(_images()[rows]),
        x_scale=1 / 255,
        factors=grid.all_classes(),
        factor_names=grid.names,
        factor_sizes=grid.sizes,
        description={"name": "cars3d", "options": {"every": [int(step) for step in every]}},
    )


def _images() -> np.ndarray:
    prepared = found(CARD.folder, PREPARED)
    if prepared is not None:
        return _prepared(prepared)
    folders = [place / inner for place in places(CARD.folder) for inner in ("", "original", "data/cars", "cars")]
    folder = next((place for place in folders if any(place.glob("car_*_mesh.mat"))), None)
    if folder is not None:
        return stacked(_from_folder(folder), folder)
    archive = obtain(CARD, ARCHIVE)
    return stacked(_from_archive(archive), archive)


def _prepared(path: Path) -> np.ndarray:
    with reading(path):
        images = read_npz(path, ["images"])["images"]
        if images.dtype != np.uint8 or images.shape != (CARD.size, 64, 64, 3):
            raise ValueError(f"expected uint8 images ({CARD.size}, 64, 64, 3), found {images.dtype} {images.shape}")
        return np.moveaxis(images, 3, 1)


Model = tuple[str, Callable[[], bytes]]


def _from_folder(folder: Path) -> Iterator[Model]:
    paths = sorted(folder.glob("car_*_mesh.mat"))
    listed = folder / "list.txt"
    expected = (
        sorted(f"{PurePosixPath(line).stem}.mat" for line in listed.read_text().split()) if listed.exists() else []
    )
    missing = [name for name in expected if not (folder / name).exists()]
    if missing or len(paths) != MODELS:
        named = f": {', '.join(missing[:12])}{', ...' if len(missing) > 12 else ''}" if missing else ""
        raise ValueError(
            f"{folder}: {len(paths)} of {MODELS} car_NNN_mesh.mat files are here, missing{named or ' some'}"
        )
    for path in paths:
        if path.stat().st_size > LARGEST_MODEL:
            raise ValueError(f"{path}: {path.stat().st_size:,} bytes is too large for one of the models")
        yield path.name, path.read_bytes


def _from_archive(path: Path) -> Iterator[Model]:
    """The models inside the official archive, read in place: nothing is unpacked onto the disk."""
    with reading(path), tarfile.open(path) as archive:
        cars: dict[str, bytes] = {}
        for member in archive:
            name = PurePosixPath(member.name)
            if not (member.isfile() and name.parent.name == "cars" and name.match("car_*_mesh.mat")):
                continue
            if member.size > LARGEST_MODEL:
                raise ValueError(f"{member.name} claims {member.size:,} bytes")
            check_fits(member.size, member.name)
            stream = archive.extractfile(member)
            assert stream is not None
            cars[name.name] = stream.read()
        if len(cars) != MODELS:
            raise ValueError(
                f"{len(cars)} of {MODELS} data/cars/car_NNN_mesh.mat are in the archive. {advice(CARD, ARCHIVE)}"
            )
        yield from ((name, lambda content=content: content) for name, content in sorted(cars.items()))


def stacked(models: Iterator[Model], path: Path) -> np.ndarray:
    """Images (elevation, azimuth, object) in grid order, from the models in the order of their names."""
    images = np.empty((4, 24, MODELS, 3, 64, 64), dtype=np.uint8)
    for number, (name, content) in enumerate(models):
        with reading(path / name if path.is_dir() else path):
            views = read_model(content())
            halved = area_resize(views.reshape(-1, 3, 128, 128), 64, 64)
            images[:, :, number] = halved.reshape(4, 24, 3, 64, 64)
    return images.reshape(-1, 3, 64, 64)


def read_model(content: bytes) -> np.ndarray:
    """Views (elevation, azimuth, colour, row, column) of one .mat file."""
    views = read_mat5(io.BytesIO(content)).get("im")
    if views is None or views.shape != STORED or views.dtype != np.uint8:
        raise ValueError(f"expected an array im, uint8 {STORED}, found {'none' if views is None else views.shape}")
    return views.transpose(4, 3, 2, 0, 1)
