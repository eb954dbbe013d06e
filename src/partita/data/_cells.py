"""Tables of cells and genes: what files of single cells have in common, whatever their layout."""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from partita.data._memory import check_fits
from partita.data._nearest import listed, nearest
from partita.data._sparse import SparseTable, Table
from partita.data.arrays import described, from_array
from partita.data.dataset import Dataset

log = logging.getLogger("partita")
Genes = int | str | Sequence[str] | None
MOST_LEVELS = 100  # of a column that counts as a factor unasked
USUAL_TOTAL = 1e4  # counts of a cell, to which cells are brought before genes are compared


def cells(
    table: Table,
    genes: list[str],
    columns: Mapping[str, np.ndarray],
    path: Path,
    *,
    kept: Genes,
    marked: Mapping[str, np.ndarray],
    factors: Sequence[str] | str | None,
    labels: Sequence[str] | str | None,
    stream: bool | None,
    options: Mapping[str, Any],
) -> Dataset:
    """A cell a row: its counts of genes. `columns` of cells, and their totals, are kept by name; those that are words
    become factors unless `factors` names others. `marked` are columns of the genes that say yes or no."""
    if isinstance(table, SparseTable) and not table.by_rows:
        table = table.in_memory  # once, and not for every look
    seen = _looked_at(table, kept if isinstance(kept, int) else None)
    columns = {"total": seen["total"]} | dict(columns)
    chosen = _chosen(kept, genes, marked, seen, path)
    if chosen is not None:
        table, genes = table.keeping(chosen), [genes[k] for k in chosen]
    unasked = [name for name, column in columns.items() if _counts_as_factor(column)]
    of_factors = unasked if factors is None else _columns(factors, columns, path)
    of_labels = _columns(labels, columns, path)
    return from_array(
        table.as_observations(path, stream),
        factors=np.stack([_classes(columns[name], name, path) for name in of_factors], 1) if of_factors else None,
        factor_names=of_factors,
        labels=np.stack([_numbers(columns[name], name, path) for name in of_labels], 1) if of_labels else None,
        columns=columns,
        feature_names=genes,
        name=path.stem,
        description=described(path, options),
    )


def say_normalised(table: Table, what: str, path: Path, instead: str) -> None:
    """A note that numbers of genes are no counts any more."""
    values = table.some_values()
    log.warning(
        "%s: %s are not counts (the first is %.4g): already normalised, it seems, and used as they are; %s",
        path, what, float(values[_whole(values).argmin()]), instead,
    )  # fmt: skip


def is_counts(table: Table) -> bool:
    """Whether all numbers, as far as the first of them tell, are whole and none is below 0."""
    return bool(_whole(table.some_values()).all())


def _whole(values: np.ndarray) -> np.ndarray:
    return np.isfinite(values) & (values >= 0) & (np.floor(values) == values)


def _looked_at(table: Table, most: int | None) -> dict[str, np.ndarray]:
    """One pass over all cells: their totals and, where some genes are to be chosen, the variance of each gene's
    log(1 + counts), cells being brought to the same total."""
    check_fits(16 * sum(table.shape), "a number for each cell and gene")
    total, once, twice = (np.zeros(length) for length in (table.shape[0], table.features, table.features))
    for start, block in table.blocks():
        of_rows = np.asarray(block.sum(1), np.float64).reshape(-1)
        total[start : start + block.shape[0]] = of_rows
        if most is not None:
            share = np.divide(USUAL_TOTAL, of_rows, out=np.zeros_like(of_rows), where=of_rows > 0)
            level = np.log1p(np.maximum(block.data * np.repeat(share, np.diff(block.indptr)), 0))
            once += np.bincount(block.indices, level, len(once))
            twice += np.bincount(block.indices, level**2, len(once))
    return {"total": total, "variance": twice / len(total) - (once / len(total)) ** 2}


def _chosen(
    kept: Genes, genes: Sequence[str], marked: Mapping[str, np.ndarray], seen: Mapping[str, np.ndarray], path: Path
) -> np.ndarray | None:
    """Which genes, in the order of the file: so many of largest variance, those marked in a column, or by name."""
    if kept is None:
        return None
    if isinstance(kept, int):
        if kept < 1:
            raise ValueError(f"{path}: genes must be at least 1, got {kept}")
        return np.sort(np.argsort(-seen["variance"], kind="stable")[:kept])
    if isinstance(kept, str) and kept in marked:
        chosen = np.flatnonzero(marked[kept])
        if not len(chosen):
            raise ValueError(f"{path}: column {kept!r} marks no gene")
        return chosen
    place = {name: k for k, name in enumerate(genes)}
    wanted = [kept] if isinstance(kept, str) else list(kept)
    for name in wanted:
        if name not in place:
            columns = f"; columns that mark genes are {listed(marked)}" if marked else ""
            raise ValueError(f"{path}: no gene {name!r}{nearest(name, genes[:20_000])}{columns}")
    return np.array(sorted({place[name] for name in wanted}))


def _columns(wanted: Sequence[str] | str | None, known: Mapping[str, Any], path: Path) -> list[str]:
    names = [] if wanted is None else [wanted] if isinstance(wanted, str) else list(wanted)
    for name in names:
        if name not in known:
            raise ValueError(f"{path}: no column {name!r} of cells{nearest(name, known)}; it has {listed(known)}")
    return names


def _counts_as_factor(column: np.ndarray) -> bool:
    """Words of a few levels, or yes and no, none missing."""
    if column.dtype.kind == "b":
        return len(np.unique(column)) == 2
    return column.dtype.kind == "O" and "" not in column and 2 <= len(set(column)) <= MOST_LEVELS


def _classes(column: np.ndarray, name: str, path: Path) -> np.ndarray:
    missing = column == "" if column.dtype.kind == "O" else ~np.isfinite(column)
    if missing.any():
        raise ValueError(f"{path}: column {name!r} says nothing of row {int(missing.argmax())}; it cannot be a factor")
    return np.unique(column, return_inverse=True)[1].reshape(-1)


def _numbers(column: np.ndarray, name: str, path: Path) -> np.ndarray:
    if column.dtype.kind == "O":
        raise ValueError(f"{path}: column {name!r} holds words; name it in factors= instead of labels=")
    return column.astype(np.float32)
