"""Every way in: a name of DATASETS or a path becomes a Dataset."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from partita.data import cars3d, celeba, dsprites, mnist, mpi3d, pdsprites, shapes3d, smallnorb, sprites, synthetic
from partita.data._card import Card
from partita.data._hdf5 import load_h5
from partita.data._images import load_folder, load_tiff
from partita.data._nearest import nearest
from partita.data._options import check_options, option_names
from partita.data._reading import reading
from partita.data._tables import load_csv, load_parquet
from partita.data.arrays import load_npy, load_npz
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

READERS: dict[str, Callable[..., Dataset]] = {
    ".npy": load_npy,
    ".npz": load_npz,
    ".csv": load_csv,
    ".parquet": load_parquet,
    ".h5": load_h5,
    ".hdf5": load_h5,
    ".tif": load_tiff,
    ".tiff": load_tiff,
}


def load(name_or_path: str | os.PathLike, **options: Any) -> Dataset:
    """The data set called so, or read from that file.

    Options are the keywords of the loader: `load("groups", seed=1)`, `load("table.csv", labels="age")`. Raises
    ValueError or OSError with a message that names the data set or file.

    Parameters
    ----------
    name_or_path : str or path
        A name of `DATASETS`, a file (.npz .npy .h5 .csv .parquet .tif), or a folder of images.
    **options
        Keywords of the loader; `info(name)["options"]` lists those of a named data set.

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
            f"there are {', '.join(DATASETS)}, or give a path to {' '.join(READERS)} or a folder of images"
        )
    reader = READERS.get(path.suffix.lower()) or (load_folder if path.is_dir() else None)
    if not os.path.lexists(path):
        raise OSError(f"{path}: no such file")
    if reader is None:
        raise ValueError(f"{path}: files of type {path.suffix or '(none)'!r} are not read; {' '.join(READERS)} are")
    with reading(path):
        return _call(reader, str(path), options, path)


def _call(loader: Callable[..., Dataset], name: str, options: dict[str, Any], *arguments: Any) -> Dataset:
    check_options(loader, name, options)
    return loader(*arguments, **options)


def _looks_like_path(given: str | os.PathLike, path: Path) -> bool:
    text = os.fspath(given)
    return bool(text) and (bool(path.suffix) or "/" in text or os.sep in text or os.path.lexists(path))
