"""Every way in: a name of DATASETS or a path becomes a Dataset."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from partita.data import (
    _h5ad,
    _hdf5,
    _images,
    _matlab,
    _numpy_files,
    _nwb,
    _safetensors,
    _shards,
    _suite2p,
    _tables,
    _tenx,
    cars3d,
    celeba,
    dsprites,
    mnist,
    mpi3d,
    pdsprites,
    shapes3d,
    smallnorb,
    sprites,
    synthetic,
)
from partita.data._card import Card, FileCard
from partita.data._nearest import nearest
from partita.data._options import check_options, option_names
from partita.data._reading import reading
from partita.data.dataset import Dataset


@dataclass(frozen=True)
class Source:
    """A named data set: the function that makes it, whose keywords are its options, and what is known of it."""

    load: Callable[..., Dataset]
    card: Card

    @property
    def summary(self) -> str:
        return self.card.summary

    @property
    def options(self) -> tuple[str, ...]:
        return option_names(self.load)


DATASETS: dict[str, Source] = {
    "groups": Source(synthetic.groups, synthetic.GROUPS_CARD),
    "independent": Source(synthetic.independent, synthetic.INDEPENDENT_CARD),
    "pdsprites": Source(pdsprites.pdsprites, pdsprites.CARD),
    "dsprites": Source(dsprites.dsprites, dsprites.CARD),
    "cars3d": Source(cars3d.cars3d, cars3d.CARD),
    "smallnorb": Source(smallnorb.smallnorb, smallnorb.CARD),
    "shapes3d": Source(shapes3d.shapes3d, shapes3d.CARD),
    "mpi3d": Source(mpi3d.mpi3d, mpi3d.CARD),
    "mnist": Source(mnist.mnist, mnist.CARD),
    "celeba": Source(celeba.celeba, celeba.CARD),
    "sprites": Source(sprites.sprites, sprites.CARD),
}


@dataclass(frozen=True)
class Reader:
    """A kind of file: the function that reads it, whose keywords are its options, what is known of it, and, where names
    do not tell, how its content does."""

    load: Callable[..., Dataset]
    card: FileCard
    knows: Callable[[Path], bool] = lambda path: True

    @property
    def options(self) -> tuple[str, ...]:
        return option_names(self.load)


# Of those that a name allows, the first that knows the content reads it.
FORMATS: dict[str, Reader] = {
    "npy": Reader(_numpy_files.load_npy, _numpy_files.NPY_CARD),
    "npz": Reader(_numpy_files.load_npz, _numpy_files.NPZ_CARD),
    "csv": Reader(_tables.load_csv, _tables.CSV_CARD),
    "parquet": Reader(_tables.load_parquet, _tables.PARQUET_CARD),
    "10x": Reader(_tenx.load_10x, _tenx.CARD, _tenx.is_10x),
    "hdf5": Reader(_hdf5.load_h5, _hdf5.CARD),
    "h5ad": Reader(_h5ad.load_h5ad, _h5ad.CARD),
    "nwb": Reader(_nwb.load_nwb, _nwb.CARD),
    "mat": Reader(_matlab.load_mat, _matlab.CARD),
    "safetensors": Reader(_safetensors.load_safetensors, _safetensors.CARD),
    "tiff": Reader(_images.load_tiff, _images.TIFF_CARD),
    "suite2p": Reader(_suite2p.load_suite2p, _suite2p.CARD, lambda path: bool(_suite2p.planes_of(path))),
    "images": Reader(_images.load_folder, _images.FOLDER_CARD, _images.has_images),
    "npy shards": Reader(_shards.load_npy_shards, _shards.CARD, lambda path: bool(_shards.numbered(path, ".npy"))),
    "safetensors shards": Reader(_safetensors.load_safetensors, _safetensors.SHARDS_CARD),
}
SUFFIXES = tuple(dict.fromkeys(suffix for reader in FORMATS.values() for suffix in reader.card.files))


def load(name_or_path: str | os.PathLike, **options: Any) -> Dataset:
    """The data set called so, or read from that file.

    Options are the keywords of the loader: `load("groups", seed=1)`, `load("table.csv", labels="age")`. Raises
    ValueError or OSError with a message that names the data set or file.

    Parameters
    ----------
    name_or_path : str or path
        A name of `DATASETS`, a file (.npz .npy .h5 .csv .parquet .tif .h5ad .nwb .mat .safetensors), or a folder: of
        images, of suite2p, or of .npy or .safetensors shards.
    **options
        Keywords of the loader; `info(name)["options"]` lists those of a named data set, and of a kind of file
        (`info(".h5ad")`).

    Returns
    -------
    Dataset

    Examples
    --------
    >>> load("groups", size=100, seed=1)
    Dataset('groups', 100 x (20,) float32)
    >>> load("pdsprites").factor_names
    ('column', 'row', 'size')
    """
    if isinstance(name_or_path, str) and name_or_path in DATASETS:
        return _call(DATASETS[name_or_path].load, name_or_path, options)
    if not isinstance(name_or_path, str | os.PathLike):
        raise ValueError(f"expected the name of a data set or a path, got {type(name_or_path).__name__}")
    path = Path(name_or_path).expanduser()
    if not _looks_like_path(name_or_path, path):
        raise ValueError(
            f"unknown data set {str(name_or_path)!r}{nearest(str(name_or_path), DATASETS)}; "
            f"there are {', '.join(DATASETS)}, or give a path to {' '.join(SUFFIXES)} or a folder of images"
        )
    if not os.path.lexists(path):
        raise OSError(f"{path}: no such file")
    suffix = path.suffix.lower()
    named = [reader for reader in FORMATS.values() if suffix in reader.card.files]
    candidates = named or [reader for reader in FORMATS.values() if path.is_dir() and not reader.card.files]
    if not candidates:
        raise ValueError(f"{path}: files of type {suffix or '(none)'!r} are not read; {' '.join(SUFFIXES)} are")
    with reading(path):
        last = candidates.pop()
        reader = next((each for each in candidates if each.knows(path)), last)
        return _call(reader.load, str(path), options, path)


def _call(loader: Callable[..., Dataset], name: str, options: dict[str, Any], *arguments: Any) -> Dataset:
    check_options(loader, name, options)
    return loader(*arguments, **options)


def _looks_like_path(given: str | os.PathLike, path: Path) -> bool:
    text = os.fspath(given)
    return bool(text) and (bool(path.suffix) or "/" in text or os.sep in text or os.path.lexists(path))
