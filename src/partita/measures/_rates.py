"""Regression of counts."""

import numpy as np
import torch
from torch import Tensor

RIDGE = 1e-3
STEPS = 30


def poisson_regression(counts: np.ndarray, known: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Effects (c, D) of what is known (n, c) on counts (n, D): log rates are log `expected` + known @ effects, by
    maximum likelihood with a small ridge, each feature in units of its total."""
    y, c, base = (torch.as_tensor(np.asarray(each, np.float64)) for each in (counts, known, expected))
    total = y.sum(0).clamp(min=1.0)
    effects = torch.zeros(c.shape[1], y.shape[1], dtype=torch.float64, requires_grad=True)
    search = torch.optim.LBFGS([effects], max_iter=STEPS, line_search_fn="strong_wolfe")

    def loss() -> Tensor:
        search.zero_grad()
        told = c @ effects
        value = ((base * told.exp() - y * told).sum(0) / total).sum() + RIDGE * effects.square().sum()
        value.backward()
        return value

    with torch.enable_grad():
        search.step(loss)
    return effects.detach().numpy()
