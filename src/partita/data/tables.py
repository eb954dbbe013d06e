"""Tables: columns of numbers become observations, columns chosen by name become labels or factors."""

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from partita.data.arrays import described, from_array
from partita.data.dataset import Dataset
from partita.data.nearest import nearest, some_of
from partita.data.reading import check_fits, existing_file, reading

Columns = dict[str, np.ndarray]  # name -> float64 numbers, or strings
Names = Sequence[str | int] | str | int | None  # columns of a table without a header line are called 0, 1, ...


def load_csv(
    path: Path,
    *,
    columns: Names = None,
    labels: Names = None,
    factors: Names = None,
) -> Dataset:
    """Rows of a `.csv` file, with or without a header line; `columns`, `labels` and `factors` choose by name."""
    table = read_csv(path)
    return from_table(table, path, columns=columns, labels=labels, factors=factors)


def load_parquet(
    path: Path,
    *,
    columns: Names = None,
    labels: Names = None,
    factors: Names = None,
) -> Dataset:
    """Rows of a `.parquet` file; `columns`, `labels` and `factors` choose by name."""
    return from_table(read_parquet(path), path, columns=columns, labels=labels, factors=factors)


def read_parquet(path: Path) -> Columns:
    """Columns by name: numbers (missing ones become NaN), or text."""
    try:
        import pyarrow.parquet as parquet
    except ImportError:
        raise ValueError(f"{path}: reading parquet needs pyarrow; install partita[arrow]") from None
    path = existing_file(path)
    with reading(path), parquet.ParquetFile(path) as file:
        meta = file.metadata
        check_fits(8 * meta.num_rows * meta.num_columns, "the table")
        if meta.num_rows == 0:
            raise ValueError("the table has no rows")
        table = file.read()
        return {name: _arrow_column(table[name], name) for name in table.column_names}


def _arrow_column(column: Any, name: str) -> np.ndarray:
    import pyarrow.types as types

    kind = column.type
    if types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind) or types.is_decimal(kind):
        return column.cast("float64").to_numpy()
    if types.is_string(kind) or types.is_large_string(kind) or types.is_dictionary(kind):
        return np.array([str(value) for value in column.to_pylist()])
    raise ValueError(f"column {name!r} holds {kind}, neither numbers nor text")


def from_table(table: Columns, path: Path, *, columns=None, labels=None, factors=None) -> Dataset:
    """Observations from `columns` (default: all that are not labels or factors); factors may be text or numbers."""
    chosen_labels, chosen_factors = names(labels, table, path), names(factors, table, path)
    rest = [name for name in table if name not in chosen_labels + chosen_factors]
    chosen = names(columns, table, path) if columns is not None else rest
    if not chosen:
        raise ValueError(f"{path}: no column is left for the observations")
    coded = [classes(table[name]) for name in chosen_factors]
    options = {"columns": chosen, "labels": chosen_labels, "factors": chosen_factors}
    return from_array(
        numbers(table, chosen, path),
        labels=numbers(table, chosen_labels, path) if chosen_labels else None,
        factors=np.stack(coded, 1) if coded else None,
        factor_names=chosen_factors,
        name=path.stem,
        description=described(path, options),
    )


def names(wanted: Names, table: Mapping[str, Any], path: Path) -> list[str]:
    several = [] if wanted is None else [wanted] if isinstance(wanted, str | int) else wanted
    listed = [str(name) for name in several]
    for name in listed:
        if name not in table:
            raise ValueError(f"{path}: no column {name!r}{nearest(name, table)}; it has {some_of(table)}")
    if len(set(listed)) != len(listed):
        raise ValueError(f"{path}: a column is named twice in {some_of(listed)}")
    return listed


def numbers(table: Columns, chosen: Sequence[str], path: Path) -> np.ndarray:
    """The chosen columns as (n, columns) float64; text and missing values are refused by name."""
    text = [name for name in chosen if table[name].dtype.kind not in "biuf"]
    if text:
        raise ValueError(
            f"{path}: text in column {some_of(map(repr, text))}; leave such columns out with columns=, "
            "or name them as factors"
        )
    array = np.stack([table[name].astype(np.float64) for name in chosen], 1)
    for name, column in zip(chosen, array.T):
        if np.isnan(column).any():
            raise ValueError(f"{path}: column {name!r} has no number in row {int(np.isnan(column).argmax()) + 1}")
    return array


def classes(column: np.ndarray) -> np.ndarray:
    """Class indices by the sorted order of the distinct values."""
    return np.unique(column, return_inverse=True)[1].reshape(-1)


def read_csv(path: Path) -> Columns:
    """Columns by name, in order; without a header line they are called 0, 1, 2, ..."""
    path = existing_file(path)
    with reading(path), path.open(newline="", encoding="utf-8-sig") as stream:
        first = stream.readline()
        if not first.strip():
            raise ValueError("the first line is empty")
        delimiter = max(",;\t", key=first.count)
        head = next(csv.reader([first], delimiter=delimiter))
        header = any(not _is_number(cell) for cell in head)
        if not header:
            stream.seek(0)
        return _columns(stream, [cell.strip() for cell in head] if header else None, delimiter)


def _columns(stream, head: list[str] | None, delimiter: str) -> Columns:
    rows = [row for row in csv.reader(stream, delimiter=delimiter, strict=True) if row]
    if not rows:
        raise ValueError("has a header line but no rows")
    head = head or [str(k) for k in range(len(rows[0]))]
    for number, row in enumerate(rows):
        if len(row) != len(head):
            raise ValueError(f"row {number + 1} has {len(row)} cells, the first line has {len(head)}")
    if len(set(head)) != len(head):
        raise ValueError(f"two columns have the same name: {some_of(head)}")
    return {name: _column(cells) for name, cells in zip(head, zip(*rows))}


def _column(cells: Sequence[str]) -> np.ndarray:
    """Numbers where every cell is one; an empty cell is a missing number."""
    stripped = [cell.strip() or "nan" for cell in cells]
    try:
        return np.array(stripped, dtype=np.float64)
    except ValueError:
        return np.array([cell.strip() for cell in cells])


def _is_number(cell: str) -> bool:
    try:
        float(cell.strip() or "nan")
    except ValueError:
        return False
    return True
