"""`.npy` and `.npz` without pickle: headers are checked against what the file holds before anything is allocated."""

import os
import zipfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import prod
from operator import attrgetter
from pathlib import Path
from threading import Lock
from typing import IO

import numpy as np

from partita.data._memory import AS_A_FILE_TO_STREAM, check_fits
from partita.data._nearest import listed
from partita.data._reading import existing_file, reading

FORMAT = np.lib.format
BLOCK = 1 << 24  # bytes read in one go: one large read from a deflated member would hold the content twice
ONE_AT_A_TIME = Lock()  # numpy parses a header with `ast`, whose depth counter the threads of Python 3.11 share


@dataclass(frozen=True)
class Header:
    dtype: np.dtype
    shape: tuple[int, ...]
    fortran: bool

    @property
    def nbytes(self) -> int:
        return prod(self.shape) * self.dtype.itemsize

    def __str__(self) -> str:
        return f"{self.dtype} {self.shape}"


def read_npy(path: str | os.PathLike, needs: Callable[[Header], int] = attrgetter("nbytes")) -> np.ndarray:
    """The array in a `.npy` file; ValueError or OSError naming the file if there is none to be had.

    `needs` says how much memory the array and what is made of it will take: it must be free.
    """
    path = existing_file(path)
    with reading(path), path.open("rb") as stream:
        header = _checked_header(stream, path.stat().st_size, "the array")
        check_fits(needs(header), f"the array, {header},", AS_A_FILE_TO_STREAM)
        return _read_array(stream, header, "the array")


def npy_header(path: Path) -> tuple[Header, int]:
    """What a `.npy` file holds, and from which byte on."""
    with path.open("rb") as stream:
        return _checked_header(stream, path.stat().st_size, "the array"), stream.tell()


def read_npz(
    path: str | os.PathLike,
    keys: Iterable[str] | None = None,
    needs: Callable[[str, Header], int] = lambda key, header: header.nbytes,
) -> dict[str, np.ndarray]:
    """Arrays of a `.npz` by key: the `keys` given, or all; arrays of Python objects are left out unless asked for.

    `needs` says how much memory each array and what is made of it will take: that of all must be free.
    """
    path = existing_file(path)
    with reading(path), zipfile.ZipFile(path) as archive:
        members = _array_members(archive)
        if keys is None:
            wanted = [key for key in members if not _claimed_header(archive, members[key]).dtype.hasobject]
        else:
            wanted = list(keys)
            missing = [key for key in wanted if key not in members]
            if missing:
                raise ValueError(f"has no array {listed(missing)}; it has {listed(members)}")
        headers = {key: _member_header(archive, members[key], key) for key in wanted}
        what = f"its content, {listed(f'{key} {header}' for key, header in headers.items())},"
        check_fits(sum(needs(key, header) for key, header in headers.items()), what, AS_A_FILE_TO_STREAM)
        return {key: _read_member(archive, members[key], key) for key in wanted}


def npz_keys(path: str | os.PathLike) -> dict[str, tuple[np.dtype, tuple[int, ...]]]:
    """Type and shape of every array in a `.npz`, from the headers alone."""
    path = existing_file(path)
    with reading(path), zipfile.ZipFile(path) as archive:
        headers = {key: _claimed_header(archive, member) for key, member in _array_members(archive).items()}
        return {key: (header.dtype, header.shape) for key, header in headers.items()}


def read_npz_rows(path: str | os.PathLike, key: str, rows: np.ndarray) -> np.ndarray:
    """`array[rows]`, rows ascending, of an array that need not fit into memory: it is read through once."""
    path = existing_file(path)
    with reading(path), zipfile.ZipFile(path) as archive:
        member = _array_members(archive).get(key)
        if member is None:
            raise ValueError(f"has no array {key}")
        with archive.open(member) as stream:
            header = _checked_header(stream, member.file_size, f"array {key!r}")
            if header.fortran:
                raise ValueError(f"array {key!r} is stored in column order, which cannot be read by rows")
            if not header.shape or (len(rows) and int(rows[-1]) >= header.shape[0]):
                raise ValueError(f"array {key!r} has shape {header.shape}, too short for the rows wanted")
            n, *shape = header.shape
            width = header.nbytes // max(1, n)
            check_fits(len(rows) * width + BLOCK, "what is wanted of it", "take fewer rows")
            result = np.empty((len(rows), *shape), dtype=header.dtype)
            step = max(1, BLOCK // max(1, width))
            for start in range(0, n, step):
                block = np.frombuffer(exactly(stream, min(step, n - start) * width, key), header.dtype)
                low, high = np.searchsorted(rows, (start, start + step))
                result[low:high] = block.reshape(-1, *shape)[rows[low:high] - start]
            stream.read()  # to the end, so that the checksum is compared
            return result


def _array_members(archive: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    return {info.filename.removesuffix(".npy"): info for info in archive.infolist() if info.filename.endswith(".npy")}


def _claimed_header(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Header:
    with archive.open(member) as stream:
        return _read_header(stream)


def _member_header(archive: zipfile.ZipFile, member: zipfile.ZipInfo, key: str) -> Header:
    with archive.open(member) as stream:
        return _checked_header(stream, member.file_size, f"array {key!r}")


def _read_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo, key: str) -> np.ndarray:
    with archive.open(member) as stream:
        header = _checked_header(stream, member.file_size, f"array {key!r}")
        array = _read_array(stream, header, f"array {key!r}")
        stream.read()  # to the end, so that the checksum is compared
        return array


def _read_header(stream: IO[bytes]) -> Header:
    version = FORMAT.read_magic(stream)
    read = {(1, 0): FORMAT.read_array_header_1_0, (2, 0): FORMAT.read_array_header_2_0}
    # Version 3 is version 2 with UTF-8 field names, which plain arrays do not have.
    with ONE_AT_A_TIME:
        shape, fortran, dtype = read.get(version, FORMAT.read_array_header_2_0)(stream)
    return Header(dtype, shape, fortran)


def _checked_header(stream: IO[bytes], size: int, what: str) -> Header:
    """The header, once it is sure that the `size` bytes of the stream hold just that array and no Python objects."""
    header = _read_header(stream)
    if header.dtype.hasobject:
        raise ValueError(f"{what} holds Python objects, which are never unpickled; save numbers instead")
    if header.dtype.names is not None or header.dtype.itemsize == 0 or any(extent < 0 for extent in header.shape):
        raise ValueError(f"{what} is not a plain array: type {header.dtype}, shape {header.shape}")
    held = size - stream.tell()
    if header.nbytes != held:
        expected = f"{header.nbytes:,} bytes for {header}"
        raise ValueError(f"{what} should hold {expected}, the file has {held:,}")
    return header


def _read_array(stream: IO[bytes], header: Header, what: str) -> np.ndarray:
    flat = np.frombuffer(exactly(stream, header.nbytes, what), dtype=header.dtype)
    return flat.reshape(header.shape[::-1]).T if header.fortran else flat.reshape(header.shape)


def exactly(stream: IO[bytes], size: int, what: str) -> bytearray:
    """The next `size` bytes; ValueError where there are fewer."""
    content = bytearray(size)
    view, filled = memoryview(content), 0
    while filled < size:
        block = stream.read(min(BLOCK, size - filled))
        if not block:
            raise ValueError(f"{what} should hold {size:,} bytes and is cut short: there are {filled:,}")
        view[filled : filled + len(block)] = block
        filled += len(block)
    return content
