"""Densities as frozen records of tensors, and partitions of their coordinates."""

from partita.distributions.blocks import Groups, as_groups, is_refinement
from partita.distributions.conditional import ConditionalNormal, LogitNormal
from partita.distributions.equicorrelated import EquicorrelatedNormal
from partita.distributions.full import FullNormal
from partita.distributions.likelihoods import LIKELIHOODS, Decoded, Likelihood, as_likelihood, listed_likelihoods
from partita.distributions.nested import LpNested
from partita.distributions.normal import DiagonalNormal, standard_normal_log_prob_each
from partita.distributions.posterior import Posterior
from partita.distributions.priors import PRIORS, STANDARD_NORMAL, Prior, StandardNormal, parse_prior

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
    "as_groups",
    "as_likelihood",
    "is_refinement",
    "listed_likelihoods",
    "parse_prior",
    "standard_normal_log_prob_each",
]
