"""`.npy` and `.npz` without pickle: headers are checked against what the file holds before anything is allocated."""

import os
import zipfile
from collections.abc import Iterable
from math import prod
from pathlib import Path
from typing import IO

import numpy as np

from partita.data.reading import check_fits, existing_file, reading

FORMAT = np.lib.format


def read_npy(path: str | os.PathLike) -> np.ndarray:
    """The array in a `.npy` file; ValueError or OSError naming the file if there is none to be had."""
    path = existing_file(path)
    with reading(path), path.open("rb") as stream:
        return _read_array(stream, path.stat().st_size, "the array")


def read_npz(path: str | os.PathLike, keys: Iterable[str] | None = None) -> dict[str, np.ndarray]:
    """Arrays of a `.npz` by key: the `keys` given, or all; arrays of Python objects are left out unless asked for."""
    path = existing_file(path)
    with reading(path), zipfile.ZipFile(path) as archive:
        members = _array_members(archive)
        if keys is None:
            wanted = [key for key in members if not _holds_objects(archive, members[key])]
        else:
            wanted = list(keys)
            missing = [key for key in wanted if key not in members]
            if missing:
                raise ValueError(f"has no array {', '.join(missing)}; it has {', '.join(members) or 'none'}")
        check_fits(sum(members[key].file_size for key in wanted), "its content")
        return {key: _read_member(archive, members[key], key) for key in wanted}


def npz_keys(path: str | os.PathLike) -> dict[str, tuple[np.dtype, tuple[int, ...]]]:
    """Type and shape of every array in a `.npz`, from the headers alone."""
    path = existing_file(path)
    with reading(path), zipfile.ZipFile(path) as archive:
        found = {}
        for key, member in _array_members(archive).items():
            with archive.open(member) as stream:
                shape, _, dtype = _read_header(stream)
            found[key] = (dtype, shape)
        return found


def _array_members(archive: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    return {info.filename.removesuffix(".npy"): info for info in archive.infolist() if info.filename.endswith(".npy")}


def _holds_objects(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bool:
    with archive.open(member) as stream:
        return _read_header(stream)[2].hasobject


def _read_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo, key: str) -> np.ndarray:
    with archive.open(member) as stream:
        array = _read_array(stream, member.file_size, f"array {key!r}")
        stream.read()  # to the end, so that the checksum is compared
        return array


def _read_header(stream: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype]:
    version = FORMAT.read_magic(stream)
    read = {(1, 0): FORMAT.read_array_header_1_0, (2, 0): FORMAT.read_array_header_2_0}
    # Version 3 is version 2 with UTF-8 field names, which plain arrays do not have.
    return read.get(version, FORMAT.read_array_header_2_0)(stream)


def _read_array(stream: IO[bytes], size: int, what: str) -> np.ndarray:
    shape, fortran, dtype = _read_header(stream)
    if dtype.hasobject:
        raise ValueError(f"{what} holds Python objects, which are never unpickled; save numbers instead")
    if dtype.names is not None or dtype.itemsize == 0 or any(extent < 0 for extent in shape):
        raise ValueError(f"{what} is not a plain array: type {dtype}, shape {shape}")
    expected, held = prod(shape) * dtype.itemsize, size - stream.tell()
    if expected != held:
        raise ValueError(f"{what} should hold {expected:,} bytes for {dtype} {shape}, the file has {held:,}")
    check_fits(expected, what)
    content = bytearray(expected)
    view, filled = memoryview(content), 0
    while filled < expected:
        # One large read from a deflated member would hold the content twice.
        block = stream.read(min(1 << 24, expected - filled))
        if not block:
            raise ValueError(f"{what} is cut short: {filled:,} of {expected:,} bytes")
        view[filled : filled + len(block)] = block
        filled += len(block)
    flat = np.frombuffer(content, dtype=dtype)
    return flat.reshape(shape[::-1]).T if fortran else flat.reshape(shape)


def is_archive(path: Path) -> bool:
    return zipfile.is_zipfile(path)
