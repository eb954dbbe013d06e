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
    """conditional_kl = E KL(q(z|x,u) || p(z|u)), in closed form (eq. 10).

    Parameters
    ----------
    trace : the forward pass of a batch with labels.

    Returns
    -------
    dict of Tensor
        `conditional_kl`, a scalar, nats.

    Examples
    --------
    >>> prior = ConditionalNormal(DiagonalNormal(torch.ones(4, 2), torch.zeros(4, 2)))
    >>> batch = Batch(torch.zeros(4, 3), 4, u=torch.ones(4, 1))
    >>> q = DiagonalNormal(torch.zeros(4, 2), torch.zeros(4, 2))
    >>> trace = Trace(batch, {}, {}, {}, q, q.mean, prior)
    >>> conditional_kl(trace)["conditional_kl"].item()
    1.0
    """
    return {"conditional_kl": trace.prior.kl(trace.q, trace.z).mean()}


def label_reconstruction(trace: Trace) -> dict[str, Tensor]:
    """label_recon = -E log p(u|z), z ~ q(z|u), p(u|z) Gaussian with variance `u_decoder_var` (eq. 17).

    The variance decides whether the conditional prior says anything: it collapses to N(0, I) for labels whose own
    variance is below it (section 2.2).

    Parameters
    ----------
    trace : the forward pass of a batch with labels.

    Returns
    -------
    dict of Tensor
        `label_recon`, a scalar, nats.

    Examples
    --------
    Labels decoded without error, with variance 1: log(2 pi) / 2.

    >>> prior = ConditionalNormal(DiagonalNormal(torch.ones(4, 2), torch.zeros(4, 2)))
    >>> networks = {"label_decoder": lambda z: z[:, :1]}
    >>> noise, knobs = {"prior": torch.zeros(4, 2)}, {"u_decoder_var": torch.ones(1)}
    >>> batch = Batch(torch.zeros(4, 3), 4, u=torch.ones(4, 1))
    >>> q = DiagonalNormal(torch.zeros(4, 2), torch.zeros(4, 2))
    >>> trace = Trace(batch, noise, knobs, networks, q, q.mean, prior, {"u": batch.u})
    >>> round(label_reconstruction(trace)["label_recon"].item(), 3)
    0.919
    """
    return {"label_recon": -_decoded_label_density(trace).mean()}


def prior_kl(trace: Trace) -> dict[str, Tensor]:
    """prior_kl = E_u KL(q(z|u) || N(0, I)), and each latent's share: 0 where the conditional prior ignores u.

    Parameters
    ----------
    trace : the forward pass of a batch with labels.

    Returns
    -------
    dict of Tensor
        `prior_kl` and, for latent k, `prior_kl_k`: scalars, nats.

    Examples
    --------
    >>> prior = ConditionalNormal(DiagonalNormal(torch.ones(4, 2), torch.zeros(4, 2)))
    >>> batch = Batch(torch.zeros(4, 3), 4, u=torch.ones(4, 1))
    >>> q = DiagonalNormal(torch.zeros(4, 2), torch.zeros(4, 2))
    >>> trace = Trace(batch, {}, {}, {}, q, q.mean, prior)
    >>> {name: value.item() for name, value in prior_kl(trace).items()}
    {'prior_kl': 1.0, 'prior_kl_0': 0.5, 'prior_kl_1': 0.5}
    """
    each = _conditional(trace).kl_each().mean(0)
    return {"prior_kl": each.sum(), **{f"prior_kl_{k}": value for k, value in enumerate(each.unbind())}}


def supervised(trace: Trace) -> dict[str, Tensor]:
    """supervised = sum_j BCE(sigmoid(mean_j), u_j), the first m means as logits (eq. 8); mean over the batch.

    The paper's release sums over the batch instead: its weight is M times ours.

    Parameters
    ----------
    trace : the forward pass of a batch with labels.

    Returns
    -------
    dict of Tensor
        `supervised`, a scalar, nats.

    Examples
    --------
    A mean of 0 says nothing of a label: log 2.

    >>> from partita.distributions import STANDARD_NORMAL
    >>> batch = Batch(torch.zeros(4, 3), 4, u=torch.ones(4, 1))
    >>> q = DiagonalNormal(torch.zeros(4, 2), torch.zeros(4, 2))
    >>> trace = Trace(batch, {}, {}, {}, q, q.mean, STANDARD_NORMAL)
    >>> round(supervised(trace)["supervised"].item(), 3)
    0.693
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

    Parameters
    ----------
    trace : the forward pass of a batch with labels.

    Returns
    -------
    dict of Tensor
        `disintegration`, a scalar between 0 and labels times (latents - 1).

    Examples
    --------
    Two latents that both hold the label.

    >>> from partita.distributions import STANDARD_NORMAL
    >>> u = torch.linspace(-1, 1, 4).unsqueeze(1)
    >>> batch = Batch(torch.zeros(4, 3), 4, u=u)
    >>> q = DiagonalNormal(u.expand(4, 2), torch.zeros(4, 2))
    >>> trace = Trace(batch, {}, {}, {}, q, q.mean, STANDARD_NORMAL)
    >>> round(disintegration(trace)["disintegration"].item(), 3)
    1.0
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
    """predictor_nll = -log q(u|x) over the rows that show their labels.

    Parameters
    ----------
    trace : the forward pass of a batch with labels.

    Returns
    -------
    dict of Tensor
        `predictor_nll`, a scalar, nats.

    Examples
    --------
    Half of the rows show their label.

    >>> from partita.distributions import STANDARD_NORMAL
    >>> networks, labelled = {"predictor": lambda x: LogitNormal(x[:, :1], x[:, :1])}, torch.tensor([1.0, 1, 0, 0])
    >>> batch = Batch(torch.zeros(4, 3), 4, u=torch.full((4, 1), 0.5), labelled=labelled)
    >>> q = DiagonalNormal(torch.zeros(4, 2), torch.zeros(4, 2))
    >>> trace = Trace(batch, {}, {}, networks, q, q.mean, STANDARD_NORMAL)
    >>> round(predictor_nll(trace)["predictor_nll"].item(), 3)  # (log(2 pi) / 2 - log 4) / 2
    -0.234
    """
    u = trace.batch.u
    assert u is not None
    return {"predictor_nll": -(shown(trace.batch) * _predicted(trace).log_prob(u)).mean()}


def label_entropy(trace: Trace) -> dict[str, Tensor]:
    """label_entropy = H(q(u|x)) over the rows that do not show their labels, Jacobian included, one draw (eq. 23 with
    its sign put right: the entropy is added to a bound that is maximised).

    Parameters
    ----------
    trace : the forward pass of a batch with labels.

    Returns
    -------
    dict of Tensor
        `label_entropy`, a scalar, nats.

    Examples
    --------
    Half of the rows do not show their label.

    >>> from partita.distributions import STANDARD_NORMAL
    >>> networks, labelled = {"predictor": lambda x: LogitNormal(x[:, :1], x[:, :1])}, torch.tensor([1.0, 1, 0, 0])
    >>> batch = Batch(torch.zeros(4, 3), 4, u=torch.full((4, 1), 0.5), labelled=labelled)
    >>> q = DiagonalNormal(torch.zeros(4, 2), torch.zeros(4, 2))
    >>> trace = Trace(batch, {"u": torch.zeros(4, 1)}, {}, networks, q, q.mean, STANDARD_NORMAL)
    >>> round(label_entropy(trace)["label_entropy"].item(), 3)  # (log(2 pi e) / 2 - log 4) / 2
    0.016
    """
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
