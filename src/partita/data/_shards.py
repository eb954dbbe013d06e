"""Arrays that lie in one piece in files, one after the other: rows are read where they are, never all of them."""

import re
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from pathlib import Path

import numpy as np

from partita.data._card import FileCard
from partita.data._layout import arranged, arranged_shape
from partita.data._memory import check_fits
from partita.data._nearest import listed
from partita.data._npy import npy_header
from partita.data._reading import existing_file, reading
from partita.data._records import Records
from partita.data.arrays import described, from_array
from partita.data.dataset import Dataset
from partita.data.rows import DiskRows, settled

CARD = FileCard(
    name=".npy shards",
    files=(),
    becomes="the rows of one file after the other, in the order of their numbers; large ones stay on disk",
    written_by="whoever stores activations, in pieces of one width",
)
MOST_OPEN = 256  # files


@dataclass(frozen=True)
class ArrayOnDisk:
    """An array (n, ...) from byte `offset` of a file on; the file is long enough. With `bfloat16` its numbers are the
    upper halves of float32, read as whole numbers."""

    path: Path
    offset: int
    shape: tuple[int, ...]
    dtype: np.dtype
    bfloat16: bool = False

    def by_tokens(self) -> "ArrayOnDisk":
        """(sequences, tokens, width) as (sequences * tokens, width)."""
        if len(self.shape) != 3:
            return self
        return ArrayOnDisk(self.path, self.offset, (prod(self.shape[:2]), self.shape[2]), self.dtype, self.bfloat16)

    def whole(self) -> np.ndarray:
        check_fits(3 * prod(self.shape) * self.dtype.itemsize, f"the array {self.shape} of {self.path.name}")
        return rows_of([self]).read(np.arange(self.shape[0]))


def rows_of(arrays: Sequence[ArrayOnDisk], layout: str | None = None) -> DiskRows:
    """The rows of one array after the other: 8-bit images stay so, the rest becomes float32; channels come first."""
    first = arrays[0]
    for each in arrays[1:]:
        if each.shape[1:] != first.shape[1:] or (each.dtype, each.bfloat16) != (first.dtype, first.bfloat16):
            one, other = (f"{a.path.name} {'bfloat16' if a.bfloat16 else a.dtype} {a.shape}" for a in (first, each))
            raise ValueError(f"arrays of different kinds cannot follow each other: {one} and {other}")
    ends = np.cumsum([each.shape[0] for each in arrays])
    starts = ends - [each.shape[0] for each in arrays]

    @lru_cache(maxsize=MOST_OPEN)
    def opened(number: int) -> Records:
        each = arrays[number]
        file = each.path.open("rb")
        records = Records(file.fileno(), each.offset, each.shape, each.dtype)
        weakref.finalize(records, file.close)
        return records

    def read(wanted: np.ndarray) -> np.ndarray:
        rows = np.empty((len(wanted), *first.shape[1:]), first.dtype)
        of_file = np.searchsorted(ends, wanted, "right")
        for number in np.unique(of_file).tolist():
            mine = of_file == number
            with reading(arrays[number].path):
                rows[mine] = opened(number).read(wanted[mine] - starts[number])
        if first.bfloat16:
            rows = (rows.astype(np.uint32) << 16).view(np.float32)
        return arranged(rows, first.path.name, layout) if rows.ndim > 1 else rows

    images = len(first.shape) > 2 and first.dtype in (np.uint8, np.bool_)
    shape = (int(ends[-1]), *first.shape[1:])
    placed = arranged_shape(shape, first.path.name, layout) if len(shape) > 1 else shape
    return DiskRows(placed, np.uint8 if images else np.float32, read)


def npy_on_disk(path: Path) -> ArrayOnDisk | None:
    """Where the numbers of a `.npy` file are; None where they lie in column order, which cannot be read by rows."""
    path = existing_file(path)
    with reading(path):
        header, offset = npy_header(path)
        if header.dtype.kind not in "biuf":
            raise ValueError(f"holds {header.dtype}, and numbers were expected")
        return (
            None if header.fortran and len(header.shape) > 1 else ArrayOnDisk(path, offset, header.shape, header.dtype)
        )


def numbered(folder: Path, suffix: str) -> list[Path]:
    """The files of a folder that end so, 2 before 10."""
    with reading(folder):
        found = [path for path in folder.iterdir() if path.suffix.lower() == suffix and path.is_file()]
    by_number = lambda path: [(int(p), "") if p.isdigit() else (-1, p) for p in re.split(r"(\d+)", path.name)]  # noqa: E731
    return sorted(found, key=by_number)


def load_npy_shards(
    path: Path, *, layout: str | None = None, scale: float | None = None, stream: bool | None = None
) -> Dataset:
    """The `.npy` files of a folder, of one width, one after the other; a file with one number a row is a column.

    Rows of three dimensions, (sequences, tokens, width), give a row a token. They are read from disk as they are
    needed where all would take more than 40 % of the free memory, or with `stream=True`.
    """
    arrays = [npy_on_disk(each) for each in numbered(path, ".npy")]
    tables = [each.by_tokens() for each in arrays if each is not None and len(each.shape) > 1 and each.shape[0]]
    if not tables or None in arrays:
        names = listed(each.name for each in numbered(path, ".npy"))
        raise ValueError(f"{path}: no shards (rows, width), stored by rows, among {names}")
    with reading(path):
        rows = rows_of(tables, layout)
    lists = [each for each in arrays if each is not None and each.shape == (len(rows),)]
    return from_array(
        settled(rows, stream),
        columns={each.path.stem: each.whole() for each in lists},
        layout="nchw",
        name=path.name,
        scale=scale,
        description=described(path, {"layout": layout, "scale": scale, "stream": stream}),
    )
