"""What covariates explain by themselves: linear effects on features, or on logarithms of rates."""

import numpy as np
import torch
from torch import Tensor

from partita.training.scale import Scale

RIDGE = 1e-3  # of the rows: levels share their common part
STEPS = 30


def with_effects(scale: Scale, rows: np.ndarray, covariates: np.ndarray, exposure: np.ndarray | None = None) -> Scale:
    """The scale that also takes off what the covariates (n, c) of rows (n, ...), NaN where a value is missing, explain.
    Nothing of it is taken off where they are average."""
    flat, shape = rows.reshape(len(rows), -1), rows.shape[1:]
    centred = np.asarray(covariates - covariates.mean(0), np.float64)
    known = np.isfinite(flat)
    if scale.counts:
        expected = np.broadcast_to(scale.spread.numpy(), shape).reshape(-1) * np.ones((len(flat), 1))
        expected = expected if exposure is None else expected * exposure[:, None]
        effects = _of_rates(np.where(known, flat, 0), centred, expected * known)
    else:
        offset = np.broadcast_to(scale.offset.numpy(), shape).reshape(-1)
        if scale.name == "none":
            offset = np.where(known, flat, 0).sum(0) / np.maximum(known.sum(0), 1)
        gram = centred.T @ centred + RIDGE * len(flat) * np.eye(centred.shape[1])
        by_chance = len(flat) / np.maximum(known.sum(0), 1)  # as if what is missing were so by chance
        effects = np.linalg.solve(gram, centred.T @ np.where(known, flat - offset, 0)) * by_chance
    middle = torch.as_tensor((covariates.mean(0) @ effects).reshape(shape))
    effects = torch.as_tensor(effects.reshape(-1, *shape))
    if scale.counts:
        return Scale(scale.name, scale.offset, scale.spread * torch.exp(-middle), True, effects)
    return Scale(scale.name, scale.offset - middle, scale.spread, False, effects)


def _of_rates(counts: np.ndarray, covariates: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Poisson regression of every feature: log rates are log expected + c @ effects."""
    y, c, base = (torch.as_tensor(np.asarray(each, np.float64)) for each in (counts, covariates, expected))
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
