"""Who computes what: one table for every kernel of ours, by device and precision."""

import torch

from partita.kernels.build import assumed_constant, found_triton, library

TRITON, C, TORCH = "triton", "c", "torch"
# What has no row here, and all where Triton or a C compiler is missing, is done by plain torch.
TABLE = {
    "mixture": {"cuda float32": TRITON},
    "bank": {"cuda float32": TRITON},
    "batch": {"cuda float32": TRITON, "cpu float32": C},
    "convolutions": {"cuda bfloat16": TRITON, "cpu float32": C},
}
NAMES = {torch.float32: "float32", torch.float64: "float64", torch.bfloat16: "bfloat16"}


def implementation(kernel: str, device: str, dtype: torch.dtype) -> str:
    """TRITON, C or TORCH: which of them takes tensors of this type on a device of this kind ("cpu", "cuda")."""
    chosen = TABLE[kernel].get(f"{device} {NAMES.get(dtype, '')}", TORCH)
    if chosen == TRITON:
        return TRITON if found_triton() else TORCH
    if chosen == C:
        return C if (found_batch() if kernel == "batch" else found_convolutions()) else TORCH
    return TORCH


# One function a library: the compiler that traces a step takes the answer of a function without arguments for granted.


@assumed_constant
def found_batch() -> bool:
    return library("batch") is not None


@assumed_constant
def found_convolutions() -> bool:
    return library("convolutions") is not None
