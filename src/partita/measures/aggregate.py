"""log q(z_S) of the aggregated posterior for blocks S of latents, and every split of the KL made from it."""

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from partita.distributions import DiagonalNormal, Posterior, as_groups, standard_normal_log_prob_each
from partita.kernels import bank_log_sums, batch_log_sums
from partita.measures.weights import log_weights

Block = tuple[int, ...]


def aggregate(q: Posterior, z: Tensor, blocks: Sequence[Sequence[int]], *, by: str, size: int) -> Tensor:
    """log q(z_{i,S}) for each anchor i and block S, (M, len(blocks)), by the minibatch estimator `by`.

    `logsumexp_j [log w_ij + log q(z_{i,S} | n_j)]` over the M posteriors of `q`, with z_i drawn from posterior i and
    `size` = N data points behind the batch (PDisVAE eq. 4 for `by="importance"`). Unbiased weights are unbiased for
    q(z_S); the logarithm is biased downward (Jensen). Blocks that hold the same latents share one column, bit for bit.
    Posteriors narrower than `NARROWEST` count as that wide: a network may stray there for a step, and nothing in a step
    may look at a value. Pure and traceable: runs under `vmap`, `grad` and `torch.compile(fullgraph=True)`.

    Parameters
    ----------
    q : the posteriors of the batch.
    z : (M, K), row i drawn from posterior i.
    blocks : tuples of latents.
    by : one of `WEIGHTS`.
    size : N, the data points that the batch was drawn from.

    Returns
    -------
    Tensor
        (M, len(blocks)).

    Examples
    --------
    All posteriors are the prior, so q(z) = N(z; 0, 1), of density 0.3989 at 0.

    >>> q = DiagonalNormal(torch.zeros(4, 2), torch.zeros(4, 2))
    >>> log_q = aggregate(q, torch.zeros(4, 2), [(0,), (0, 1)], by="importance", size=100)
    >>> [round(value, 4) for value in log_q[0].exp().tolist()]
    [0.3989, 0.1592]
    """
    asked = [tuple(sorted(block)) for block in blocks]
    distinct = list(dict.fromkeys(asked))
    log_q = batch_log_sums(q.resolved, z, distinct, log_weights(by, z.shape[-2], size, z.device, z.dtype))
    return torch.stack([log_q[distinct.index(block)] for block in asked], -1)


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
    q = q.resolved
    inside = batch_log_sums(q, z, distinct, torch.zeros(batch, batch, dtype=z.dtype, device=z.device))
    drawn_from = DiagonalNormal(q.mean.detach(), q.log_variance.detach())
    outside = bank_log_sums(z, drawn_from.log_prob_each(z.detach()), bank, distinct)
    logs = torch.logaddexp(torch.stack(inside, -1) + fresh, outside + others)
    asked = [distinct.index(tuple(sorted(block))) for block in blocks]
    return logs if asked == list(range(len(distinct))) else torch.stack([logs[..., b] for b in asked], -1)


def decompose(
    q: Posterior,
    z: Tensor,
    groups: Sequence | None,
    *,
    by: str,
    size: int,
    prior_log_prob_each: Callable[[Tensor], Tensor] = standard_normal_log_prob_each,
) -> dict[str, Tensor]:
    """The parts of E KL(q(z|n) || p(z)) on a batch: Chen et al. 2018, eq. 2; with groups, Esmaeili et al. 2019.

    Scalars, means over the batch: `mi` = log q(z|n) - log q(z); `tc` = log q(z) - sum_k log q(z_k); `pc` = log q(z) -
    sum_g log q(z_g); `within_tc` = sum_g log q(z_g) - sum_k log q(z_k); `dim_kl` = sum_k log q(z_k) - log p(z_k).
    Per group: `within` (the terms of `within_tc`), `group_mi` (log q(z_g|n) - log q(z_g)), `group_kl`
    (log q(z_g) - log p(z_g)). With one weight matrix `tc = pc + within_tc`, and `mi + tc + dim_kl` is the sampled KL,
    whatever the estimator; each part alone carries the estimator's bias.

    Parameters
    ----------
    q : the posteriors of the batch.
    z : (M, K), row i drawn from posterior i.
    groups : sizes or tuples of indices; None takes every latent by itself.
    by : one of `WEIGHTS`.
    size : N, the data points that the batch was drawn from.
    prior_log_prob_each : log p(z_k) of every latent, (M, K) of (M, K).

    Returns
    -------
    dict of Tensor
        Nats: scalars, and of each group (groups,).

    Examples
    --------
    Two latents that say the same: all they share lies inside their group.

    >>> mean = torch.linspace(-2, 2, 50).unsqueeze(1).expand(50, 2)
    >>> parts = decompose(DiagonalNormal(mean, torch.full((50, 2), -3.0)), mean, (2,), by="importance", size=50)
    >>> {name: round(abs(parts[name].item()), 1) for name in ("mi", "tc", "pc", "within_tc", "dim_kl")}
    {'mi': 2.4, 'tc': 1.7, 'pc': 0.0, 'within_tc': 1.7, 'dim_kl': 0.3}
    """
    q, latents = q.resolved, z.shape[-1]
    parts = as_groups(groups, latents)
    singles = [(k,) for k in range(latents)]
    log_q = aggregate(q, z, [tuple(range(latents)), *parts, *singles], by=by, size=size)
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


def _sum_by_group(each: Tensor, groups: Sequence[Block]) -> Tensor:
    return torch.stack([each[..., list(group)].sum(-1) for group in groups], -1)
