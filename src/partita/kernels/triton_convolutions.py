"""Convolutions of kernel 4, stride 2, padding 1 for many models at once, as Triton kernels for CUDA.

A *big* image (E, B, 2S, 2S, C) and a *small* one (E, B, S, S, D), channels last, are tied by weights (E, 16, C, D), a
matrix for each of the 4 x 4 taps. `halve` goes from big to small, `double` back (the transposed convolution, which is
also the gradient of `halve`), `tap_products` makes the gradient of the weights. Patches are read where they lie: no
copy of them is written. Sums are float32.
"""

# A kernel is Triton's language, not Python's: the type checker cannot follow it.
# pyright: reportMissingImports=false, reportCallIssue=false, reportArgumentType=false
import triton
import triton.language as tl


@triton.jit
def _places(first, rows, SIDE: tl.constexpr, ROWS: tl.constexpr):
    """Of a run of small pixels: which image, line and column each is in, and whether it exists."""
    at = first + tl.arange(0, ROWS)
    return at, at // (SIDE * SIDE), (at // SIDE) % SIDE, at % SIDE, at < rows


@triton.jit
def _tap(big, image, line, column, exists, kh, kw, SIDE: tl.constexpr, BIG: tl.constexpr):
    """The big pixels under one tap, all channels: (ROWS, BIG). BIG is a power of 2 from 16 on."""
    y, x = 2 * line - 1 + kh, 2 * column - 1 + kw
    inside = exists & (y >= 0) & (y < 2 * SIDE) & (x >= 0) & (x < 2 * SIDE)
    at = ((image * 2 * SIDE + y) * 2 * SIDE + x) * BIG
    return tl.load(big + at[:, None] + tl.arange(0, BIG)[None, :], mask=inside[:, None], other=0.0)


