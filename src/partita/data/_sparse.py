"""Sparse tables, compressed by rows or by columns: three arrays in memory or in a file, rows made whole as needed."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from partita.data._memory import check_fits, free_memory
from partita.data._reading import reading
from partita.data.rows import SHARE_OF_MEMORY, DiskRows, settled

ENTRIES_AT_ONCE = 1 << 21
BYTES_AN_ENTRY = 16  # value, place, and a copy of each
STORE_BY_ROWS = "store it compressed by rows (CSR), which is read as it is needed"


@dataclass(frozen=True)
class SparseTable:
    """The table (rows, features) whose entries `indptr[i]` to `indptr[i + 1]` lie in row i, at the features `indices`;
    or, with `by_rows` False, in feature i at the rows `indices`. `data` and `indices` may be arrays of a file, opened
    by `opened()`; `kept` are the features that are looked at."""

    opened: Callable[[], tuple[Any, Any]]
    indptr: np.ndarray
    shape: tuple[int, int]
    by_rows: bool = True
    kept: np.ndarray | None = None

    def __post_init__(self):
        values, places = self.opened()
        lines, across = self.shape if self.by_rows else self.shape[::-1]
        if min(self.shape) < 1:
            raise ValueError(f"the sparse table is empty, shape {self.shape}")
        if values.ndim != 1 or values.shape != places.shape or self.indptr.shape != (lines + 1,):
            sizes = f"{values.shape} values, {places.shape} indices and {self.indptr.shape} of indptr"
            raise ValueError(f"not a sparse table of shape {self.shape}: it has {sizes}")
        if values.dtype.kind not in "biuf" or places.dtype.kind not in "iu" or self.indptr.dtype.kind not in "iu":
            raise ValueError(f"not a sparse table: values are {values.dtype}, indices {places.dtype}")
        steps = np.diff(self.indptr.astype(np.int64))
        if self.indptr[0] != 0 or int(self.indptr[-1]) != len(values) or (steps < 0).any() or (steps > across).any():
            raise ValueError(f"indptr does not divide {len(values):,} entries into {lines:,} lines of up to {across:,}")

    def keeping(self, features: np.ndarray) -> "SparseTable":
        """The same rows, and only these of the features that were looked at."""
        return replace(self, kept=features if self.kept is None else self.kept[features])

    def _seen(self, rows: Any) -> Any:
        return rows if self.kept is None else rows[:, self.kept]

    @property
    def entries(self) -> int:
        return int(self.indptr[-1])

    @property
    def features(self) -> int:
        return self.shape[1] if self.kept is None else len(self.kept)

    def lines(self, start: int, stop: int) -> Any:
        """Rows (or features) `start` to `stop`, as a sparse array of scipy, once it is sure that it can be."""
        from scipy.sparse import csr_array

        first, last = int(self.indptr[start]), int(self.indptr[stop])
        check_fits(BYTES_AN_ENTRY * (last - first), f"{last - first:,} entries of the sparse table")
        values, places = (np.asarray(each[first:last]) for each in self.opened())
        across = self.shape[1] if self.by_rows else self.shape[0]
        if len(places) and (places.min() < 0 or places.max() >= across):
            raise ValueError(f"a place of an entry is {places.max() if places.max() >= across else places.min()}, "
                             f"outside of 0 to {across - 1}")  # fmt: skip
        with np.errstate(over="ignore", invalid="ignore"):
            values = values.astype(np.float32, copy=False)
        narrow = np.int32 if max(across, last - first) < 2**31 else np.int64
        begins = self.indptr[start : stop + 1].astype(np.int64) - first
        return csr_array(
            (values, places.astype(narrow, copy=False), begins.astype(narrow)), shape=(stop - start, across)
        )

    def blocks(self) -> Iterator[tuple[int, Any]]:
        """All rows in order, some at a time, with the number of the first."""
        table = self if self.by_rows else self.in_memory
        start = 0
        while start < self.shape[0]:
            most = int(table.indptr[start]) + ENTRIES_AT_ONCE
            stop = max(start + 1, int(np.searchsorted(table.indptr, most, "right")) - 1)
            stop = min(stop, start + 1 + ENTRIES_AT_ONCE // self.shape[1])  # rows that may be made whole
            yield start, self._seen(table.lines(start, stop))
            start = stop

    def some_values(self) -> np.ndarray:
        """The first of the numbers that are stored."""
        return np.asarray(self.opened()[0][:ENTRIES_AT_ONCE])

    @cached_property
    def in_memory(self) -> "SparseTable":
        """The same table with its entries in memory, by rows."""
        from scipy.sparse import csr_array

        what = f"the sparse table, {self.entries:,} entries,"
        check_fits((2 if self.by_rows else 4) * BYTES_AN_ENTRY * self.entries, what, STORE_BY_ROWS)
        whole = self.lines(0, len(self.indptr) - 1)
        found = whole if self.by_rows else csr_array(whole.T)
        found.sum_duplicates()
        arrays = found.data, found.indices
        return SparseTable(lambda: arrays, np.asarray(found.indptr, np.int64), self.shape, True, self.kept)

    @cached_property
    def _packed(self) -> Any:
        return self.lines(0, self.shape[0])

    def whole_rows(self, wanted: np.ndarray) -> np.ndarray:
        """These rows, features that have no entry being 0; neighbours are read together."""
        if isinstance(self.opened()[0], np.ndarray):
            return self._seen(self._packed[wanted]).toarray()
        rows = np.zeros((len(wanted), self.features), np.float32)
        order = np.argsort(wanted, kind="stable")
        row = wanted[order]
        starts = np.flatnonzero(np.diff(row, prepend=-2) > 1).tolist()
        for begin, end in zip(starts, [*starts[1:], len(row)]):
            block = self.lines(int(row[begin]), int(row[end - 1]) + 1)
            rows[order[begin:end]] = self._seen(block).toarray()[row[begin:end] - row[begin]]
        return rows

    def as_observations(self, path: Path, stream: bool | None) -> DiskRows | np.ndarray:
        """Rows of the file at `path`: in memory where they fit, else made whole as needed, of entries in memory or on
        disk."""
        much = SHARE_OF_MEMORY * free_memory()
        dense, packed = 4 * self.shape[0] * self.features, 2 * BYTES_AN_ENTRY * self.entries
        streamed = dense > much if stream is None else stream
        table = self.in_memory if not self.by_rows or (streamed and packed <= much) else self

        def read(wanted: np.ndarray) -> np.ndarray:
            with reading(path):
                return table.whole_rows(wanted)

        together = max(1, ENTRIES_AT_ONCE // self.shape[1])
        return settled(DiskRows((self.shape[0], self.features), np.float32, read, together), streamed)


@dataclass(frozen=True)
class DenseTable:
    """A table whose zeros are stored, too, seen in the same way."""

    rows: DiskRows
    kept: np.ndarray | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        return self.rows.shape

    @property
    def features(self) -> int:
        return self.shape[1] if self.kept is None else len(self.kept)

    def keeping(self, features: np.ndarray) -> "DenseTable":
        return DenseTable(self.rows, features if self.kept is None else self.kept[features])

    def some_values(self) -> np.ndarray:
        return self.rows[: max(1, ENTRIES_AT_ONCE // self.shape[1])].reshape(-1)

    def blocks(self) -> Iterator[tuple[int, Any]]:
        from scipy.sparse import csr_array

        step = max(1, ENTRIES_AT_ONCE // self.shape[1])
        for start in range(0, self.shape[0], step):
            rows = self.rows[start : start + step]
            yield start, csr_array(rows if self.kept is None else rows[:, self.kept])

    def as_observations(self, path: Path, stream: bool | None) -> DiskRows | np.ndarray:
        rows, kept = self.rows, self.kept
        if kept is None:
            return settled(rows, stream)
        some = DiskRows((len(rows), len(kept)), np.float32, lambda wanted: rows[wanted][:, kept], rows.together)
        return settled(some, stream)


Table = SparseTable | DenseTable
