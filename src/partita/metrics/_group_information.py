"""Information between groups of latents and groups of factors (vector-valued codes)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from partita.distributions import Groups, as_groups
from partita.measures._neighbours import label_information
from partita.metrics._histogram import entropies

# What scores between groups are called: information by nearest neighbours, which no published code computes.
BETWEEN_GROUPS = "nearest-neighbours"


@dataclass(frozen=True)
class Grouping:
    """Which latents and which factors belong together."""

    latents: Groups
    factors: Groups


def grouping(groups: Sequence | None, factor_groups: Sequence | None, latents: int, factors: int) -> Grouping | None:
    """The partitions asked for, or None where neither side has one (then the ordinary metric is meant)."""
    if groups is None and factor_groups is None:
        return None
    return Grouping(as_groups(groups, latents), as_groups(factor_groups, factors))


def protocol_of(protocol: str, default: str, blocks: Grouping | None, metric: str) -> str:
    """The name a score carries: groups have an algorithm of their own, which replaces the default and nothing else."""
    if blocks is None and protocol == BETWEEN_GROUPS:
        raise ValueError(f"{metric} by {BETWEEN_GROUPS!r} is between groups: give groups or factor_groups")
    if blocks is not None and protocol not in (default, BETWEEN_GROUPS):
        raise ValueError(f"{metric} by {protocol!r} knows no groups: leave out protocol, or groups and factor_groups")
    return protocol if blocks is None else BETWEEN_GROUPS


def joint_labels(labels: np.ndarray, factor_groups: Groups) -> np.ndarray:
    """One class number per row and factor group: the combination of its factors' values."""
    columns = [np.unique(labels[:, list(group)], axis=0, return_inverse=True)[1].ravel() for group in factor_groups]
    return np.stack(columns, 1)


def group_information(
    codes: np.ndarray, labels: np.ndarray, groups: Grouping, neighbours: int, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """I(z_b; v_a) in nats, (latent groups, factor groups), and H(v_a), the entropies of the joint labels."""
    joint = joint_labels(labels, groups.factors)
    matrix = [
        [label_information(codes[:, list(block)], column, neighbours=neighbours, seed=seed) for column in joint.T]
        for block in groups.latents
    ]
    return np.array(matrix), entropies(joint)
