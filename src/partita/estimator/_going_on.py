"""Fitting again where the last fit ended."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from partita.networks._building import own_parameters
from partita.recipes import Candidate, Phase, Program
from partita.recipes.program import Started
from partita.training.defaults import check_likelihood
from partita.training.model import check_parameters

History = Mapping[str, np.ndarray]


def goes_on(estimator: Any) -> bool:
    """Whether `fit` goes on: where that is asked for, there is a model, and its method takes steps."""
    return bool(estimator.warm_start) and estimator.__sklearn_is_fitted__() and bool(estimator._recipe().players)


def go_on(estimator: Any, X: np.ndarray, covariates: Any) -> tuple[Program, np.ndarray, dict[str, np.ndarray]]:
    """The program that goes on with the fitted model, the rows as it sees them, and what is known beside them. Units,
    likelihood, network and groups stay what they are."""
    recipe, program = estimator._recipe(), estimator._program()
    try:
        check_parameters(recipe, estimator.parameters_)
    except ValueError as error:
        raise ValueError(
            f"warm_start goes on with the fitted model, and these settings are another's: {error}"
        ) from None
    check_likelihood(recipe.architecture.likelihood, X, estimator.x_scale_)
    again = Candidate((Phase(recipe),), finish=program.candidates[estimator.candidate_].finish)
    start = LeftOff(estimator.parameters_, int(estimator.history_["step"][-1]))
    going = Program((again,), hold_out=program.hold_out, patience=program.patience, start=start)
    return going, *estimator._seen(X, covariates)


@dataclass(frozen=True, eq=False)
class LeftOff:
    """A start at the parameters of a model, and at the step where it was left: schedules and draws go on from there.
    Adam's moments begin anew."""

    parameters: Mapping[str, Tensor]
    step: int

    def __call__(self, x: np.ndarray, seed: int, *expected: np.ndarray) -> Started:
        return Started(0, None, self._write, f"start: where the last fit ended, at step {self.step}", self.step)

    def _write(self, networks: Mapping[str, nn.Module], x: Tensor, *expected: Tensor) -> None:
        for name, module in networks.items():
            own = own_parameters(name, self.parameters)
            with torch.no_grad():
                module.load_state_dict(own, strict=True)


def joined(before: History, after: History) -> dict[str, np.ndarray]:
    """The log of a model that went on; NaN where a quantity was not looked at before."""
    unknown = np.full(len(before["step"]), np.nan, np.float32)
    return {name: np.concatenate([before.get(name, unknown), values]) for name, values in after.items()}
