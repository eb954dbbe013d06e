"""What is known of rows beside x, by its name in a Batch: labels, covariates, exposures, which values are observed."""

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from partita.recipes import Program, Recipe
from partita.trace import Dream
from partita.training.disk import on_device

Beside = Mapping[str, np.ndarray]


def rows_beside(recipe: Recipe, beside: Mapping[str, np.ndarray | None], device: torch.device) -> dict[str, Tensor]:
    """On the device, those that are given; ValueError where the recipe's labels or covariates are not among them."""
    house, given = recipe.architecture, {name: values for name, values in beside.items() if values is not None}
    needed = {"u": ("labels u", house.labels if recipe.labels != "none" else 0)}
    needed["covariates"] = ("covariates", house.covariates)
    for name, (what, expected) in needed.items():
        if expected and (name not in given or given[name].shape[-1] != expected):
            found = given[name].shape if name in given else None
            raise ValueError(f"the method needs {what}, {expected} a row; got {found}")
    tensors = {name: on_device(values, device) for name, values in given.items()}
    # a mask is as large as the data: it stays booleans
    return {name: tensor if tensor.dtype == torch.bool else tensor.float() for name, tensor in tensors.items()}


def sees_beside(program: Program) -> bool:
    """Whether the method's encoder and decoder can see anything beside x: not where networks are solved for once the
    steps are over, nor in a game without a likelihood."""
    solved = any(candidate.finish is not None for candidate in program.candidates)
    return not solved and not isinstance(program.recipe.trace, Dream)


def taken(beside: Beside | None, rows: np.ndarray | slice) -> dict[str, np.ndarray]:
    """Of these rows alone."""
    return {name: values[rows] for name, values in (beside or {}).items()}
