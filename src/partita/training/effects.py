"""What covariates explain by themselves: linear effects on features, or on logarithms of rates."""

import numpy as np
import torch

from partita.measures._rates import RIDGE, poisson_regression
from partita.training.scale import Scale


def with_effects(scale: Scale, rows: np.ndarray, covariates: np.ndarray, exposure: np.ndarray | None = None) -> Scale:
    """The scale that also takes off what the covariates (n, c) of rows (n, ...), NaN where a value is missing, explain.
    Nothing of it is taken off where they are average."""
    flat, shape = rows.reshape(len(rows), -1), rows.shape[1:]
    centred = np.asarray(covariates - covariates.mean(0), np.float64)
    known = np.isfinite(flat)
    common = torch.zeros(shape, dtype=torch.float64)  # to all rows: a mean of rates is not the rate of mean covariates
    if scale.counts:
        expected = np.broadcast_to(scale.spread.numpy(), shape).reshape(-1) * np.ones((len(flat), 1))
        expected = expected if exposure is None else expected * exposure[:, None]
        design = np.concatenate([centred, np.ones((len(flat), 1))], 1)
        *effects, common = poisson_regression(np.where(known, flat, 0), design, expected * known)
        effects, common = np.stack(effects), torch.as_tensor(common.reshape(shape))
    else:
        offset = np.broadcast_to(scale.offset.numpy(), shape).reshape(-1)
        if scale.name == "none":
            offset = np.where(known, flat, 0).sum(0) / np.maximum(known.sum(0), 1)
        # a ridge: levels share their common part
        gram = centred.T @ centred + RIDGE * len(flat) * np.eye(centred.shape[1])
        by_chance = len(flat) / np.maximum(known.sum(0), 1)  # as if what is missing were so by chance
        effects = np.linalg.solve(gram, centred.T @ np.where(known, flat - offset, 0)) * by_chance
    middle = torch.as_tensor((covariates.mean(0) @ effects).reshape(shape))
    effects = torch.as_tensor(effects.reshape(-1, *shape))
    if scale.counts:
        return Scale(scale.name, scale.offset, scale.spread * torch.exp(common - middle), True, effects)
    return Scale(scale.name, scale.offset - middle, scale.spread, False, effects)
