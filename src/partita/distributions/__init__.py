"""Densities as frozen records of tensors, and partitions of their coordinates."""

from partita.distributions.blocks import Groups, as_groups, is_refinement
from partita.distributions.conditional import ConditionalNormal, LogitNormal
from partita.distributions.equicorrelated import EquicorrelatedNormal
from partita.distributions.full import FullNormal
from partita.distributions.likelihoods import Bernoulli, Gaussian
from partita.distributions.nested import LpNested
from partita.distributions.normal import DiagonalNormal, standard_normal_log_prob_each
from partita.distributions.posterior import Posterior
from partita.distributions.priors import STANDARD_NORMAL, Prior, StandardNormal, parse_prior

__all__ = [
    "STANDARD_NORMAL",
    "Bernoulli",
    "ConditionalNormal",
    "DiagonalNormal",
    "EquicorrelatedNormal",
    "FullNormal",
    "Gaussian",
    "Groups",
    "LogitNormal",
    "LpNested",
    "Posterior",
    "Prior",
    "StandardNormal",
    "as_groups",
    "is_refinement",
    "parse_prior",
    "standard_normal_log_prob_each",
]
