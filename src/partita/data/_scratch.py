"""Chunks of a packed array, unpacked once: otherwise scattered rows would unpack whole chunks again and again."""

import contextlib
import os
import tempfile
import threading
import weakref
from collections.abc import Callable, Iterable
from math import prod
from pathlib import Path

import numpy as np

from partita.data._records import Records

Unpack = Callable[[np.ndarray], Iterable[np.ndarray]]


class Scratch:
    """A temporary file, gone with the process, that holds the chunks unpacked so far; it grows as they are asked for.

    Chunk c holds rows c * step to (c + 1) * step; `unpack` brings the chunks of the given numbers into memory, one
    after the other. A full disk ends the keeping, not the reading.
    """

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype, step: int, unpack: Unpack):
        self.shape, self.dtype, self.step, self.unpack = shape, dtype.newbyteorder("="), step, unpack
        self.width = prod(shape[1:]) * dtype.itemsize
        self.lock = threading.Lock()
        self.kept = np.zeros(-(-shape[0] // step), dtype=bool)
        self.rows: Records | None = None
        self.full = False

    def read(self, wanted: np.ndarray, folder: Path) -> np.ndarray:
        """Rows in the order wanted."""
        chunk = wanted // self.step
        result = np.empty((len(wanted), *self.shape[1:]), dtype=self.dtype)
        with self.lock:
            self._open(folder)
            new = np.unique(chunk[~self.kept[chunk]])
            for number, rows in zip(new, self.unpack(new), strict=True):
                self._keep(int(number), np.ascontiguousarray(rows, dtype=self.dtype))
                mine = chunk == number
                result[mine] = rows[wanted[mine] - number * self.step]
        if self.rows is not None:
            old = ~np.isin(chunk, new)
            result[old] = self.rows.read(wanted[old])
        return result

    def _open(self, folder: Path) -> None:
        if self.rows is not None or self.full:
            return
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self.file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 (lives as long as the rows)
            weakref.finalize(self, self.file.close)
            self.file.truncate(self.shape[0] * self.width)
            self.rows = Records(self.file.fileno(), 0, self.shape, self.dtype)
        except OSError:
            self.full = True

    def _keep(self, number: int, rows: np.ndarray) -> None:
        if self.rows is not None:
            # Not through a memory map: on a full disk that would kill the process instead of raising.
            with contextlib.suppress(OSError):
                place = number * self.step * self.width
                self.kept[number] = os.pwrite(self.file.fileno(), rows.data, place) == rows.nbytes