@triton.jit
def _patch(big, image, line, column, exists, SIDE: tl.constexpr, BIG: tl.constexpr, DEPTH: tl.constexpr):
    """All taps of few channels side by side: (ROWS, DEPTH), zero from 16 * BIG on."""
    k = tl.arange(0, DEPTH)
    y = (2 * line - 1)[:, None] + (k // BIG // 4)[None, :]
    x = (2 * column - 1)[:, None] + (k // BIG % 4)[None, :]
    inside = exists[:, None] & (k < 16 * BIG)[None, :] & (y >= 0) & (y < 2 * SIDE) & (x >= 0) & (x < 2 * SIDE)
    at = ((image[:, None] * 2 * SIDE + y) * 2 * SIDE + x) * BIG + (k % BIG)[None, :]
    return tl.load(big + at, mask=inside, other=0.0)


@triton.jit
def halve(
    big, weight, bias, small, rows,
    SIDE: tl.constexpr, BIG: tl.constexpr, SMALL: tl.constexpr, RELU: tl.constexpr, BIASED: tl.constexpr,
    ROWS: tl.constexpr, DEPTH: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    """small = sum over taps of patch(big) @ weight + bias, then max(0, .) if RELU."""
    model = tl.program_id(1).to(tl.int64)
    at, image, line, column, exists = _places(tl.program_id(0) * ROWS, rows, SIDE, ROWS)
    big += model * rows * 4 * BIG
    weight += model * 16 * BIG * SMALL
    d = tl.arange(0, COLUMNS)
    total = tl.zeros((ROWS, COLUMNS), tl.float32)
    if BIG >= 16:
        c = tl.arange(0, BIG)
        for tap in range(16):
            a = _tap(big, image, line, column, exists, tap // 4, tap % 4, SIDE, BIG)
            w = tl.load(weight + (tap * BIG + c)[:, None] * SMALL + d[None, :], mask=(d < SMALL)[None, :], other=0.0)
            total = tl.dot(a, w, total)
    else:
        k = tl.arange(0, DEPTH)
        a = _patch(big, image, line, column, exists, SIDE, BIG, DEPTH)
        known = (k < 16 * BIG)[:, None] & (d < SMALL)[None, :]
        total = tl.dot(a, tl.load(weight + k[:, None] * SMALL + d[None, :], mask=known, other=0.0), total)
    if BIASED:
        total += tl.load(bias + model * SMALL + d, mask=d < SMALL, other=0.0).to(tl.float32)[None, :]
    if RELU:
        total = tl.maximum(total, 0.0)
    to = small + (model * rows + at)[:, None] * SMALL + d[None, :]
    tl.store(to, total.to(small.dtype.element_ty), mask=exists[:, None] & (d < SMALL)[None, :])


@triton.jit
def double(
    small, weight, bias, big, rows,
    SIDE: tl.constexpr, BIG: tl.constexpr, SMALL: tl.constexpr, RELU: tl.constexpr, BIASED: tl.constexpr,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    """big = the transpose of `halve` applied to small, + bias, then max(0, .) if RELU.

    Each of the 2 x 2 kinds of big pixels (even or odd line and column) sees 2 x 2 taps; the kinds are a grid axis.
    """
    model = tl.program_id(1).to(tl.int64)
    odd_line, odd_column = tl.program_id(2) // 2, tl.program_id(2) % 2
    _, image, line, column, exists = _places(tl.program_id(0) * ROWS, rows, SIDE, ROWS)
    small += model * rows * SMALL
    weight += model * 16 * BIG * SMALL
    c, d = tl.arange(0, COLUMNS), tl.arange(0, SMALL)
    total = tl.zeros((ROWS, COLUMNS), tl.float32)
    for tap in range(4):
        y, x = line + odd_line - tap // 2, column + odd_column - tap % 2
        inside = exists & (y >= 0) & (y < SIDE) & (x >= 0) & (x < SIDE)
        source = ((image * SIDE + y) * SIDE + x) * SMALL
        a = tl.load(small + source[:, None] + d[None, :], mask=inside[:, None], other=0.0)
        kernel = (1 - odd_line + tap // 2 * 2) * 4 + 1 - odd_column + tap % 2 * 2
        w = tl.load(weight + (kernel * BIG + c)[None, :] * SMALL + d[:, None], mask=(c < BIG)[None, :], other=0.0)
        total = tl.dot(a, w, total)
    if BIASED:
        total += tl.load(bias + model * BIG + c, mask=c < BIG, other=0.0).to(tl.float32)[None, :]
    if RELU:
        total = tl.maximum(total, 0.0)
    pixel = (image * 2 * SIDE + 2 * line + odd_line) * 2 * SIDE + 2 * column + odd_column
    to = big + (model * rows * 4 + pixel)[:, None] * BIG + c[None, :]
    tl.store(to, total.to(big.dtype.element_ty), mask=exists[:, None] & (c < BIG)[None, :])


@triton.jit
def tap_products(
    big, small, products, rows, share,
    SIDE: tl.constexpr, BIG: tl.constexpr, SMALL: tl.constexpr,
    ROWS: tl.constexpr, DEPTH: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    """products[split, model, tap, c, d] = sum over one share of the small pixels of patch(big)[tap, c] * small[d].

    A program takes one tap, or all 16 where channels are few.
    """
    tap, model, split = tl.program_id(0), tl.program_id(1).to(tl.int64), tl.program_id(2)
    big += model * rows * 4 * BIG
    small += model * rows * SMALL
    d = tl.arange(0, COLUMNS)
    k = tl.arange(0, DEPTH)
    total = tl.zeros((DEPTH, COLUMNS), tl.float32)
    for first in range(split * share, tl.minimum((split + 1) * share, rows), ROWS):
        at, image, line, column, exists = _places(first, rows, SIDE, ROWS)
        exists = exists & (at < (split + 1) * share)
        if BIG >= 16:
            a = _tap(big, image, line, column, exists, tap // 4, tap % 4, SIDE, BIG)
        else:
            a = _patch(big, image, line, column, exists, SIDE, BIG, DEPTH)
        known = exists[:, None] & (d < SMALL)[None, :]
        b = tl.load(small + at[:, None] * SMALL + d[None, :], mask=known, other=0.0)
        total = tl.dot(tl.trans(a), b, total)
    row = tap * BIG + k
    to = products + ((split * tl.num_programs(1) + model) * 16 * BIG + row)[:, None] * SMALL + d[None, :]
    tl.store(to, total, mask=(row < 16 * BIG)[:, None] & (d < SMALL)[None, :])
