"""log q(z_S) of the aggregated posterior for blocks S of latents, and every split of the KL made from it."""

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from partita.distributions import DiagonalNormal, Posterior, as_groups, standard_normal_log_prob_each
from partita.kernels.bank import bank_log_sums
from partita.kernels.batch import available, batch_log_sums
from partita.measures.weights import log_weights

Block = tuple[int, ...]


def aggregate(
    q: Posterior, z: Tensor, blocks: Sequence[Sequence[int]], *, by: str, size: int, form: str = "matrix"
) -> Tensor:
    """log q(z_{i,S}) for each anchor i and block S, (M, len(blocks)), by the minibatch estimator `by`.

    `logsumexp_j [log w_ij + log q(z_{i,S} | n_j)]` over the M posteriors of `q`, with z_i drawn from posterior i and
    `size` = N data points behind the batch (PDisVAE eq. 4 for `by="importance"`). Unbiased weights are unbiased for
    q(z_S); the logarithm is biased downward (Jensen). Blocks that hold the same latents share one column, bit for bit.
    Pure and traceable: runs under `vmap`, `grad` and `torch.compile(fullgraph=True)`.
    """
    distinct = [tuple(sorted(block)) for block in blocks]
    weights = log_weights(by, z.shape[-2], size, z.device, z.dtype)
    columns = _by_differences
    if form == "matrix":
        columns = _by_kernel if q.marginals is q and available(z) else _by_ratios
    log_q = columns(q, z, list(dict.fromkeys(distinct)), weights)
    return torch.stack([log_q[block] for block in distinct], -1)


def aggregate_with_bank(
    q: DiagonalNormal, z: Tensor, blocks: Sequence[Sequence[int]], bank: Tensor, *, size: int
) -> Tensor:
    """As `aggregate`, over the batch's own posteriors and those of other points, (M, len(blocks)).

    `bank` is (2K, B): means, then log-variances, +inf for points never seen; none of them is in the batch. The batch
    weighs 1/N a point, the bank shares the other (N - M)/N evenly: with all N - M others in it, and fresh, the sum is
    exact. No gradient goes into the bank. A bank that knows nobody leaves the batch alone, 1/M a point.
    """
    batch, latents = z.shape[-2:]
    distinct = list(dict.fromkeys(tuple(sorted(block)) for block in blocks))
    count = (bank[latents] < math.inf).sum().to(z.dtype)
    fresh = -torch.where(count > 0, size, batch).to(z.dtype).log()
    others = torch.log((size - batch) / (size * count.clamp(min=1)))
    columns = _by_kernel if available(z) else _by_ratios
    inside = columns(q, z, distinct, torch.zeros(batch, batch, dtype=z.dtype, device=z.device))
    drawn_from = DiagonalNormal(q.mean.detach(), q.log_variance.detach())
    outside = bank_log_sums(z, drawn_from.log_prob_each(z.detach()), bank, distinct)
    logs = torch.logaddexp(torch.stack([inside[block] for block in distinct], -1) + fresh, outside + others)
    asked = [distinct.index(tuple(sorted(block))) for block in blocks]
    return logs if asked == list(range(len(distinct))) else torch.stack([logs[..., b] for b in asked], -1)


def decompose(
    q: Posterior,
    z: Tensor,
    groups: Sequence | None,
    *,
    by: str,
    size: int,
    form: str = "matrix",
    prior_log_prob_each: Callable[[Tensor], Tensor] = standard_normal_log_prob_each,
) -> dict[str, Tensor]:
    """The parts of E KL(q(z|n) || p(z)) on a batch: Chen et al. 2018, eq. 2; with groups, Esmaeili et al. 2019.

    Scalars, means over the batch: `mi` = log q(z|n) - log q(z); `tc` = log q(z) - sum_k log q(z_k); `pc` = log q(z) -
    sum_g log q(z_g); `within_tc` = sum_g log q(z_g) - sum_k log q(z_k); `dim_kl` = sum_k log q(z_k) - log p(z_k).
    Per group: `within` (the terms of `within_tc`), `group_mi` (log q(z_g|n) - log q(z_g)), `group_kl`
    (log q(z_g) - log p(z_g)). With one weight matrix `tc = pc + within_tc`, and `mi + tc + dim_kl` is the sampled KL,
    whatever the estimator; each part alone carries the estimator's bias.
    """
    latents = z.shape[-1]
    parts = as_groups(groups, latents)
    singles = [(k,) for k in range(latents)]
    log_q = aggregate(q, z, [tuple(range(latents)), *parts, *singles], by=by, size=size, form=form)
    joint, in_groups, each = log_q[..., 0], log_q[..., 1 : 1 + len(parts)], log_q[..., 1 + len(parts) :]
    prior = prior_log_prob_each(z)
    within = in_groups - _sum_by_group(each, parts)
    each_sum, groups_sum = each.sum(-1), in_groups.sum(-1)
    return {
        "mi": (q.log_prob(z) - joint).mean(-1),
        "tc": (joint - each_sum).mean(-1),
        "pc": (joint - groups_sum).mean(-1),
        "within_tc": within.sum(-1).mean(-1),
        "dim_kl": (each - prior).sum(-1).mean(-1),
        "within": within.mean(-2),
        "group_mi": (q.log_prob_blocks(z, parts) - in_groups).mean(-2),
        "group_kl": (in_groups - _sum_by_group(prior, parts)).mean(-2),
    }


def _by_ratios(q: Posterior, z: Tensor, blocks: Sequence[Block], weights: Tensor) -> dict[Block, Tensor]:
    """log q(z_i | n_i) + log[w_ii + sum_{j != i} w_ij q(z_i | n_j) / q(z_i | n_i)], blocks of one size at a time.

    The self term enters exactly, not through the matrix product: its rounding, times w_ij / w_ii = N/M, would swamp the
    estimate and its gradient when no other posterior reaches z_i.
    """
    self_weight = weights.diagonal().exp()
    itself = torch.eye(len(weights), dtype=torch.bool, device=weights.device)
    others = weights.exp().masked_fill(itself, 0.0)
    log_q: dict[Block, Tensor] = {}
    for length in sorted({len(block) for block in blocks}):
        alike = [block for block in blocks if len(block) == length]
        own, ratios = q.ratios(z, alike)
        sums = own + torch.log((torch.exp(ratios) * others).sum(-1) + self_weight)
        log_q.update(zip(alike, sums.unbind(-2)))
    return log_q


def _by_kernel(q: Posterior, z: Tensor, blocks: Sequence[Block], weights: Tensor) -> dict[Block, Tensor]:
    """The same sum in one pass of C, from differences: several times faster than the products, and closer."""
    log_q = batch_log_sums(z, q.mean, q.log_variance, weights.exp(), blocks)
    return dict(zip(blocks, log_q.unbind(-2)))


def _by_differences(q: Posterior, z: Tensor, blocks: Sequence[Block], weights: Tensor) -> dict[Block, Tensor]:
    """The plain sum, for z from anywhere: no matrix product to cancel in, and the largest term is the shift."""
    return {block: torch.logsumexp(q.pairwise(z, block, form="dense") + weights, -1) for block in blocks}


def _sum_by_group(each: Tensor, groups: Sequence[Block]) -> Tensor:
    return torch.stack([each[..., list(group)].sum(-1) for group in groups], -1)
