"""A data set: observations, and what is known of where they came from."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np

from partita.data.factors import FactorGrid

MEMORY_CHUNK = 1 << 24  # elements looked at in one go, so that a check never doubles the memory in use


@dataclass(frozen=True, eq=False)
class Dataset:
    """n observations `x`, and their factors of variation, labels and true latents where they are known.

    `x` is (n, features) float32 or (n, channels, height, width) uint8 or float32; the model sees `x * x_scale`. It may
    also be an array on disk (anything with `shape`, `dtype` and indexing by rows), which is read batch by batch.
    `factors` (n, F) are class indices, `labels` (n, m) the auxiliary labels u, `labelled` (n,) which rows may show them
    (None: all), `truth` (n, T) true latent values with their partition `truth_groups`. `columns` are what else is known
    of each row, by name: (n,) numbers, or words; `feature_names` what the features of rows of numbers are called.
    `description` is JSON from which the same data can be made again.
    """

    name: str
    x: Any
    x_scale: float = 1.0
    factors: np.ndarray | None = None
    factor_names: tuple[str, ...] = ()
    factor_sizes: tuple[int, ...] = ()
    labels: np.ndarray | None = None
    labelled: np.ndarray | None = None
    truth: np.ndarray | None = None
    truth_groups: tuple[tuple[int, ...], ...] | None = None
    columns: Mapping[str, np.ndarray] = field(default_factory=dict)
    feature_names: tuple[str, ...] = ()
    description: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self):
        where = f"data set {self.name!r}"
        put = lambda name, value: object.__setattr__(self, name, value)  # noqa: E731
        put("x", _checked_observations(self.x, where))
        if not isinstance(self.x_scale, Real) or not 0 < self.x_scale < float("inf"):
            raise ValueError(f"{where}: x_scale must be a positive number, got {self.x_scale!r}")
        put("x_scale", float(self.x_scale))
        factors, names, sizes = _checked_factors(self.factors, self.factor_names, self.factor_sizes, self.size, where)
        put("factors", factors)
        put("factor_names", names)
        put("factor_sizes", sizes)
        put("labels", _checked_numbers(self.labels, np.float32, "labels", self.size, where))
        put("truth", _checked_numbers(self.truth, np.float64, "truth", self.size, where))
        put("labelled", _checked_mask(self.labelled, self.size, where))
        put("truth_groups", _checked_truth_groups(self.truth_groups, self.truth, where))
        put("columns", _checked_columns(self.columns, self.size, where))
        put("feature_names", _checked_names(self.feature_names, self.shape, where))
        put("description", _checked_json(self.description, where))

    @property
    def size(self) -> int:
        """The number of observations n."""
        return int(self.x.shape[0])

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one observation."""
        return tuple(int(extent) for extent in self.x.shape[1:])

    @property
    def in_memory(self) -> bool:
        return isinstance(self.x, np.ndarray) and not isinstance(self.x, np.memmap)

    @property
    def places(self) -> np.ndarray | None:
        """Row and column of each observation, (n, 2), where these are the pixels of a movie (`samples="pixels"`)."""
        return self.factors if self.factor_names == ("row", "column") and len(self.shape) == 1 else None

    @cached_property
    def grid(self) -> FactorGrid | None:
        """The factor grid, when the rows are every combination of the factors once, the last factor fastest."""
        if self.factors is None:
            return None
        grid = FactorGrid(self.factor_names, self.factor_sizes)
        complete = grid.size == self.size and np.array_equal(grid.to_index(self.factors), np.arange(self.size))
        return grid if complete else None

    def observations(self, index: Sequence[int] | np.ndarray | slice | None = None) -> np.ndarray:
        """Rows as the model sees them: a fresh float32 array of `x[index] * x_scale`."""
        rows = np.asarray(self.x[slice(None) if index is None else index])
        seen = np.array(rows, dtype=np.float32)
        if self.x_scale != 1.0:
            seen *= np.float32(self.x_scale)
        if not self.in_memory and rows.dtype.kind == "f" and not np.isfinite(seen).all():
            raise ValueError(f"data set {self.name!r}: the rows just read hold NaN or infinite values")
        return seen

    def __repr__(self) -> str:
        known = f", factors {dict(zip(self.factor_names, self.factor_sizes))}" if self.factors is not None else ""
        return f"Dataset({self.name!r}, {self.size} x {self.shape} {self.x.dtype}{known})"


def _read_only(array: np.ndarray) -> np.ndarray:
    view = array.view()
    view.flags.writeable = False
    return view


