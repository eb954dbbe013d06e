"""Rows of fixed width inside a file, read at their places."""

import mmap
import os
from math import prod

import numpy as np

NARROW = 4096  # bytes: within a page or two


class Records:
    """An array (n, ...) that lies in one piece in an open file, from byte `offset` on.

    Wide rows are read by position: a memory map reads around every scattered row, which is many times slower from a
    cold disk. Narrow rows are gathered through a map in one call: a call a row would hold up the thread that trains.
    """

    def __init__(self, descriptor: int, offset: int, shape: tuple[int, ...], dtype: np.dtype):
        self.descriptor, self.offset, self.shape, self.dtype = descriptor, offset, shape, dtype
        self.width = prod(shape[1:]) * dtype.itemsize
        self.map: np.ndarray | None = None
        self.unmappable = False

    def read(self, wanted: np.ndarray) -> np.ndarray:
        """Rows in the order wanted; neighbours are read together."""
        if 0 < self.width <= NARROW and self._mapped():
            return self._gathered(wanted)
        rows = np.empty((len(wanted), *self.shape[1:]), dtype=self.dtype)
        content = rows.reshape(-1).view(np.uint8).data
        starts = np.flatnonzero(np.diff(wanted, prepend=-2) != 1).tolist() if len(wanted) else []
        for start, end in zip(starts, [*starts[1:], len(wanted)]):
            place = self.offset + int(wanted[start]) * self.width
            self._fill(content[start * self.width : end * self.width], place)
        return rows

    def _mapped(self) -> bool:
        """Whether the file is mapped; not where address space is limited (`ulimit -v`) and it does not fit."""
        if self.map is None and not self.unmappable:
            self._check_length()
            try:
                with os.fdopen(os.dup(self.descriptor), "rb") as file:
                    found = np.memmap(file, self.dtype, "r", self.offset, self.shape)
                found._mmap.madvise(mmap.MADV_RANDOM)  # pyright: ignore[reportAttributeAccessIssue]
                self.map = found
            except OSError:
                self.unmappable = True
        return not self.unmappable

    def _gathered(self, wanted: np.ndarray) -> np.ndarray:
        self._check_length()
        assert self.map is not None
        return np.asarray(self.map[wanted])

    def _check_length(self) -> None:
        # Touching a map beyond the end of its file would kill the process.
        if os.fstat(self.descriptor).st_size < self.offset + self.shape[0] * self.width:
            raise ValueError("the file has become shorter since it was opened")

    def _fill(self, piece: memoryview, place: int) -> None:
        while len(piece):  # one call brings at most 2 GiB
            count = os.preadv(self.descriptor, [piece], place)
            if count == 0:
                raise ValueError("the file has become shorter since it was opened")
            piece, place = piece[count:], place + count
