"""`.npy` and `.npz`: arrays of NumPy, large ones left on disk; sparse ones are made whole."""

from collections.abc import Mapping, Sequence
from math import prod
from pathlib import Path

import numpy as np

from partita.data._card import FileCard
from partita.data._movies import check_samples
from partita.data._npy import Header, npz_keys, read_npy, read_npz
from partita.data._reading import reading
from partita.data._shards import npy_on_disk, rows_of
from partita.data._sparse import SparseTable
from partita.data.arrays import (
    FACTOR_KEYS,
    LABEL_KEYS,
    bytes_needed,
    bytes_of_columns,
    columns_of,
    described,
    from_array,
    observation_key,
)
from partita.data.dataset import Dataset
from partita.data.rows import DiskRows, streams

NPY_CARD = FileCard("NumPy array", (".npy",), "a row each; large files are read from disk as needed", "numpy.save")
NPZ_CARD = FileCard(
    name="NumPy archive",
    files=(".npz",),
    becomes="a row each of the one table, dense or sparse (scipy), with factors, labels and columns where it has them",
    written_by="numpy.savez, scipy.sparse.save_npz",
)
Arrays = Mapping[str, tuple[np.dtype, tuple[int, ...]]]
SPARSE = ("data", "indices", "indptr", "shape")


def load_npy(
    path: Path,
    *,
    samples: str | None = None,
    layout: str | None = None,
    scale: float | None = None,
    stream: bool | None = None,
) -> Dataset:
    """Observations from a `.npy` file; `stream=True` leaves them on disk, as by default where they would take more
    than 40 % of the free memory."""
    check_samples(samples)
    options = {"samples": samples, "layout": layout, "scale": scale}
    found = None if samples == "pixels" else npy_on_disk(path)
    if found is not None and len(found.shape) > 1 and streams(4 * prod(found.shape), stream):
        with reading(path):
            rows = rows_of([found], layout)
    else:
        rows = read_npy(path, lambda header: bytes_needed(header, samples, layout))
    return from_array(
        rows, samples=samples, layout=layout, name=path.stem, scale=scale, description=described(path, options)
    )


def load_npz(
    path: Path,
    *,
    key: str | None = None,
    factors: Sequence[str] | str | None = None,
    labels: Sequence[str] | str | None = None,
    samples: str | None = None,
    layout: str | None = None,
    scale: float | None = None,
) -> Dataset:
    """Observations from a `.npz` file, with factors and labels where it has them; the options choose arrays by key.

    A sparse table is one of the arrays data, indices, indptr and shape, as scipy writes it. Arrays with a number or a
    word for each row are kept as columns.
    """
    check_samples(samples)
    plain = {name: (dtype, shape) for name, (dtype, shape) in npz_keys(path).items() if not dtype.hasobject}
    table = _sparse_table(path, plain) if key is None and set(SPARSE) <= set(plain) else None
    if table is None:
        key = key or observation_key({name: shape for name, (_, shape) in plain.items()}, path)
    parts = [key] if key is not None else [*SPARSE, "format"]
    factors = factors or next((name for name in FACTOR_KEYS if name in plain and name not in parts), None)
    labels = labels or next((name for name in LABEL_KEYS if name in plain and name not in parts), None)
    factor_keys, label_keys = ([each] if isinstance(each, str) else list(each or ()) for each in (factors, labels))
    extra = [name for name in ("factor_names", "factor_sizes") if factors and name in plain]
    seen = plain[key][1] if key in plain else () if table is None else table.shape
    columns, names = _beside({name: of for name, of in plain.items() if name not in (*parts, *extra)}, seen)

    def needs(name: str, header: Header) -> int:
        return bytes_needed(header, samples, layout) if name == key else bytes_of_columns(header)

    wanted = [*(parts if table is None else ()), *factor_keys, *label_keys, *extra, *columns, *names]
    arrays = read_npz(path, sorted(set(wanted), key=wanted.index), needs)
    options = {"key": key, "factors": factors, "labels": labels, "samples": samples, "layout": layout, "scale": scale}
    return from_array(
        arrays[parts[0]] if table is None else _made_whole(table, path),
        factors=columns_of(factor_keys, lambda name: _classes(arrays[name])),
        factor_names=_factor_names(arrays, factor_keys),
        factor_sizes=[int(size) for size in arrays.get("factor_sizes", ())],
        labels=columns_of(label_keys, arrays.__getitem__),
        columns={name: _column(arrays[name]) for name in columns},
        feature_names=[str(name) for each in names for name in arrays[each]] if samples != "pixels" else (),
        samples=samples,
        layout=layout,
        name=path.stem,
        scale=scale,
        description=described(path, options),
    )


def _beside(plain: Arrays, seen: tuple[int, ...]) -> tuple[list[str], list[str]]:
    """Which arrays have a number or word for each row, and which one, if any, has a word for each feature."""
    columns = [name for name, (dtype, shape) in plain.items() if shape == seen[:1] and dtype.kind in "biufU"]
    words = [name for name, (dtype, shape) in plain.items() if shape == seen[1:] and dtype.kind == "U"]
    return columns, words[:1] if len(seen) == 2 and seen[0] != seen[1] else []


def _made_whole(table: SparseTable, path: Path) -> DiskRows | np.ndarray:
    with reading(path):
        return table.as_observations(path, None)


def _sparse_table(path: Path, plain: Arrays) -> SparseTable:
    arrays = read_npz(path, [*SPARSE, *(["format"] if "format" in plain else [])], lambda _, header: 3 * header.nbytes)
    shape, kind = arrays["shape"], arrays.get("format", np.array("csr"))
    kind = kind.item().decode() if kind.dtype.kind == "S" else str(kind)
    with reading(path):
        if shape.shape != (2,) or shape.dtype.kind not in "iu" or kind not in ("csr", "csc"):
            raise ValueError(f"a sparse table (rows, features), csr or csc, was expected, not {kind} {shape.tolist()}")
        size = (int(shape[0]), int(shape[1]))
        return SparseTable(lambda: (arrays["data"], arrays["indices"]), arrays["indptr"], size, kind == "csr")


def _factor_names(arrays: Mapping[str, np.ndarray], keys: Sequence[str]) -> list[str]:
    if "factor_names" in arrays:
        return [str(name) for name in arrays["factor_names"]]
    return list(keys) if keys and all(arrays[key].ndim == 1 for key in keys) and keys[0] not in FACTOR_KEYS else []


def _classes(values: np.ndarray) -> np.ndarray:
    """Words as classes, in the order of the alphabet."""
    return np.unique(values, return_inverse=True)[1] if values.dtype.kind == "U" else values


def _column(values: np.ndarray) -> np.ndarray:
    return values.astype(object) if values.dtype.kind == "U" else values
