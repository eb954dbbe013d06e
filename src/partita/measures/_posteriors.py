"""Posteriors from outside, checked once."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from partita.distributions.normal import NARROWEST, WIDEST
from partita.measures._arrays import as_matrix


def as_posteriors(z: Any, mean: Any, log_variance: Any) -> tuple[Tensor, Tensor, Tensor]:
    names = ("z", "mean", "log_variance")
    tensors = [_as_tensor(values, name) for values, name in zip((z, mean, log_variance), names)]
    shapes = [tuple(t.shape) for t in tensors]
    if len(set(shapes)) > 1:
        raise ValueError(
            f"z, mean and log_variance must have one shape (n, latents), got {shapes[0]}, {shapes[1]}, {shapes[2]}"
        )
    if shapes[0][0] < 2:
        raise ValueError("an aggregated posterior needs at least 2 rows, got 1")
    _check_widths(tensors[2])
    device = tensors[0].device
    return tensors[0], tensors[1].to(device), tensors[2].to(device)


def _check_widths(log_variance: Tensor) -> None:
    """ValueError where float32, by which models are trained, would not agree with float64; another unit helps."""
    outside = (log_variance < NARROWEST) | (log_variance > WIDEST)
    if bool(outside.any()):
        row, column = (int(i) for i in outside.nonzero()[0])
        raise ValueError(
            f"log_variance is {log_variance[row, column].item():.3g} at row {row}, column {column}, outside "
            f"{NARROWEST:g} to {WIDEST:g}: it is the natural logarithm of the variance; where it is right, put that "
            "latent (z, mean and log_variance) into another unit"
        )


def _as_tensor(values: Any, name: str) -> Tensor:
    if not isinstance(values, Tensor) or values.device.type != "cuda" or values.ndim != 2 or not values.numel():
        return torch.from_numpy(np.require(as_matrix(values, name), requirements=["C", "W"]))
    values = values.detach().to(torch.float64)
    if not bool(torch.isfinite(values).all()):
        as_matrix(values, name)
    return values
