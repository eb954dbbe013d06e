"""Convolutions of kernel 4, stride 2, padding 1 of E models at once, as operations of torch: E comes from `vmap`.

For bfloat16 on a CUDA device in Triton, and float32 on a CPU in C: PyTorch's grouped convolutions leave most of either
idle. Images are channels last: big (E, B, 2S, 2S, C), small (E, B, S, S, D), weights (E, 16, C, D).
`torch.nn.functional.conv2d` is the oracle.
"""

import torch
from torch import Tensor

from partita.kernels.build import address, library, whole_numbers
from partita.kernels.models import over_models

# Small pixels a program takes at once; programs that keep a large GPU busy.
ROWS, PROGRAMS = 128, 528
LEAST_CHANNELS = 16


def covers(channels: int) -> bool:
    """Channel numbers the kernels take on the small side: whole tiles."""
    return channels >= LEAST_CHANNELS and channels & (channels - 1) == 0


@torch.library.custom_op("partita::halve", mutates_args=(), device_types="cuda")
def halve(big: Tensor, weight: Tensor, bias: Tensor | None, relu: bool) -> Tensor:
    """Convolution with bias, then ReLU where asked: (E, B, 2S, 2S, C) -> (E, B, S, S, D)."""
    from partita.kernels import triton_convolutions as kernels

    big, weight = big.contiguous(), weight.contiguous()
    small = _half(big, weight)
    models, rows, side, wide, narrow = _sizes(big, small)
    kernels.halve[(-(-rows // ROWS), models)](  # type: ignore[index]
        big, weight, _place(bias, weight), small, rows,
        SIDE=side, BIG=wide, SMALL=narrow, RELU=relu, BIASED=bias is not None,
        ROWS=ROWS, DEPTH=_tile(16 * wide) if wide < LEAST_CHANNELS else wide, COLUMNS=_tile(narrow),
    )  # fmt: skip
    return small


@torch.library.custom_op("partita::double", mutates_args=(), device_types="cuda")
def double(small: Tensor, weight: Tensor, bias: Tensor | None, relu: bool) -> Tensor:
    """Transposed convolution with bias, then ReLU where asked: (E, B, S, S, D) -> (E, B, 2S, 2S, C)."""
    from partita.kernels import triton_convolutions as kernels

    small, weight = small.contiguous(), weight.contiguous()
    big = _doubled(small, weight)
    models, rows, side, wide, narrow = _sizes(big, small)
    kernels.double[(-(-rows // ROWS), models, 4)](  # type: ignore[index]
        small, weight, _place(bias, weight), big, rows,
        SIDE=side, BIG=wide, SMALL=narrow, RELU=relu, BIASED=bias is not None, ROWS=ROWS, COLUMNS=_tile(wide),
    )  # fmt: skip
    return big


@torch.library.custom_op("partita::tap_products", mutates_args=(), device_types="cuda")
def tap_products(big: Tensor, small: Tensor) -> Tensor:
    """The gradient of the weights in float32, (E, 16, C, D): sums over small pixels of patch times pixel."""
    from partita.kernels import triton_convolutions as kernels

    big, small = big.contiguous(), small.contiguous()
    models, rows, side, wide, narrow = _sizes(big, small)
    taps = 1 if wide < LEAST_CHANNELS else 16
    splits = max(1, min(-(-PROGRAMS // (taps * models)), rows // 512))
    share = -(-rows // splits)
    products = torch.empty(splits, models, 16, wide, narrow, device=big.device, dtype=torch.float32)
    kernels.tap_products[(taps, models, splits)](  # type: ignore[index]
        big, small, products, rows, share,
        SIDE=side, BIG=wide, SMALL=narrow,
        ROWS=64, DEPTH=_tile(16 * wide) if taps == 1 else wide, COLUMNS=_tile(narrow),
    )  # fmt: skip
    return products[0] if splits == 1 else products.sum(0)


@halve.register_kernel("cpu")
def _(big: Tensor, weight: Tensor, bias: Tensor | None, relu: bool) -> Tensor:
    small = _half(big, weight)
    _in_c("halve", [big, weight, bias], big, small, [relu], small)
    return small


@double.register_kernel("cpu")
def _(small: Tensor, weight: Tensor, bias: Tensor | None, relu: bool) -> Tensor:
    big = _doubled(small, weight)
    _in_c("double_", [small, weight, bias], big, small, [relu], big)
    return big


@tap_products.register_kernel("cpu")
def _(big: Tensor, small: Tensor) -> Tensor:
    products = big.new_empty(small.shape[0], 16, big.shape[-1], small.shape[-1])
    _in_c("tap_products", [big, small], big, small, [], products)
    return products


def _in_c(name: str, given: list[Tensor | None], big: Tensor, small: Tensor, flags: list[bool], into: Tensor) -> None:
    given = [None if value is None else value.contiguous() for value in given]
    models, images, side, _, narrow = small.shape
    made = library("convolutions")
    assert made is not None
    sizes = whole_numbers(models, images, side, big.shape[-1], narrow, *flags)
    if made[name](*map(address, given), *sizes, address(into)):
        raise MemoryError("no memory for the convolutions of a batch")


def _half(big: Tensor, weight: Tensor) -> Tensor:
    models, images, side = big.shape[:3]
    return big.new_empty(models, images, side // 2, side // 2, weight.shape[-1])


def _doubled(small: Tensor, weight: Tensor) -> Tensor:
    models, images, side = small.shape[:3]
    return small.new_empty(models, images, 2 * side, 2 * side, weight.shape[-2])


def _place(bias: Tensor | None, weight: Tensor) -> Tensor:
    return weight if bias is None else bias.contiguous()  # without a bias the kernel is given a place it never reads


def _tile(channels: int) -> int:
    return max(LEAST_CHANNELS, 1 << (channels - 1).bit_length())


def _sizes(big: Tensor, small: Tensor) -> tuple[int, int, int, int, int]:
    """Models, small pixels of a model, the small side, and the channels of both."""
    if big[0].numel() >= 2**31 or small[0].numel() >= 2**31:  # offsets within a model are 32 bits
        raise ValueError(f"a batch of images of {tuple(big.shape[1:])} is too large for one step; use a smaller batch")
    models, images, side, _, narrow = small.shape
    return models, images * side * side, side, big.shape[-1], narrow


halve.register_fake(lambda big, weight, bias, relu: _half(big, weight))
double.register_fake(lambda small, weight, bias, relu: _doubled(small, weight))


@tap_products.register_fake
def _(big, small):
    return big.new_empty(small.shape[0], 16, big.shape[-1], small.shape[-1], dtype=torch.float32)


def _remember(ctx, inputs, output) -> None:
    image, weight, bias, relu = inputs
    ctx.save_for_backward(image, weight, *([output] if relu else []))
    ctx.biased = bias is not None


def _masked(ctx, gradient: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
    """Image, weight, the gradient before the ReLU, and the bias's."""
    image, weight, *output = ctx.saved_tensors
    if output:
        gradient = torch.ops.aten.threshold_backward(gradient, output[0], 0)
    bias = gradient.sum((1, 2, 3), dtype=torch.float32).to(weight.dtype) if ctx.biased else None
    return image, weight, gradient, bias


def _halve_backward(ctx, gradient: Tensor):
    big, weight, gradient, bias = _masked(ctx, gradient)
    to_big = double(gradient, weight, None, False) if ctx.needs_input_grad[0] else None
    return to_big, tap_products(big, gradient).to(weight.dtype), bias, None


def _double_backward(ctx, gradient: Tensor):
    small, weight, gradient, bias = _masked(ctx, gradient)
    to_small = halve(gradient, weight, None, False) if ctx.needs_input_grad[0] else None
    return to_small, tap_products(gradient, small).to(weight.dtype), bias, None


halve.register_autograd(_halve_backward, setup_context=_remember)
double.register_autograd(_double_backward, setup_context=_remember)


for _operation in (halve, double, tap_products):
    _operation.register_vmap(over_models(_operation))
