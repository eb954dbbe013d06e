"""Arrays that stay on disk: rows are read when they are asked for, and ahead of time while a model trains."""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from partita.data._fetch import cache_folder
from partita.data._memory import check_fits, free_memory
from partita.data._scratch import Scratch
from partita.data.dataset import Dataset

Index = int | slice | Sequence[int] | np.ndarray
SHARE_OF_MEMORY = 0.4  # of what is free: larger arrays stay on disk unless asked otherwise
BLOCK = 1 << 26  # bytes read in one go when everything is read
TO_STREAM = "use stream=true, which reads it from disk as it is needed"


class DiskRows:
    """An array on disk: `read` brings any rows, in any order, into memory. `np.asarray` reads all of it.

    `together` is how many rows, from a multiple of it on, are best read at once: those of a packed chunk.
    """

    def __init__(
        self,
        shape: tuple[int, ...],
        dtype: np.dtype | type,
        read: Callable[[np.ndarray], np.ndarray],
        together: int = 1,
    ):
        self.shape = tuple(int(extent) for extent in shape)
        self.dtype = np.dtype(dtype)
        self.read = read
        self.together = together

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def nbytes(self) -> int:
        return prod(self.shape) * self.dtype.itemsize

    def __getitem__(self, index: Index) -> np.ndarray:
        n = len(self)
        if isinstance(index, int | np.integer):
            return self[[int(index)]][0]
        rows = np.arange(*index.indices(n)) if isinstance(index, slice) else np.asarray(index)
        rows = np.flatnonzero(rows) if rows.dtype == bool else rows.astype(np.int64)
        if len(rows) and (rows.min() < -n or rows.max() >= n):
            raise IndexError(f"rows are 0 to {n - 1}, got {rows.min()} to {rows.max()}")
        with np.errstate(over="ignore", invalid="ignore"):  # what overflows is infinite, and refused as that
            return self.read(rows % n).astype(self.dtype, copy=False)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """In blocks: what is unpacked and converted never stands beside the whole."""
        width = max(1, self.nbytes // max(1, len(self)))
        step = self.together * max(1, BLOCK // (width * self.together))
        unpacked = 2 * 8 * (width // self.dtype.itemsize) * min(step, len(self))  # 64-bit at the most, and converted
        check_fits(self.nbytes + unpacked, f"the whole array, {self.dtype} {self.shape},", TO_STREAM)
        whole = np.empty(self.shape, self.dtype)
        for start in range(0, len(self), step):
            whole[start : start + step] = self[start : start + step]
        return np.asarray(whole, dtype=dtype)


def decoded_rows(paths: Sequence[Path], decode: Callable[[Path], np.ndarray], shape: tuple[int, ...]) -> DiskRows:
    """One file a row, (n, *shape) uint8, decoded on several threads (image decoders release the interpreter).

    What has been decoded out of order, as in training, is kept in a temporary file: the next epoch is a plain read.
    """
    pools: dict[int, ThreadPoolExecutor] = {}

    def decoded(rows: np.ndarray) -> Iterator[np.ndarray]:
        pid = os.getpid()
        if pid not in pools:  # threads do not survive a fork
            pools[pid] = ThreadPoolExecutor(min(8, os.cpu_count() or 1))
        return (image[None] for image in pools[pid].map(decode, [paths[row] for row in rows]))

    scratch = Scratch((len(paths), *shape), np.dtype(np.uint8), 1, decoded)

    def read(rows: np.ndarray) -> np.ndarray:
        if len(rows) and (np.diff(rows) == 1).all():
            result = np.empty((len(rows), *shape), dtype=np.uint8)
            for k, image in enumerate(decoded(rows)):
                result[k] = image[0]
            return result
        return scratch.read(rows, cache_folder() / "scratch")

    return DiskRows((len(paths), *shape), np.uint8, read)


def settled(rows: DiskRows, stream: bool | None) -> DiskRows | np.ndarray:
    """The rows themselves if they are to be streamed, else the whole array: None decides by the free memory."""
    return rows if streams(rows.nbytes, stream) else np.asarray(rows)


def streams(size: int, stream: bool | None) -> bool:
    """Whether an array of so many bytes stays on disk: as said, else by the free memory."""
    return size > SHARE_OF_MEMORY * free_memory() if stream is None else stream


def batches(dataset: Dataset, indices: Iterable[np.ndarray], *, ahead: int = 4) -> Iterator[np.ndarray]:
    """`dataset.observations(index)` for each index in turn; up to `ahead` batches are read in the background.

    Parameters
    ----------
    dataset : Dataset
        In memory or on disk.
    indices : iterable of arrays of row numbers
        The batches, in order.
    ahead : int
        0 reads each when it is asked for.

    Returns
    -------
    iterator of arrays, float32

    Examples
    --------
    >>> import numpy as np
    >>> from partita.data import load
    >>> [batch.shape for batch in batches(load("groups"), [np.arange(3), np.arange(5)])]
    [(3, 20), (5, 20)]
    """
    if ahead < 0:
        raise ValueError(f"ahead must be 0 or more batches, got {ahead}")
    if dataset.in_memory or ahead == 0:
        yield from (dataset.observations(index) for index in indices)
        return
    with ThreadPoolExecutor(1) as reader:
        waiting: deque = deque()
        try:
            for index in indices:
                waiting.append(reader.submit(dataset.observations, index))
                if len(waiting) > ahead:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()
