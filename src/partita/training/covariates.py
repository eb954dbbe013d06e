"""Covariates as networks see them: levels as columns of 0 and 1, numbers in standard deviations from their mean."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, cast

import numpy as np

from partita.data._nearest import listed, nearest

# Whole numbers of so few different values are levels, a donor's number say; of more, numbers, such as an age.
MOST_LEVELS_OF_NUMBERS = 10
MOST_LEVELS = 1000
CLASSES = 10  # equally many rows each, that numbers are put into where something is said of classes


@dataclass(frozen=True)
class Covariate:
    """One of them: `levels` with the `shares` of the rows that have them, or numbers of this mean and deviation."""

    name: str
    levels: tuple[Any, ...] | None = None
    shares: tuple[float, ...] = ()
    mean: float = 0.0
    deviation: float = 1.0

    @property
    def width(self) -> int:
        return 1 if self.levels is None else len(self.levels)

    @property
    def average(self) -> tuple[float, ...]:
        """What networks see of a row that nothing is known of."""
        return (0.0,) if self.levels is None else self.shares

    def of(self, values: np.ndarray) -> np.ndarray:
        """(n, width); ValueError, naming it, where a level was never seen before."""
        if self.levels is None:
            return ((_numbers(values, self.name) - self.mean) / self.deviation)[:, None]
        known = {level: number for number, level in enumerate(self.levels)}
        found = [known.get(value) for value in _plain(values, self.name)]
        if None in found:
            row = found.index(None)
            raise ValueError(
                f"covariate {self.name!r} has the level {_plain(values, self.name)[row]!r} in row {row}, which was "
                f"never seen in training (there were {listed(map(repr, self.levels), 6)}): leave such rows out, or "
                "train on them"
            )
        return np.eye(len(self.levels))[np.array(found, int)]

    def classes(self, values: np.ndarray) -> np.ndarray:
        """Class indices: the levels, or tenths of the rows in the order of their numbers."""
        if self.levels is not None:
            return self.of(values).argmax(1)
        numbers = _numbers(values, self.name)
        return np.searchsorted(np.quantile(numbers, np.arange(1, CLASSES) / CLASSES), numbers)


@dataclass(frozen=True)
class Covariates:
    """Those that a model was trained with, in order."""

    each: tuple[Covariate, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(one.name for one in self.each)

    @property
    def width(self) -> int:
        return sum(one.width for one in self.each)

    def of(self, table: Any, rows: int) -> np.ndarray:
        """(n, width) float32, from a table like that of training, of which columns are found by name."""
        columns = self._columns(table, rows)
        return np.concatenate([one.of(columns[one.name]) for one in self.each], 1).astype(np.float32)

    def classes(self, table: Any, rows: int) -> np.ndarray:
        """(n, covariates) class indices."""
        columns = self._columns(table, rows)
        return np.stack([one.classes(columns[one.name]) for one in self.each], 1)

    def average(self, rows: int) -> np.ndarray:
        """What networks see of rows that nothing is known of."""
        return np.tile(np.concatenate([one.average for one in self.each]), (rows, 1)).astype(np.float32)

    def _columns(self, table: Any, rows: int) -> dict[str, np.ndarray]:
        if table is None:
            raise ValueError(f"the model was trained with covariates {listed(self.names)}: give covariates=")
        columns = columns_of(table, rows)
        for name in self.names:
            if name not in columns:
                raise ValueError(f"covariate {name!r} is missing{nearest(name, columns)}; there are {listed(columns)}")
        return columns

    def as_json(self) -> list[dict[str, Any]]:
        return [asdict(one) for one in self.each]

    @classmethod
    def from_json(cls, content: Any) -> "Covariates":
        made = [{k: tuple(v) if isinstance(v, list | tuple) else v for k, v in one.items()} for one in content]
        return cls(tuple(Covariate(**cast(Any, one)) for one in made))


def learn_covariates(table: Any, rows: int) -> Covariates:
    """What the columns of a table are: a data frame, a dict of arrays, or an array (n,) or (n, c), whose columns are
    called 0, 1, ... Text, booleans and few different whole numbers are levels, other numbers are numbers."""
    return Covariates(tuple(_learned(name, values) for name, values in columns_of(table, rows).items()))


def columns_of(table: Any, rows: int) -> dict[str, np.ndarray]:
    """Columns by name, (rows,) each; ValueError where this is no such table."""
    if hasattr(table, "columns"):
        columns = {str(name): np.asarray(table[name]) for name in table.columns}
    elif isinstance(table, Mapping):
        columns = {str(name): np.asarray(values) for name, values in table.items()}
    else:
        array = np.asarray(table)
        name = getattr(table, "name", None)
        array = array[:, None] if array.ndim == 1 else array
        if array.ndim != 2:
            raise ValueError(f"covariates must be a table of one row an observation, got shape {array.shape}")
        names = [name] if isinstance(name, str) and array.shape[1] == 1 else map(str, range(array.shape[1]))
        columns = dict(zip(names, array.T))
    if not columns:
        raise ValueError("covariates have no columns")
    for name, values in columns.items():
        if values.shape != (rows,):
            raise ValueError(f"covariate {name!r} has shape {values.shape}, and there are {rows} observations")
    return columns


def _learned(name: str, values: np.ndarray) -> Covariate:
    if not _are_levels(values):
        numbers = _numbers(values, name)
        if not (deviation := float(numbers.std())):
            raise ValueError(f"covariate {name!r} is the same in every row: it says nothing, leave it out")
        return Covariate(name, mean=float(numbers.mean()), deviation=deviation)
    levels, counts = np.unique(np.array(_plain(values, name), dtype=object).astype(_common(values)), return_counts=True)
    if len(levels) == 1:
        raise ValueError(f"covariate {name!r} is the same in every row: it says nothing, leave it out")
    if len(levels) > MOST_LEVELS or (len(levels) == len(values) and len(values) > 2):
        raise ValueError(f"covariate {name!r} has {len(levels)} levels in {len(values)} rows, too many to learn from")
    return Covariate(name, tuple(levels.tolist()), tuple((counts / len(values)).tolist()))


def _are_levels(values: np.ndarray) -> bool:
    if values.dtype == object:
        return not all(isinstance(value, int | float | np.number) and not isinstance(value, bool) for value in values)
    if values.dtype.kind == "f":
        return False
    return values.dtype.kind not in "iu" or len(np.unique(values)) <= MOST_LEVELS_OF_NUMBERS


def _common(values: np.ndarray) -> Any:
    return str if values.dtype == object or values.dtype.kind in "US" else values.dtype


def _plain(values: np.ndarray, name: str) -> list[Any]:
    """Levels in Python's own types; text for anything but numbers and booleans."""
    found = values.tolist()
    missing = [row for row, value in enumerate(found) if value is None or value != value]
    if missing:
        raise ValueError(f"covariate {name!r} has no value in row {missing[0]}")
    return [str(value) for value in found] if _common(values) is str else found


def _numbers(values: np.ndarray, name: str) -> np.ndarray:
    try:
        numbers = values.astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"covariate {name!r} must be numbers, as in training") from None
    if not np.isfinite(numbers).all():
        raise ValueError(f"covariate {name!r} has no number in row {int(np.argmin(np.isfinite(numbers)))}")
    return numbers
