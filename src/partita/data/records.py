"""Rows of fixed width inside a file, read at their places."""

import os
from math import prod

import numpy as np


class Records:
    """An array (n, ...) that lies in one piece in an open file, from byte `offset` on.

    Read by position, not through a memory map: that reads ahead around every scattered row, which is many times slower
    from a cold disk, and it kills the process when the file has become shorter.
    """

    def __init__(self, descriptor: int, offset: int, shape: tuple[int, ...], dtype: np.dtype):
        self.descriptor, self.offset, self.shape, self.dtype = descriptor, offset, shape, dtype
        self.width = prod(shape[1:]) * dtype.itemsize

    def read(self, wanted: np.ndarray) -> np.ndarray:
        """Rows in the order wanted; neighbours are read together."""
        rows = np.empty((len(wanted), *self.shape[1:]), dtype=self.dtype)
        content = rows.reshape(-1).view(np.uint8).data
        starts = np.flatnonzero(np.diff(wanted, prepend=-2) != 1).tolist() if len(wanted) else []
        for start, end in zip(starts, [*starts[1:], len(wanted)]):
            place = self.offset + int(wanted[start]) * self.width
            self._fill(content[start * self.width : end * self.width], place)
        return rows

    def _fill(self, piece: memoryview, place: int) -> None:
        while len(piece):  # one call brings at most 2 GiB
            count = os.preadv(self.descriptor, [piece], place)
            if count == 0:
                raise ValueError("the file has become shorter since it was opened")
            piece, place = piece[count:], place + count
