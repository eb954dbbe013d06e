"""What labels add to an objective, in nats per observation (docs/glossary.md, Labels).

Rows that do not show their labels count as 0 in sums over labelled rows: every quantity is a sum over the batch divided
by its size M, so that fewer labels weigh less.
"""

import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

from partita.distributions import DiagonalNormal
from partita.distributions.conditional import ConditionalNormal, LogitNormal
from partita.trace import Batch, Trace

LEAST_VARIANCE = 1e-12  # a batch may show no labels, or equal ones: no link then


def conditional_kl(trace: Trace) -> dict[str, Tensor]:
    """conditional_kl = E KL(q(z|x,u) || p(z|u)), in closed form (eq. 10)."""
    return {"conditional_kl": trace.prior.kl(trace.q, trace.z).mean()}


def label_reconstruction(trace: Trace) -> dict[str, Tensor]:
    """label_recon = -E log p(u|z), z ~ q(z|u), p(u|z) Gaussian with variance `u_decoder_var` (eq. 17).

    The variance decides whether the conditional prior says anything: it collapses to N(0, I) for labels whose own
    variance is below it (section 2.2).
    """
    return {"label_recon": -_decoded_label_density(trace).mean()}


def prior_kl(trace: Trace) -> dict[str, Tensor]:
    """prior_kl = E_u KL(q(z|u) || N(0, I)), and each latent's share: 0 where the conditional prior ignores u."""
    each = _conditional(trace).kl_each().mean(0)
    return {"prior_kl": each.sum(), **{f"prior_kl_{k}": value for k, value in enumerate(each.unbind())}}


def supervised(trace: Trace) -> dict[str, Tensor]:
    """supervised = sum_j BCE(sigmoid(mean_j), u_j), the first m means as logits (eq. 8); mean over the batch.

    The paper's release sums over the batch instead: its weight is M times ours.
    """
    u = trace.batch.u
    assert u is not None
    each = binary_cross_entropy_with_logits(trace.q.mean[..., : u.shape[-1]], u, reduction="none").sum(-1)
    return {"supervised": (shown(trace.batch) * each).mean()}


def disintegration(trace: Trace) -> dict[str, Tensor]:
    """disintegration = sum_j [sum_i r_ij^2 - max_i r_ij^2], r_ij the correlation of the mean of latent i with label j
    over the rows that show their labels: what latents other than its best one know of each factor, linearly.

    The RTC-VAE paper proposes to penalise the number of latents linked to a factor (docs/glossary.md) and leaves
    the link open; this one is smooth, bounded, and blind to links that are not linear.
    """
    u = trace.batch.u
    assert u is not None
    rows = shown(trace.batch)
    share = (rows / rows.sum().clamp(min=1)).unsqueeze(-1)
    codes, labels = (t - (share * t).sum(-2, keepdim=True) for t in (trace.q.mean, u))
    covariance = codes.mT @ (share * labels)
    variances = (share * codes.square()).sum(-2).unsqueeze(-1) * (share * labels.square()).sum(-2)
    link = covariance.square() / variances.clamp(min=LEAST_VARIANCE)
    return {"disintegration": (link.sum(-2) - link.amax(-2)).sum(-1)}


def predictor_nll(trace: Trace) -> dict[str, Tensor]:
    """predictor_nll = -log q(u|x) over the rows that show their labels."""
    u = trace.batch.u
    assert u is not None
    return {"predictor_nll": -(shown(trace.batch) * _predicted(trace).log_prob(u)).mean()}


def label_entropy(trace: Trace) -> dict[str, Tensor]:
    """label_entropy = H(q(u|x)) over the rows that do not show their labels, Jacobian included, one draw (eq. 23 with
    its sign put right: the entropy is added to a bound that is maximised)."""
    hidden = 1 - shown(trace.batch)
    return {"label_entropy": (hidden * _predicted(trace).entropy(trace.noise["u"])).mean()}


def label_kl(trace: Trace) -> Tensor:
    """KL(q(u|x) || p(u)) from the draw of u, (M,): what a bound on log p(x) pays for labels that it is not told.

    It is -H(q(u|x)) - E log p(u). A model that decodes labels (IDVAE) has its own p(u) = int p(u|z) N(z; 0, I) dz,
    known by its bound E_{q(z|u)} log p(u|z) - KL(q(z|u) || N(0, I)): the cost is then too high by that bound's gap,
    never too low. To the others labels are uniform on the unit cube, as when they sample: log p(u) = 0.
    """
    cost = -_predicted(trace).entropy(trace.noise["u"])
    if "label_decoder" not in trace.networks:
        return cost
    return cost - _decoded_label_density(trace) + _conditional(trace).kl_to()


def shown(batch: Batch) -> Tensor:
    """(M,): 1 for rows that show their labels, else 0."""
    assert batch.u is not None
    return torch.ones_like(batch.u[..., 0]) if batch.labelled is None else batch.labelled


def _conditional(trace: Trace) -> DiagonalNormal:
    assert isinstance(trace.prior, ConditionalNormal)
    return trace.prior.density


def _decoded_label_density(trace: Trace) -> Tensor:
    """log p(u|z) of the labels gone on with, z ~ q(z|u), (M,)."""
    z = _conditional(trace).sample(trace.noise["prior"])
    variance = torch.log(trace.knobs["u_decoder_var"])
    return DiagonalNormal(trace.networks["label_decoder"](z), variance).log_prob(trace.drawn["u"])


def _predicted(trace: Trace) -> LogitNormal:
    known = trace.drawn.get("label_posterior")
    return trace.networks["predictor"](trace.batch.x) if known is None else known
