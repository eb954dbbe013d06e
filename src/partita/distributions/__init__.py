"""Densities as frozen records of tensors, and partitions of their coordinates."""

__all__ = [
    "LIKELIHOODS",
    "PRIORS",
    "STANDARD_NORMAL",
    "ConditionalNormal",
    "Decoded",
    "DiagonalNormal",
    "EquicorrelatedNormal",
    "FullNormal",
    "Groups",
    "Likelihood",
    "LogitNormal",
    "LpNested",
    "Posterior",
    "Prior",
    "StandardNormal",
    "UniformCube",
    "as_groups",
    "as_likelihood",
    "is_refinement",
    "listed_likelihoods",
    "parse_prior",
    "standard_normal_log_prob_each",
]

import warnings
from typing import Any

from partita.distributions.blocks import Groups, as_groups, is_refinement
from partita.distributions.conditional import ConditionalNormal, LogitNormal
from partita.distributions.decoded import Decoded
from partita.distributions.equicorrelated import EquicorrelatedNormal
from partita.distributions.full import FullNormal
from partita.distributions.likelihoods import LIKELIHOODS, Likelihood, as_likelihood, listed_likelihoods
from partita.distributions.nested import LpNested
from partita.distributions.normal import DiagonalNormal, standard_normal_log_prob_each
from partita.distributions.posterior import Posterior
from partita.distributions.priors import PRIORS, STANDARD_NORMAL, Prior, StandardNormal, parse_prior
from partita.distributions.uniform import UniformCube

# Densities of 0.1.0, by the family each is now.
_OLD = {
    "Bernoulli": lambda logits: LIKELIHOODS["bernoulli"].at(logits),
    "Gaussian": lambda mean, log_variance: LIKELIHOODS["gaussian"].at(mean, {"log_variance": log_variance}),
}


def __getattr__(name: str) -> Any:
    if name not in _OLD:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    now = f"LIKELIHOODS[{name.lower()!r}].at"
    warnings.warn(f"{__name__}.{name} is {now} now; the old name goes with the next release", DeprecationWarning, 2)
    return _OLD[name]
