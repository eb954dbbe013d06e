"""The two halves of the ELBO, in nats per observation."""

from torch import Tensor

from partita.trace import Trace


def reconstruction(trace: Trace) -> dict[str, Tensor]:
    """recon = -E[log p(x|z)], one draw of z an observation.

    Parameters
    ----------
    trace : the forward pass of a batch.

    Returns
    -------
    dict of Tensor
        `recon`, a scalar, nats.

    Examples
    --------
    >>> import torch
    >>> from partita.distributions import DiagonalNormal
    >>> from partita.trace import Batch, wake
    >>> q = DiagonalNormal(torch.ones(4, 2), torch.zeros(4, 2))
    >>> networks = {"encoder": lambda x: q, "decoder": lambda z: DiagonalNormal(z, torch.zeros_like(z))}
    >>> trace = wake(networks, Batch(torch.zeros(4, 2), 4), {"z": torch.zeros(4, 2)}, {})
    >>> round(reconstruction(trace)["recon"].item(), 3)  # log(2 pi) + 1
    2.838
    """
    return {"recon": -trace.px.log_prob(trace.batch.x).mean()}


def kl(trace: Trace) -> dict[str, Tensor]:
    """kl = E_n KL(q(z|n) || p(z)), in closed form where the prior has one, else from the sample.

    Parameters
    ----------
    trace : the forward pass of a batch.

    Returns
    -------
    dict of Tensor
        `kl`, a scalar, nats.

    Examples
    --------
    >>> import torch
    >>> from partita.distributions import DiagonalNormal
    >>> from partita.trace import Batch, wake
    >>> q = DiagonalNormal(torch.ones(4, 2), torch.zeros(4, 2))
    >>> trace = wake({"encoder": lambda x: q}, Batch(torch.zeros(4, 3), 4), {"z": torch.zeros(4, 2)}, {})
    >>> kl(trace)["kl"].item()
    1.0
    """
    return {"kl": trace.prior.kl(trace.q, trace.z).mean()}


def conditional_tc(trace: Trace) -> dict[str, Tensor]:
    """conditional_tc = E_n KL(q(z|n) || prod_k q(z_k|n)): what correlation between the latents given x adds to the KL.
    0 for a diagonal posterior, the constant c = -1/2 log det R for equicorrelated noise (docs/glossary.md).

    Parameters
    ----------
    trace : the forward pass of a batch.

    Returns
    -------
    dict of Tensor
        `conditional_tc`, a scalar, nats.

    Examples
    --------
    >>> import torch
    >>> from partita.distributions import DiagonalNormal
    >>> from partita.trace import Batch, wake
    >>> q = DiagonalNormal(torch.ones(4, 2), torch.zeros(4, 2))
    >>> trace = wake({"encoder": lambda x: q}, Batch(torch.zeros(4, 3), 4), {"z": torch.zeros(4, 2)}, {})
    >>> conditional_tc(trace)["conditional_tc"].item()
    0.0
    """
    return {"conditional_tc": trace.q.conditional_tc.mean()}


def capacity_gap(trace: Trace) -> dict[str, Tensor]:
    """|KL - C| of Burgess et al. 2018, with C the knob `capacity`, and the KL itself.

    Parameters
    ----------
    trace : the forward pass of a batch, with the knob `capacity`.

    Returns
    -------
    dict of Tensor
        `capacity_gap` and `kl`, scalars, nats.

    Examples
    --------
    >>> import torch
    >>> from partita.distributions import DiagonalNormal
    >>> from partita.trace import Batch, wake
    >>> q = DiagonalNormal(torch.ones(4, 2), torch.zeros(4, 2))
    >>> knobs = {"capacity": torch.tensor(5.0)}
    >>> trace = wake({"encoder": lambda x: q}, Batch(torch.zeros(4, 3), 4), {"z": torch.zeros(4, 2)}, knobs)
    >>> capacity_gap(trace)["capacity_gap"].item()
    4.0
    """
    value = kl(trace)["kl"]
    return {"capacity_gap": (value - trace.knobs["capacity"]).abs(), "kl": value}
