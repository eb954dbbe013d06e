"""What an autoencoder without noise minimises."""

import torch
from torch import Tensor

from partita.trace import Trace


def mean_reconstruction(trace: Trace) -> dict[str, Tensor]:
    """mean_recon = -log p(x | z = E[z|x]): no noise in the code.

    Parameters
    ----------
    trace : the forward pass of a batch.

    Returns
    -------
    dict of Tensor
        `mean_recon`, a scalar, nats.

    Examples
    --------
    The noise moves z, and not the code that is decoded.

    >>> from partita.distributions import DiagonalNormal
    >>> from partita.trace import Batch, wake
    >>> q = DiagonalNormal(torch.ones(4, 2), torch.zeros(4, 2))
    >>> networks = {"encoder": lambda x: q, "decoder": lambda z: DiagonalNormal(z, torch.zeros_like(z))}
    >>> trace = wake(networks, Batch(torch.ones(4, 2), 4), {"z": torch.ones(4, 2)}, {})
    >>> round(mean_reconstruction(trace)["mean_recon"].item(), 3)  # log(2 pi)
    1.838
    """
    px = trace.decode(trace.q.mean)
    return {"mean_recon": -px.log_prob(trace.batch.x).mean()}


def weight_norm(trace: Trace) -> dict[str, Tensor]:
    """weight_norm = sum of the squared weights of encoder and decoder; biases go free.

    Parameters
    ----------
    trace : the forward pass of a batch; its networks carry their `parameters` by name.

    Returns
    -------
    dict of Tensor
        `weight_norm`, a scalar.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> network = SimpleNamespace(parameters={"0.weight": torch.ones(3, 2), "0.bias": torch.ones(3)})
    >>> weight_norm(SimpleNamespace(networks={"encoder": network, "decoder": network}))["weight_norm"].item()
    12.0
    """
    weights = [
        value.square().sum()
        for name in ("encoder", "decoder")
        for key, value in trace.networks[name].parameters.items()  # type: ignore[attr-defined]
        if key.endswith("weight")
    ]
    return {"weight_norm": torch.stack(weights).sum()}