def all_finite(array: np.ndarray) -> bool:
    if array.dtype.kind not in "fc":
        return True
    rows = max(1, MEMORY_CHUNK // max(1, array[:1].size))
    return all(np.isfinite(array[start : start + rows]).all() for start in range(0, len(array), rows))


def _checked_observations(x: Any, where: str) -> Any:
    if not all(hasattr(x, attribute) for attribute in ("shape", "dtype", "__getitem__")):
        raise ValueError(f"{where}: x must be an array, got {type(x).__name__}")
    shape = tuple(x.shape)
    if len(shape) not in (2, 4):
        raise ValueError(
            f"{where}: x must be (n, features) or (n, channels, height, width), got shape {shape}; "
            "partita.data.from_array arranges other shapes"
        )
    if 0 in shape:
        raise ValueError(f"{where}: x is empty, shape {shape}")
    allowed = ("float32",) if len(shape) == 2 else ("float32", "uint8")
    if str(x.dtype) not in allowed:
        raise ValueError(f"{where}: x of shape {shape} must be {' or '.join(allowed)}, got {x.dtype}")
    if not isinstance(x, np.ndarray) or isinstance(x, np.memmap):
        return x
    if not all_finite(x):
        column = np.flatnonzero(~np.isfinite(x.reshape(len(x), -1)).all(0))[0]
        row = np.flatnonzero(~np.isfinite(x.reshape(len(x), -1)[:, column]))[0]
        what = f"{where}: x holds NaN or infinite values, the first in row {row}, feature {column}"
        raise ValueError(f"{what}: fill them or leave such rows out; Disentangler(missing='ignore') learns with gaps")
    return _read_only(x)


def _checked_factors(factors, names, sizes, n: int, where: str):
    if factors is None:
        if names or sizes:
            raise ValueError(f"{where}: factor names or sizes are given, but no factors")
        return None, (), ()
    factors = _rows(factors, "factors", n, where)
    if factors.dtype.kind not in "iub" or factors.shape[1] == 0:
        raise ValueError(f"{where}: factors must be (n, F) class indices, got {factors.dtype} {factors.shape}")
    factors = factors.astype(np.int64, copy=False)
    count = factors.shape[1]
    names = tuple(str(name) for name in names) or tuple(f"factor {f}" for f in range(count))
    sizes = tuple(int(size) for size in sizes) or tuple(int(top) + 1 for top in factors.max(0))
    if len(names) != count or len(sizes) != count:
        raise ValueError(f"{where}: {count} factors, but {len(names)} factor names and {len(sizes)} factor sizes")
    if len(set(names)) != count:
        raise ValueError(f"{where}: factor names must differ, got {names}")
    for name, size, low, high in zip(names, sizes, factors.min(0), factors.max(0)):
        if low < 0 or high >= size:
            raise ValueError(f"{where}: factor {name!r} has classes {low} to {high}, allowed are 0 to {size - 1}")
    return _read_only(factors), names, sizes


def _checked_numbers(values, dtype, what: str, n: int, where: str) -> np.ndarray | None:
    if values is None:
        return None
    values = _rows(values, what, n, where)
    if values.dtype.kind not in "iubf" or values.shape[1] == 0:
        raise ValueError(f"{where}: {what} must be (n, m) numbers, got {values.dtype} {values.shape}")
    with np.errstate(over="ignore"):  # what overflows becomes infinite and is refused by name below
        values = values.astype(dtype, copy=False)
    if not all_finite(values):
        raise ValueError(f"{where}: {what} hold NaN or infinite values")
    return _read_only(values)


def _checked_mask(labelled, n: int, where: str) -> np.ndarray | None:
    if labelled is None:
        return None
    labelled = np.asarray(labelled)
    if labelled.shape != (n,) or labelled.dtype != bool:
        raise ValueError(f"{where}: labelled must be {n} booleans, got {labelled.dtype} {labelled.shape}")
    return _read_only(labelled)


def _checked_columns(columns, n: int, where: str) -> dict[str, np.ndarray]:
    found = {}
    for name, values in dict(columns).items():
        values = np.asarray(values)
        if values.shape != (n,) or values.dtype.kind not in "biufUO":
            raise ValueError(
                f"{where}: column {name!r} must be {n} numbers or words, got {values.dtype} {values.shape}"
            )
        found[str(name)] = _read_only(values)
    return found


def _checked_names(names, shape: tuple[int, ...], where: str) -> tuple[str, ...]:
    names = tuple(str(name) for name in names)
    if names and (len(shape) != 1 or len(names) != shape[0]):
        raise ValueError(f"{where}: {len(names)} feature names, but observations of shape {shape}")
    return names


def _rows(values, what: str, n: int, where: str) -> np.ndarray:
    values = np.asarray(values)
    if values.ndim != 2:
        raise ValueError(f"{where}: {what} must have two dimensions, got shape {values.shape}")
    if len(values) != n:
        raise ValueError(f"{where}: x has {n} rows, but {what} has {len(values)}")
    return values


def _checked_truth_groups(groups, truth, where: str):
    if groups is None:
        return None
    if truth is None:
        raise ValueError(f"{where}: truth_groups are given, but no truth")
    groups = tuple(tuple(int(k) for k in group) for group in groups)
    if sorted(k for group in groups for k in group) != list(range(truth.shape[1])) or () in groups:
        raise ValueError(f"{where}: truth_groups {groups} must hold each of the {truth.shape[1]} true latents once")
    return groups


def _checked_json(description, where: str) -> dict:
    try:
        return json.loads(json.dumps(dict(description), allow_nan=False))
    except (TypeError, ValueError) as error:
        raise ValueError(f"{where}: description must be plain JSON: {error}") from None
