"""Matlab's `.mat` of versions 5 to 7, read by its published layout (MAT-File Format, The MathWorks).

Not by scipy.io, which ends the process on some damaged files: a type of number that does not exist is looked up beyond
the end of its table. Here every length is compared with what is there before it is believed.
"""

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import BinaryIO

import numpy as np

from partita.data._memory import check_fits
from partita.data._sparse import SparseTable

HEADER, BLOCK = 128, 1 << 20
ORDERS = {b"IM": "<", b"MI": ">"}  # of bytes, as the end of the header says
MATRIX, COMPRESSED = 14, 15
STORED = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
STRUCT, SPARSE = 2, 5
MEANT = {6: "f8", 7: "f4", 8: "i1", 9: "u1", 10: "i2", 11: "u2", 12: "i4", 13: "u4", 14: "i8", 15: "u8"}
LOGICAL, COMPLEX = 0x0200, 0x0800
DEEPEST = 16  # structs in structs
SMALLER = "save fewer variables, or an array as HDF5 (.h5), which stream=true reads as it is needed"

Arrays = dict[str, np.ndarray]


def read_mat5(file: BinaryIO) -> Arrays:
    """Arrays of real numbers by name, those in structs by "struct.field"; text, cells and objects are left out."""
    unpacked = sum(size for _, size in _elements(file, keep=False))
    check_fits(4 * unpacked, f"its content, {unpacked:,} bytes unpacked,", SMALLER)
    found: Arrays = {}
    for content, _ in _elements(file, keep=True):
        if content is not None:
            content.variable("", found, 0)
    return found


def is_mat5(file: BinaryIO) -> bool:
    return file.read(HEADER)[126:128] in ORDERS


def _elements(file: BinaryIO, keep: bool) -> Iterator[tuple["_Content | None", int]]:
    """Every variable of the file, unpacked where it is kept, and its size."""
    file.seek(0)
    order = ORDERS.get(file.read(HEADER)[126:128])
    if order is None:
        raise ValueError("damaged: not a file of Matlab 5 to 7")
    while len(tag := file.read(8)) == 8:
        kind, length = struct.unpack(f"{order}II", tag)
        if kind not in (MATRIX, COMPRESSED):
            raise ValueError(f"damaged: a variable of kind {kind}")
        if kind == MATRIX:
            content = file.read(length) if keep else b""
            if not keep:
                file.seek(length, 1)
            yield (_Content(content, order) if keep else None), length
            continue
        pieces, size, unpack = [], 0, zlib.decompressobj()
        while length > 0 and (packed := file.read(min(BLOCK // 64, length))):
            length -= len(packed)
            while packed and not unpack.eof:
                piece = unpack.decompress(packed, BLOCK)
                packed, size = unpack.unconsumed_tail, size + len(piece)
                pieces += [piece] if keep else []
        yield (_unpacked(b"".join(pieces), order) if keep else None), size


def _unpacked(content: bytes, order: str) -> "_Content":
    kind, inner = _Content(content, order).element()
    if kind != MATRIX:
        raise ValueError(f"damaged: a variable of kind {kind}")
    return _Content(inner, order)


@dataclass
class _Content:
    """The bytes of a variable, read from their beginning."""

    content: bytes | memoryview
    order: str
    at: int = 0

    def element(self) -> tuple[int, memoryview]:
        """The kind and content of the next part: eight bytes say both, or hold both where it is small."""
        whole = memoryview(self.content)
        if len(whole) < self.at + 8:
            raise ValueError("damaged: a variable is cut short")
        kind, length = struct.unpack_from(f"{self.order}II", whole, self.at)
        begin = self.at + 8
        if kind >> 16:
            kind, length, begin = kind & 0xFFFF, kind >> 16, self.at + 4
        if begin + length > len(whole) or (begin == self.at + 4 and length > 4):
            raise ValueError("damaged: a variable is cut short")
        self.at = self.at + 8 if begin == self.at + 4 else begin + -(-length // 8) * 8
        return kind, whole[begin : begin + length]

    def numbers(self) -> np.ndarray:
        kind, content = self.element()
        if kind not in STORED:
            raise ValueError(f"damaged: numbers of kind {kind}")
        dtype = np.dtype(STORED[kind]).newbyteorder(self.order)  # type: ignore[arg-type]
        if len(content) % dtype.itemsize:
            raise ValueError("damaged: part of a number")
        return np.frombuffer(content, dtype)

    def variable(self, above: str, found: Arrays, depth: int) -> None:
        """Adds the arrays of numbers of this variable, by name."""
        if not len(self.content):
            return
        flags, shape = self.numbers(), tuple(self.numbers().tolist())
        name = above or bytes(self.element()[1]).decode("latin-1")
        if above:
            self.element()
        if len(flags) < 2 or len(shape) < 2 or min(shape) < 0:
            raise ValueError(f"damaged: {name!r} says it has shape {shape}")
        kind = int(flags[0]) & 0xFF
        if kind == STRUCT and prod(shape) == 1 and depth < DEEPEST:
            self._fields(name, found, depth)
        elif kind == SPARSE and not int(flags[0]) & COMPLEX:
            found[name] = self._sparse(name, shape)
        elif kind in MEANT and not int(flags[0]) & COMPLEX:
            values = self.numbers()
            if len(values) != prod(shape):
                raise ValueError(f"damaged: {name!r} of shape {shape} has {len(values):,} numbers")
            meant = np.bool_ if int(flags[0]) & LOGICAL else np.dtype(MEANT[kind])
            with np.errstate(invalid="ignore", over="ignore"):
                found[name] = values.astype(meant).reshape(shape, order="F")

    def _fields(self, name: str, found: Arrays, depth: int) -> None:
        width = self.numbers()
        length = int(width[0]) if len(width) else 0
        names = bytes(self.element()[1])
        if length < 1:
            raise ValueError(f"damaged: fields of {name!r} have names of length {length}")
        for start in range(0, len(names), length):
            field = names[start : start + length].partition(b"\0")[0].decode("latin-1")
            kind, content = self.element()
            if kind == MATRIX:
                _Content(content, self.order).variable(f"{name}.{field}", found, depth + 1)

    def _sparse(self, name: str, shape: tuple[int, ...]) -> np.ndarray:
        places, ends, values = self.numbers(), self.numbers(), self.numbers()
        count = int(ends[-1]) if len(ends) else 0
        if len(shape) != 2 or not 0 <= count <= min(len(places), len(values)):
            raise ValueError(f"damaged: the sparse array {name!r} of shape {shape} has {len(values):,} numbers")
        check_fits(8.0 * prod(shape), f"{name!r}, {shape} with its zeros,", SMALLER)
        places, values = places[:count], values[:count]  # room for more may follow
        table = SparseTable(lambda: (values, places), ends, (shape[0], shape[1]), by_rows=False)
        return table.in_memory.whole_rows(np.arange(shape[0]))
