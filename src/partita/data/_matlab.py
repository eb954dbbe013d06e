"""`.mat` files of Matlab: arrays of numbers, in versions 4, 5 to 7, and 7.3, which is HDF5."""

from collections.abc import Mapping, Sequence
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from partita.data._card import FileCard
from partita.data._h5_frame import numbers
from partita.data._hdf5 import inner_item
from partita.data._mat5 import SMALLER, is_mat5, read_mat5
from partita.data._memory import check_fits
from partita.data._movies import check_samples
from partita.data._nearest import listed, nearest
from partita.data._reading import existing_file, reading
from partita.data._sparse import SparseTable
from partita.data.arrays import columns_of, described, from_array, observation_key
from partita.data.dataset import Dataset

CARD = FileCard(
    name="Matlab",
    files=(".mat",),
    becomes="a row each of a matrix, a frame each of (height, width, time); fields of structs by name, as in session.x",
    written_by="Matlab, Octave, scipy.io.savemat",
)
NUMBERS = {"double", "single", "logical", *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))}


def load_mat(
    path: Path,
    *,
    key: str | None = None,
    labels: Sequence[str] | str | None = None,
    axis: int | None = None,
    samples: str | None = None,
    layout: str | None = None,
    scale: float | None = None,
) -> Dataset:
    """The array `key` of a `.mat` file, "session.spikes" in a struct; `axis`, counted from 1 as in Matlab, is that of
    the observations: the first of a matrix, the last of movies (height, width, time) unless said. `labels` and other
    variables with one number an observation are kept."""
    check_samples(samples)
    path = existing_file(path)
    with reading(path):
        arrays = _arrays(path)
        key = key or observation_key(_shapes(arrays), path)
        if key not in arrays:
            raise ValueError(f"has no array of numbers {key!r}{nearest(key, arrays)}; it has {listed(arrays)}")
        x = _observations_first(arrays[key], axis, key)
        lists = {name: values.reshape(-1) for name, values in arrays.items() if name != key and values.size == len(x)}
        return from_array(
            x,
            labels=columns_of(labels, lambda name: _listed(name, lists, len(x))),
            columns={name: values for name, values in lists.items() if name.isidentifier() or "." in name},
            samples=samples,
            layout=layout,
            name=path.stem,
            scale=scale,
            description=described(
                path, {"key": key, "labels": labels, "axis": axis, "samples": samples, "layout": layout, "scale": scale}
            ),
        )


def _shapes(arrays: Mapping[str, np.ndarray]) -> dict[str, tuple[int, ...]]:
    """Every array of Matlab has two dimensions: those of one row or column are lists."""
    return {name: tuple(n for n in a.shape if n > 1) if min(a.shape) == 1 else a.shape for name, a in arrays.items()}


def _listed(name: str, lists: Mapping[str, np.ndarray], rows: int) -> np.ndarray:
    if name not in lists:
        raise ValueError(f"no array {name!r} with one number for each of {rows:,} rows; there are {listed(lists)}")
    return lists[name]


def _observations_first(array: np.ndarray, axis: int | None, key: str) -> np.ndarray:
    if array.ndim < 2 or 0 in array.shape:
        raise ValueError(f"{key!r} has shape {array.shape}; observations need at least two dimensions")
    if axis is None:
        axis = 1 if array.ndim == 2 else array.ndim
    if not 1 <= axis <= array.ndim:
        raise ValueError(f"axis must be 1 to {array.ndim} for {key!r} of shape {array.shape}, got {axis}")
    return np.moveaxis(array, axis - 1, 0)


def _arrays(path: Path) -> dict[str, np.ndarray]:
    """Arrays of numbers by name, whatever the version."""
    import h5py

    if h5py.is_hdf5(path):
        found = _of_hdf5(path)
    else:
        with path.open("rb") as file:
            found = read_mat5(file) if is_mat5(file) else _of_version_4(path)
    if not found:
        raise ValueError("has no array of real numbers")
    return found


def _of_version_4(path: Path) -> dict[str, np.ndarray]:
    from scipy.io import loadmat, whosmat

    shapes = [[max(0, int(n)) for n in shape] for _, shape, _ in whosmat(path, appendmat=False)]
    claimed = 16.0 * sum(map(prod, shapes))
    check_fits(claimed, "its content", SMALLER)
    content = loadmat(path, appendmat=False)
    return {name: a for name, a in content.items() if isinstance(a, np.ndarray) and a.dtype.kind in "biuf"}


def _of_hdf5(path: Path) -> dict[str, np.ndarray]:
    """Arrays of numbers, their axes in the order of Matlab; fields of structs are groups, sparse ones three arrays."""
    import h5py

    found: dict[str, np.ndarray] = {}
    places: list[str] = []
    with h5py.File(path, "r") as file:
        file.visititems(lambda name, item: places.append(name) if not name.startswith("#") else None)
        check_fits(4 * sum(_claimed(file, place) for place in places), "its content", SMALLER)
        for place in places:
            item = inner_item(file, place)
            name = place.replace("/", ".")
            if isinstance(item, h5py.Group) and "MATLAB_sparse" in item.attrs:
                found[name] = _sparse(file, place, int(np.asarray(item.attrs["MATLAB_sparse"])))
            elif isinstance(item, h5py.Dataset) and item.dtype.kind in "biuf" and not item.attrs.get("MATLAB_empty", 0):
                inside = "MATLAB_sparse" in item.parent.attrs
                if item.shape is not None and item.ndim >= 2 and not inside and _is_number(item):
                    found[name] = numbers(file, place).T
    return found


def _is_number(item: Any) -> bool:
    kind = item.attrs.get("MATLAB_class", b"double")
    return (kind.decode() if isinstance(kind, bytes) else str(kind)) in NUMBERS


def _claimed(file: Any, place: str) -> int:
    import h5py

    item = file.get(place)
    return item.nbytes if isinstance(item, h5py.Dataset) and item.shape is not None and item.dtype.kind in "biuf" else 0


def _sparse(file: Any, place: str, rows: int) -> np.ndarray:
    ends = numbers(file, f"{place}/jc")
    parts = [numbers(file, f"{place}/{name}") if f"{place}/{name}" in file else np.zeros(0) for name in ("data", "ir")]
    values, at = parts[0], parts[1].astype(np.int64)
    table = SparseTable(lambda: (values, at), ends, (rows, len(ends) - 1), by_rows=False)
    check_fits(8 * float(rows) * len(ends), f"{place!r} with its zeros", SMALLER)
    return table.in_memory.whole_rows(np.arange(rows))
