"""Tables: columns of numbers become observations, columns chosen by name become labels or factors."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from partita.data._card import FileCard
from partita.data._csv_table import CsvTable
from partita.data._nearest import listed, nearest
from partita.data._parquet_table import ParquetTable
from partita.data.arrays import as_numbers, described, from_array
from partita.data.dataset import Dataset

Names = Sequence[str | int] | str | int | None  # columns of a table without a header line are called 0, 1, ...
LEAVE_OUT = "leave such columns out with columns=, or name them as factors"
GAPS = "leave such rows out, or give the array to Disentangler(missing='ignore'), which learns with gaps"

CSV_CARD = FileCard("table", (".csv",), "a row each, all columns but labels and factors", "everything")
PARQUET_CARD = FileCard("parquet", (".parquet",), "a row each, all columns but labels and factors", "pandas, polars")


def load_csv(
    path: Path,
    *,
    columns: Names = None,
    labels: Names = None,
    factors: Names = None,
    covariates: Names = None,
) -> Dataset:
    """Rows of a `.csv` file, with or without a header line; `columns`, `labels`, `factors` and `covariates`, which are
    kept by name, choose."""
    table = CsvTable(path)
    chosen = Chosen.of(table.names, path, columns, labels, factors, covariates)
    read = table.columns()

    def first(name: str) -> str:
        row, cell = table.first_text(name) or (0, "")
        return f" (the first is {listed([repr(cell)])} in row {row})"

    def missing(name: str) -> str:
        row, cell = table.first_missing(name) or (0, "")
        return f"in row {row}: the cell " + (f"says {cell!r}" if cell else "is empty")

    check_text(chosen, {name for name in read if read[name].dtype == object}, path, first)
    return from_columns(read, chosen, path, missing)


def load_parquet(
    path: Path,
    *,
    columns: Names = None,
    labels: Names = None,
    factors: Names = None,
    covariates: Names = None,
) -> Dataset:
    """Rows of a `.parquet` file; `columns`, `labels`, `factors` and `covariates`, which are kept by name, choose."""
    table = ParquetTable(path)
    chosen = Chosen.of(table.names, path, columns, labels, factors, covariates)
    check_text(chosen, table.text, path)
    read = table.columns(chosen.every)
    return from_columns(read, chosen, path, lambda name: f"in row {int(np.isnan(read[name]).argmax()) + 1}: it is null")


@dataclass(frozen=True)
class Chosen:
    """Which columns are observations, labels and factors, and which are known beside them."""

    columns: list[str]
    labels: list[str]
    factors: list[str]
    covariates: list[str]

    @classmethod
    def of(cls, known: Collection[str], path: Path, *wanted: Names) -> "Chosen":
        """From the names of observations, labels, factors and covariates; observations are all others unless said."""
        known = dict.fromkeys(known)
        columns = wanted[0]
        of_labels, of_factors, beside = (_names(names, known, path) for names in wanted[1:])
        taken = {*of_labels, *of_factors, *beside}
        rest = [name for name in known if name not in taken]
        observed = rest if columns is None else _names(columns, known, path)
        if not observed:
            raise ValueError(f"{path}: no column is left for the observations")
        return cls(observed, of_labels, of_factors, beside)

    @property
    def every(self) -> list[str]:
        return list(dict.fromkeys([*self.columns, *self.labels, *self.factors, *self.covariates]))


def _names(wanted: Names, known: Mapping[str, None], path: Path) -> list[str]:
    several = [] if wanted is None else [wanted] if isinstance(wanted, str | int) else wanted
    names = [str(name) for name in several]
    for name in names:
        if name not in known:
            raise ValueError(f"{path}: no column {name!r}{nearest(name, known)}; it has {listed(known)}")
    if len(set(names)) != len(names):
        raise ValueError(f"{path}: a column is named twice in {listed(names)}")
    return names


def check_text(chosen: Chosen, text: set[str], path: Path, first: Callable[[str], str] = lambda name: "") -> None:
    """Observations and labels are numbers; `first` says where the first text of a column is."""
    found = [name for name in (*chosen.columns, *chosen.labels) if name in text]
    if found:
        raise ValueError(f"{path}: text in column {listed(map(repr, found))}{first(found[0])}; {LEAVE_OUT}")


def from_columns(table: Mapping[str, np.ndarray], chosen: Chosen, path: Path, missing: Callable[[str], str]) -> Dataset:
    """The data set; factors may be text or numbers. `missing` says where the first missing number of a column is."""
    coded = [classes(table[name]) for name in chosen.factors]
    options = {name: getattr(chosen, name) for name in ("columns", "labels", "factors", "covariates")}
    beside = [name for name in (*chosen.labels, *chosen.factors, *chosen.covariates) if name not in chosen.columns]
    return from_array(
        numbers(table, chosen.columns, path, missing),
        labels=numbers(table, chosen.labels, path, missing) if chosen.labels else None,
        factors=np.stack(coded, 1) if coded else None,
        factor_names=chosen.factors,
        columns={name: table[name] for name in beside},
        feature_names=chosen.columns,
        name=path.stem,
        description=described(path, options),
    )


def numbers(
    table: Mapping[str, np.ndarray], names: Sequence[str], path: Path, missing: Callable[[str], str]
) -> np.ndarray:
    """These columns side by side, (n, columns) float32."""
    array = np.empty((len(table[names[0]]), len(names)), dtype=np.float32)
    for k, name in enumerate(names):
        if np.isnan(table[name]).any():
            raise ValueError(f"{path}: column {name!r} has no number {missing(name)}; {GAPS}")
        array[:, k] = as_numbers(table[name], f"{path}: column {name!r}")
    return array


def classes(column: np.ndarray) -> np.ndarray:
    """Class indices by the sorted order of the distinct values."""
    return np.unique(column, return_inverse=True)[1].reshape(-1)
