"""Densities as frozen records of tensors, and partitions of their coordinates."""

from partita.distributions.blocks import Groups, as_groups, is_refinement
from partita.distributions.normal import DiagonalNormal, standard_normal_log_prob_each

__all__ = ["DiagonalNormal", "Groups", "as_groups", "is_refinement", "standard_normal_log_prob_each"]
