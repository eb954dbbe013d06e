"""Total correlation taken apart into mutual informations between blocks: two trees and a line.

All three use one entropy function of blocks, so their terms add up to TC exactly, whatever estimates it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from partita.kernels import log_mixture
from partita.measures._arrays import as_matrix
from partita.measures._mixture import one_draw

Block = tuple[int, ...]
Entropy = Callable[[Block], float]


@dataclass(frozen=True)
class Term:
    """I(z_left; z_right), nats, and the round (from 1) in which the two blocks met or parted."""

    left: Block
    right: Block
    value: float
    round: int


@dataclass(frozen=True)
class Decomposition:
    """Every term, and the total correlation they add up to."""

    terms: tuple[Term, ...]
    tc: float

    def by_round(self) -> dict[int, float]:
        """Sum of the terms of each round: MU_1, MU_2, ... of the beta-STCVAE paper."""
        sums: dict[int, float] = {}
        for term in self.terms:
            sums[term.round] = sums.get(term.round, 0.0) + term.value
        return sums


def bottom_up_tree(entropy: Entropy, latents: int | Sequence[int]) -> Decomposition:
    """Pair neighbouring blocks, round after round, until one is left (beta-STCVAE paper, eqs. 2-5).

    TC = sum of I(left; right) over all pairings; an odd block waits for the next round. There are ceil(log2 K) rounds
    (the paper's f rounds and the last information: f = ceil(log2 K) - 1, not the printed - 2).

    Parameters
    ----------
    entropy : the entropy of a block of latents, nats, such as `gaussian_entropy(codes)`.
    latents : how many there are, or which, in what order.

    Returns
    -------
    Decomposition
        One term a pairing, and the total correlation.

    Examples
    --------
    >>> entropy = discrete_entropy([[0, 0, 0], [0, 0, 1], [1, 1, 1], [1, 1, 1]])
    >>> found = bottom_up_tree(entropy, 3)
    >>> [(term.left, term.right, round(term.value, 3)) for term in found.terms]
    [((0,), (1,), 0.693), ((0, 1), (2,), 0.216)]
    >>> round(found.tc, 3)
    0.909
    """
    blocks = _singles(latents)
    terms: list[Term] = []
    rounds = 0
    while len(blocks) > 1:
        rounds += 1
        pairs = list(zip(blocks[::2], blocks[1::2]))
        terms += [_term(entropy, left, right, rounds) for left, right in pairs]
        waiting = [blocks[-1]] if len(blocks) % 2 else []
        blocks = [left + right for left, right in pairs] + waiting
    return _complete(entropy, terms, latents)


def top_down_tree(entropy: Entropy, latents: int | Sequence[int]) -> Decomposition:
    """Halve all latents, then every half, down to single ones: TC = sum over the cuts of I(left; right).

    Parameters
    ----------
    entropy : the entropy of a block of latents, nats, such as `gaussian_entropy(codes)`.
    latents : how many there are, or which, in what order.

    Returns
    -------
    Decomposition
        One term a cut, and the total correlation.

    Examples
    --------
    >>> entropy = discrete_entropy([[0, 0, 0], [0, 0, 1], [1, 1, 1], [1, 1, 1]])
    >>> [(term.left, term.right, round(term.value, 3)) for term in top_down_tree(entropy, 3).terms]
    [((0, 1), (2,), 0.216), ((0,), (1,), 0.693)]
    """
    terms: list[Term] = []
    layer = [tuple(k for block in _singles(latents) for k in block)]
    rounds = 0
    while any(len(block) > 1 for block in layer):
        rounds += 1
        cuts = [(block[: (len(block) + 1) // 2], block[(len(block) + 1) // 2 :]) for block in layer if len(block) > 1]
        terms += [_term(entropy, left, right, rounds) for left, right in cuts]
        layer = [half for cut in cuts for half in cut]
    return _complete(entropy, terms, latents)


def line(entropy: Entropy, latents: int | Sequence[int]) -> Decomposition:
    """Add one latent at a time: TC = sum_k I(z_k; z_1 ... z_{k-1}), the chain rule.

    Parameters
    ----------
    entropy : the entropy of a block of latents, nats, such as `gaussian_entropy(codes)`.
    latents : how many there are, or which, in what order.

    Returns
    -------
    Decomposition
        One term a latent after the first, and the total correlation.

    Examples
    --------
    >>> entropy = discrete_entropy([[0, 0, 0], [0, 0, 1], [1, 1, 1], [1, 1, 1]])
    >>> [(term.left, term.right, round(term.value, 3)) for term in line(entropy, 3).terms]
    [((0,), (1,), 0.693), ((0, 1), (2,), 0.216)]
    """
    singles = _singles(latents)
    terms: list[Term] = []
    before: Block = singles[0]
    for rounds, single in enumerate(singles[1:], 1):
        terms.append(_term(entropy, before, single, rounds))
        before = before + single
    return _complete(entropy, terms, latents)


def _singles(latents: int | Sequence[int]) -> list[Block]:
    order = list(range(latents)) if isinstance(latents, int) else [int(k) for k in latents]
    if not order or len(set(order)) != len(order):
        raise ValueError(f"latents must be a number of at least 1 or distinct indices, got {latents!r}")
    return [(k,) for k in order]


def _term(entropy: Entropy, left: Block, right: Block, rounds: int) -> Term:
    return Term(left, right, entropy(left) + entropy(right) - entropy(left + right), rounds)


def _complete(entropy: Entropy, terms: list[Term], latents: int | Sequence[int]) -> Decomposition:
    singles = _singles(latents)
    whole = tuple(k for block in singles for k in block)
    return Decomposition(tuple(terms), sum(entropy(block) for block in singles) - entropy(whole))


def gaussian_entropy(codes: Any) -> Entropy:
    """Entropy of each block under a Gaussian with the codes' covariance.

    Parameters
    ----------
    codes : (n, K), one row an observation.

    Returns
    -------
    function
        From a tuple of latents S to log det(2 pi e C_S) / 2, nats, C_S their covariance.

    Examples
    --------
    >>> import numpy as np
    >>> entropy = gaussian_entropy(np.random.default_rng(0).standard_normal((10_000, 2)))
    >>> round(entropy((0,)), 1), round(entropy((0, 1)), 1)
    (1.4, 2.8)
    """
    covariance = np.atleast_2d(np.cov(as_matrix(codes, "codes"), rowvar=False))

    def entropy(block: Block) -> float:
        sign, log_det = np.linalg.slogdet(2 * np.pi * np.e * covariance[np.ix_(block, block)])
        if sign <= 0:
            raise ValueError(f"latents {block} are linearly dependent: their Gaussian entropy is not finite")
        return 0.5 * float(log_det)

    return _remembered(entropy)


def posterior_entropy(mean: Any, log_variance: Any, *, seed: int = 0) -> Entropy:
    """-mean log q(z_S) of the mixture of all posteriors at one draw a row: the exact aggregated posterior.

    Parameters
    ----------
    mean, log_variance : (n, K), of the posteriors, one row an observation.
    seed : of the draws.

    Returns
    -------
    function
        From a tuple of latents to their entropy, nats.

    Examples
    --------
    All posteriors are the prior, of entropy log(2 pi e) / 2 = 1.42.

    >>> import numpy as np
    >>> round(posterior_entropy(np.zeros((2_000, 1)), np.zeros((2_000, 1)))((0,)), 1)
    1.4
    """
    mean, log_variance = as_matrix(mean, "mean"), as_matrix(log_variance, "log_variance")
    if mean.shape != log_variance.shape:
        raise ValueError(f"mean has shape {mean.shape}, log_variance {log_variance.shape}: they must agree")
    z, mu, log_var = (torch.from_numpy(array) for array in (one_draw(mean, log_variance, seed), mean, log_variance))
    own = torch.arange(len(z))

    def entropy(block: Block) -> float:
        return -float(log_mixture(z, mu, log_var, [block], own=own, dtype=torch.float64).mean())

    return _remembered(entropy)


def discrete_entropy(states: Any, probabilities: Any = None) -> Entropy:
    """Entropy of each block of a discrete distribution: one state a row, all equally likely unless told.

    Parameters
    ----------
    states : (n, K), one row a state.
    probabilities : (n,), of the states; None for equal ones.

    Returns
    -------
    function
        From a tuple of latents to their entropy, nats.

    Examples
    --------
    >>> entropy = discrete_entropy([[0, 0], [0, 1], [1, 0], [1, 1]])
    >>> round(entropy((0,)), 3), round(entropy((0, 1)), 3)
    (0.693, 1.386)
    """
    states = as_matrix(states, "states")
    weights = np.full(len(states), 1 / len(states)) if probabilities is None else np.asarray(probabilities, float)
    if weights.shape != (len(states),) or (weights < 0).any() or not np.isclose(weights.sum(), 1):
        raise ValueError("probabilities must be one number of at least 0 a state and add up to 1")

    def entropy(block: Block) -> float:
        inverse = np.unique(states[:, list(block)], axis=0, return_inverse=True)[1].ravel()
        p = np.bincount(inverse, weights)
        p = p[p > 0]
        return float(-(p * np.log(p)).sum())

    return _remembered(entropy)


def _remembered(entropy: Entropy) -> Entropy:
    """The same set of latents gives the same number, in any order, computed once."""
    known: dict[Block, float] = {}

    def lookup(block: Block) -> float:
        key = tuple(sorted(block))
        if key not in known:
            known[key] = entropy(key)
        return known[key]

    return lookup
