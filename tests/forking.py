"""Whether commands can be tried in forks: to load everything takes longer than most of them."""

import os

import torch


def may_fork() -> bool:
    """Not where OpenMP may have threads, or CUDA has begun: neither survives it."""
    return os.environ.get("OMP_NUM_THREADS") == "1" and not torch.cuda.is_initialized()
