"""Leakage: what the other groups of latents know about a group of factors."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from partita.distributions import Groups, as_groups
from partita.measures._neighbours import label_information
from partita.metrics._group_information import BETWEEN_GROUPS, Grouping, group_information, joint_labels
from partita.metrics._inputs import check_protocol, codes_and_labels
from partita.metrics.score import Parts, Score, scored


def leakage(
    codes: Any,
    factors: Any,
    *,
    protocol: str = BETWEEN_GROUPS,
    seed: int = 0,
    groups: Sequence | None = None,
    factor_groups: Sequence | None = None,
    neighbours: int = 10,
    interval: float | None = None,
    resamples: int = 20,
) -> Score:
    """Share of a factor group's information found outside its own latent group; 0 is best.

    Every factor group a is matched to one latent group by linear assignment on I(z_b; v_a) / H(v_a); the leak is
    I(z_rest; v_a) / H(v_a), z_rest all latents of the other groups together, by nearest neighbours (Ross 2014; biased
    down in many dimensions). None means one latent, one factor a group. `parts["per_factor"]` holds the leaks,
    `parts["kept"]` what the matched group knows, `parts["assignment"]` the match (-1: none left).

    Parameters
    ----------
    codes : array (n, K)
        Latents, one row an observation: posterior means, say.
    factors : array (n, F)
        Class indices of the factors of variation, integers unless said.
    protocol : str
        Whose definition, by name: "nearest-neighbours".
    seed : int
        Of whatever is drawn: the same seed gives the same score.
    groups : sequence, optional
        Sizes or tuples of indices: latents that belong together.
    factor_groups : sequence, optional
        The same of factors.
    neighbours : int
        Nearest neighbours of the estimator between groups.
    interval : float, optional
        Level of an interval, 0.95 say; none unless given.
    resamples : int
        Draws that the interval is made from.

    Returns
    -------
    Score
        `float(score)` is its value; `.parts` has what it was made of.

    Examples
    --------
    >>> import numpy as np
    >>> factors = np.stack([column.ravel() for column in np.indices((4, 5))], 1)
    >>> codes = np.tile(factors, (20, 1)) * [1.0, -2.0]
    >>> score = leakage(codes, np.tile(factors, (20, 1)), groups=(1, 1), factor_groups=(1, 1))
    >>> round(score.value, 1)
    0.0
    """
    check_protocol(protocol, (BETWEEN_GROUPS,), "leakage")
    codes, labels = codes_and_labels(codes, factors, "leakage")
    blocks = Grouping(as_groups(groups, codes.shape[1]), as_groups(factor_groups, labels.shape[1]))
    return scored(
        partial(_leakage, blocks=blocks, neighbours=neighbours, seed=seed),
        [codes, labels],
        protocol=protocol,
        settings={"neighbours": neighbours, "groups": blocks.latents, "factor_groups": blocks.factors},
        seed=seed,
        interval=interval,
        resamples=resamples,
    )


def known_of(
    codes: np.ndarray, labels: np.ndarray, groups: Groups, *, neighbours: int = 10, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """I(z_g; v) / H(v) of each column v of class indices and each group g of latents, (columns, groups), by nearest
    neighbours; and the same with the rows of the codes permuted, which is what the estimator says of nothing."""
    blocks = Grouping(groups, tuple((column,) for column in range(labels.shape[1])))
    shuffled = np.random.default_rng(seed).permutation(len(codes))
    both = []
    for given in (codes, codes[shuffled]):
        information, entropy = group_information(given, labels, blocks, neighbours, seed)
        both.append(np.divide(information, entropy, out=np.zeros_like(information), where=entropy > 0).T)
    return both[0], both[1]


def _leakage(
    codes: np.ndarray, labels: np.ndarray, blocks: Grouping, neighbours: int, seed: int
) -> tuple[float, Parts]:
    from scipy.optimize import linear_sum_assignment

    information, entropy = group_information(codes, labels, blocks, neighbours, seed)
    present = entropy > 0
    share = np.divide(information, entropy, out=np.zeros_like(information), where=present)
    latent_groups, factor_groups = linear_sum_assignment(share, maximize=True)
    match = dict(zip(factor_groups.tolist(), latent_groups.tolist()))
    joint = joint_labels(labels, blocks.factors)
    leaks, kept = np.full(len(entropy), np.nan), np.full(len(entropy), np.nan)
    for a in np.flatnonzero(present).tolist():
        own: set[int] = set(blocks.latents[match[a]]) if a in match else set()
        rest = [k for k in range(codes.shape[1]) if k not in own]
        kept[a] = share[match[a], a] if a in match else 0.0
        known = label_information(codes[:, rest], joint[:, a], neighbours=neighbours, seed=seed) if rest else 0.0
        leaks[a] = known / entropy[a]
    value = float(leaks[present].mean()) if present.any() else 0.0
    assignment = np.array([match.get(a, -1) for a in range(len(entropy))])
    return value, {"per_factor": leaks, "kept": kept, "assignment": assignment, "information": information}
