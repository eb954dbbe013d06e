"""Correlation between the latents of an aggregated posterior, exactly or from a minibatch, and its null."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from numbers import Integral
from typing import Any

import numpy as np
import torch
from torch import Tensor

from partita.distributions import DiagonalNormal, Groups, as_groups, standard_normal_log_prob_each
from partita.kernels import log_mixture
from partita.measures._arrays import checked_weights
from partita.measures._posteriors import as_posteriors
from partita.measures.gaussian import gaussian_tc
from partita.measures.weights import WEIGHTS, check_weights, log_weights

__all__ = ["Correlation", "NullCorrelation", "UninformativeEstimate", "correlation", "gaussian_tc", "null_correlation"]

AT_ONCE = 2**22  # elements of the largest temporary of a minibatch estimate (anchors x batch x latents)
PERMUTED_AT_ONCE = 2**17  # elements of z, in permutations that are one sum: small sums take longer to start than to do
QUANTITIES = ("mi", "tc", "pc", "within_tc", "dim_kl", "kl")
Orders = Sequence[np.ndarray]  # of rows, one for each group
_told: set[str] = set()


class UninformativeEstimate(UserWarning):
    """A minibatch estimate of TC or PC that would read the same whatever the truth."""


@dataclass(frozen=True)
class Correlation:
    """The parts of E KL(q(z|n) || p(z)) in nats, p standard normal, each a mean over the rows: `mi` = I(z; n), `tc` and
    `pc` the correlation between latents and between groups, `within_tc` that inside groups (each: `within`), `dim_kl`
    = sum_k KL(q(z_k) || p(z_k)), `kl` their sum mi + tc + dim_kl; tc = pc + within_tc. `log_qz` is log q(z_i)."""

    mi: float
    tc: float
    pc: float
    within_tc: float
    dim_kl: float
    kl: float
    within: np.ndarray = field(repr=False)
    log_qz: np.ndarray = field(repr=False)
    by: str
    size: int
    batch: int
    groups: Groups


@dataclass(frozen=True)
class NullCorrelation:
    """What estimates read of independent groups: `values[name]`, one a permutation, their `mean` (`.pc`) and `sd`."""

    mi: float
    tc: float
    pc: float
    within_tc: float
    dim_kl: float
    kl: float
    mean: dict[str, float] = field(repr=False)
    sd: dict[str, float] = field(repr=False)
    values: dict[str, np.ndarray] = field(repr=False)
    by: str
    size: int
    batch: int
    groups: Groups


def correlation(
    z: Any,
    mean: Any,
    log_variance: Any,
    *,
    groups: Sequence | None = None,
    by: str = "exact",
    size: int | None = None,
    sample_weight: Any = None,
) -> Correlation:
    """How dependent the latents of an aggregated posterior are, and how the KL splits (Chen et al. 2018, eq. 2).

    Parameters
    ----------
    z, mean, log_variance : (n, K), row i of z drawn from posterior i.
    groups : sizes or tuples of indices; None takes every latent by itself, so that pc = tc.
    by : "exact" sums over the n posteriors, taken for the whole data set; in float64 up to 2e11 pairs times latents on
        a CPU (2e10 on a GPU), then float32 to 1e-5 nats. Others are minibatch estimators (`measures.weights`), TC and
        PC mostly biased upward: `UninformativeEstimate` is warned, once, where a batch cannot resolve log q(z).
    size : N, the data points that the rows of a minibatch were drawn from; None means that the rows are all there are.
    sample_weight : (n,), how much each row counts, in q(z) and in the means over rows; `by="exact"` alone. A whole
        number stands for so many copies of the row.

    Returns
    -------
    Correlation

    Examples
    --------
    >>> z = np.repeat(np.linspace(-2, 2, 100)[:, None], 2, axis=1)
    >>> round(correlation(z, z, np.full((100, 2), -3.0)).tc, 1)
    1.7
    """
    z, mean, log_variance = as_posteriors(z, mean, log_variance)
    parts = as_groups(groups, z.shape[1])
    size = _checked_size(by, size, len(z))
    weight = checked_weights(sample_weight, len(z))
    if weight is not None and by != "exact":
        raise ValueError(f"sample_weight is for by='exact': rows of a batch for {by!r} are drawn in proportion to it")
    own = None if weight is None else torch.as_tensor(weight, device=z.device)
    return _summed_up(DiagonalNormal(mean, log_variance), z, parts, by, size, own)


def null_correlation(
    z: Any,
    mean: Any,
    log_variance: Any,
    *,
    groups: Sequence | None = None,
    by: str = "exact",
    size: int | None = None,
    draws: int = 10,
    seed: int = 0,
) -> NullCorrelation:
    """The same estimate after permuting the rows of (z, mean, log_variance) together, independently for each group.

    Parameters
    ----------
    z, mean, log_variance, groups, by, size : as for `correlation`; with `groups=None` single latents are permuted.
    draws, seed : how many permutations, and which.

    Returns
    -------
    NullCorrelation
        Groups keep their densities and become independent: its PC is the estimator's floor at this width and size.

    Examples
    --------
    >>> z = np.repeat(np.linspace(-2, 2, 100)[:, None], 2, axis=1)
    >>> round(null_correlation(z, z, np.full((100, 2), -3.0)).tc, 1)
    0.3
    """
    z, mean, log_variance = as_posteriors(z, mean, log_variance)
    parts = as_groups(groups, z.shape[1])
    size = _checked_size(by, size, len(z))
    for name, number, least in (("draws", draws, 1), ("seed", seed, 0)):
        if isinstance(number, bool) or not isinstance(number, Integral) or number < least:
            raise ValueError(f"{name} must be a whole number of at least {least}, got {number!r}")
    rng = np.random.default_rng(int(seed))
    found = _summed_up(DiagonalNormal(mean, log_variance), z, parts, by, size)
    permuted = _permuted_exactly if by == "exact" else _permuted
    orders = [[rng.permutation(len(z)) for _ in parts] for _ in range(draws)]
    rows = permuted(found, DiagonalNormal(mean, log_variance), z, orders)
    values = {name: np.array([getattr(row, name) for row in rows]) for name in QUANTITIES}
    means = {name: float(column.mean()) for name, column in values.items()}
    sds = {name: float(column.std(ddof=1)) if draws > 1 else 0.0 for name, column in values.items()}
    return NullCorrelation(**means, mean=means, sd=sds, values=values, by=by, size=size, batch=len(z), groups=parts)


def _summed_up(
    q: DiagonalNormal, z: Tensor, groups: Groups, by: str, size: int, weight: Tensor | None = None
) -> Correlation:
    latents = z.shape[1]
    joint, singles = tuple(range(latents)), [(k,) for k in range(latents)]
    blocks = [joint, *groups, *singles]
    logs = _log_q(q, z, blocks, by, size) if weight is None else _weighted_log_q(q, z, blocks, weight)

    def mean(values: Tensor) -> Tensor:
        return values.mean(0) if weight is None else weight @ values / weight.sum()

    if not bool(torch.isfinite(logs).all()):
        row = int((~torch.isfinite(logs)).any(1).nonzero()[0])
        raise ValueError(f"z has no density at row {row}: row i of z must be drawn from posterior i")
    log_qz, in_groups, each = logs[:, 0], logs[:, 1 : 1 + len(groups)], logs[:, 1 + len(groups) :]
    own, prior = q.log_prob_each(z), standard_normal_log_prob_each(z)
    within = mean(in_groups - torch.stack([each[:, list(group)].sum(1) for group in groups], 1))
    if by != "exact":
        _warn_if_unresolved(own, log_qz, each, by, size)
    return Correlation(
        mi=mean(own.sum(1) - log_qz).item(),
        tc=mean(log_qz - each.sum(1)).item(),
        pc=mean(log_qz - in_groups.sum(1)).item(),
        within_tc=within.sum().item(),
        dim_kl=mean((each - prior).sum(1)).item(),
        kl=mean((own - prior).sum(1)).item(),
        within=within.cpu().numpy(),
        log_qz=log_qz.cpu().numpy(),
        by=by,
        size=size,
        batch=len(z),
        groups=groups,
    )


def _weighted_log_q(q: DiagonalNormal, z: Tensor, blocks: Sequence[tuple[int, ...]], weight: Tensor) -> Tensor:
    """log sum_j w_j q(z_S | n_j) / sum_j w_j: as the mixture with one latent more, whose density at 0 is w_j."""
    counted = weight > 0  # the others are no components
    log_width = -2 * torch.log(weight[counted]) - float(np.log(2 * np.pi))
    mean, log_variance = (torch.nn.functional.pad(t[counted], (0, 1)) for t in (q.mean, q.log_variance))
    log_variance[:, -1] = log_width
    more = [(*block, z.shape[1]) for block in blocks]
    logs = log_mixture(torch.nn.functional.pad(z, (0, 1)), mean, log_variance, more)
    return logs - torch.log(weight.sum() / counted.sum())


def _log_q(q: DiagonalNormal, z: Tensor, blocks: Sequence[tuple[int, ...]], by: str, size: int) -> Tensor:
    if by == "exact":
        return log_mixture(z, q.mean, q.log_variance, blocks, own=torch.arange(len(z), device=z.device))
    distinct = list(dict.fromkeys(tuple(sorted(block)) for block in blocks))
    step = max(1, AT_ONCE // z.numel())
    found = []
    for first in range(0, len(z), step):
        end = min(first + step, len(z))
        weights = log_weights(by, len(z), size, z.device, z.dtype, rows=(first, end))
        each = q.pairwise(z[first:end], [(k,) for k in range(z.shape[1])])
        pairs = (sum((each[k] for k in block), weights) for block in distinct)
        found.append(torch.stack([torch.logsumexp(pair, 1) for pair in pairs], 1))
    logs = torch.cat(found)
    return logs[:, [distinct.index(tuple(sorted(block))) for block in blocks]]


def _permute(values: Tensor, groups: Groups, orders: Orders) -> Tensor:
    moved = values.clone()
    for group, order in zip(groups, orders):
        columns = list(group)
        moved[:, columns] = values[:, columns][torch.as_tensor(order, device=values.device)]
    return moved


def _permuted(found: Correlation, q: DiagonalNormal, z: Tensor, draws: Sequence[Orders]) -> list[Correlation]:
    rows = []
    for orders in draws:
        mean, log_variance, moved = (_permute(t, found.groups, orders) for t in (q.mean, q.log_variance, z))
        rows.append(_summed_up(DiagonalNormal(mean, log_variance), moved, found.groups, found.by, found.size))
    return rows


def _permuted_exactly(found: Correlation, q: DiagonalNormal, z: Tensor, draws: Sequence[Orders]) -> list[Correlation]:
    """Only log q(z) changes: a permutation keeps the set of posteriors of every group, and so its density."""
    step = max(1, PERMUTED_AT_ONCE // z.numel())
    some = (draws[first : first + step] for first in range(0, len(draws), step))
    rows = []
    for joint in (joint for few in some for joint in _permuted_joints(found.groups, q, z, few).unbind(1)):
        change = joint.mean().item() - found.log_qz.mean().item()
        shifted = {"mi": found.mi - change, "tc": found.tc + change, "pc": found.pc + change}
        rows.append(replace(found, **shifted, log_qz=joint.cpu().numpy()))
    return rows


def _permuted_joints(groups: Groups, q: DiagonalNormal, z: Tensor, draws: Sequence[Orders]) -> Tensor:
    """log q(z) after each permutation, (n, draws): blocks of one mixture with the latents of all side by side."""
    mean, log_variance, moved = (
        torch.cat([_permute(t, groups, orders) for orders in draws], 1) for t in (q.mean, q.log_variance, z)
    )
    latents = z.shape[1]
    blocks = [tuple(range(d * latents, (d + 1) * latents)) for d in range(len(draws))]
    return _log_q(DiagonalNormal(mean, log_variance), moved, blocks, "exact", len(z))


def _warn_if_unresolved(own: Tensor, log_qz: Tensor, each: Tensor, by: str, size: int) -> None:
    """Warn once where more than half of q(z_i) is its own term: TC then reads sum_k I_k - log 1/w_ii, come what may."""
    batch, latents = own.shape
    if latents < 2 or batch == size or "unresolved" in _told:
        return
    self_weight = log_weights(by, batch, size, own.device, own.dtype, rows=(batch - 1, batch))[0, -1]
    share = torch.exp(self_weight + own.sum(1) - log_qz).mean().item()
    if share <= 0.5:
        return
    _told.add("unresolved")
    information = (own - each).sum(1).mean().item()
    warnings.warn(
        f"{by} estimate from {batch} of {size} points: {share:.0%} of q(z) is each point's own posterior, so TC reads "
        f"sum_k I(z_k; n) - log(1/w_ii) = {information:.2f} - {-self_weight.item():.2f} nats whatever the truth; "
        "use by='exact' on more points, or compare with null_correlation",
        UninformativeEstimate,
        stacklevel=4,
    )


def _checked_size(by: str, size: int | None, batch: int) -> int:
    if size is not None and (isinstance(size, bool) or not isinstance(size, Integral) or size < 1):
        raise ValueError(f"size must be the number of data points, a whole number, got {size!r}")
    if by == "exact":
        if size is not None and size != batch:
            raise ValueError(f"by='exact' takes the {batch} rows for the whole data set: leave size out, got {size}")
        return batch
    if by not in WEIGHTS:
        near = get_close_matches(str(by), ["exact", *WEIGHTS], n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise ValueError(f"unknown estimator {by!r}: choose from exact, {', '.join(WEIGHTS)}{hint}")
    size = batch if size is None else int(size)
    check_weights(by, batch, size)
    return size
