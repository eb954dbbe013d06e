"""Filled polygons as images of 0 and 1, by the rule a graphics card uses, for many places of one polygon at once.

Vertices are whole numbers of 1/256 pixel. A pixel is lit if its centre lies inside; a centre on an edge counts for left
and bottom edges only (y points down). Each image row is one 64-bit word: an edge that crosses the row flips every pixel
from its crossing rightwards, so a pixel is lit where an odd number of crossings lies at or left of its centre.
"""

import numpy as np

STEPS = 256  # vertex positions within a pixel
WIDTH = 64
# FROM_COLUMN[c] has the bits of columns c, c + 1, ..., 63; the last entry is empty.
FROM_COLUMN = np.append(np.uint64(2**64 - 1) << np.arange(WIDTH, dtype=np.uint64), np.uint64(0)).astype("<u8")


def fill(x: np.ndarray, y: np.ndarray, height: int = WIDTH) -> np.ndarray:
    """Bit rows (I, J, height) of the polygon with vertices (x[i], y[j]) for every i and j; x is (I, V), y is (J, V)."""
    dx, dy = np.roll(x, -1, 1) - x, np.roll(y, -1, 1) - y
    place, edge, row = _crossings(y, dy, height)
    down = STEPS * row + STEPS // 2 - y[place, edge]
    run, rise = dx[:, edge] * np.sign(dy[place, edge]), np.abs(dy[place, edge])
    # First column whose centre is at or right of the crossing: ceil((x - 128 + down * dx / dy) / 256), in integers.
    first = -((-((x[:, edge] - STEPS // 2) * rise + down * run)) // (STEPS * rise))
    flips = FROM_COLUMN[first.clip(0, WIDTH)]
    target = place * height + row
    starts = np.flatnonzero(np.diff(target, prepend=-1))
    bits = np.zeros((len(x), len(y) * height), dtype="<u8")
    if len(starts):
        bits[:, target[starts]] = np.bitwise_xor.reduceat(flips, starts, axis=1)
    return bits.reshape(len(x), len(y), height)


def _crossings(y: np.ndarray, dy: np.ndarray, height: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Which edge of which place crosses which row of pixel centres, ordered by (place, row)."""
    # Half-open from above, (top, bottom]: a centre on a bottom edge counts, horizontal edges cross nothing.
    top, bottom = np.minimum(y, y + dy), np.maximum(y, y + dy)
    first = ((top - STEPS // 2) // STEPS + 1).clip(0, height)
    last = ((bottom - STEPS // 2) // STEPS).clip(-1, height - 1)
    count = (last - first + 1).clip(0)
    place, edge = np.nonzero(count)
    repeats = count[place, edge]
    nth = np.arange(repeats.sum()) - np.repeat(np.cumsum(repeats) - repeats, repeats)
    row = np.repeat(first[place, edge], repeats) + nth
    place, edge = np.repeat(place, repeats), np.repeat(edge, repeats)
    order = np.argsort(place * height + row, kind="stable")
    return place[order], edge[order], row[order]


def unpack(bits: np.ndarray) -> np.ndarray:
    """Bit rows (..., height) as images (..., height, 64) of uint8 0 and 1."""
    octets = np.ascontiguousarray(bits, dtype="<u8").view(np.uint8).reshape(*bits.shape, WIDTH // 8)
    return np.unpackbits(octets, axis=-1, bitorder="little")
