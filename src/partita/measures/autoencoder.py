"""What an autoencoder without noise minimises."""

import torch
from torch import Tensor

from partita.trace import Trace


def mean_reconstruction(trace: Trace) -> dict[str, Tensor]:
    """mean_recon = -log p(x | z = E[z|x]): no noise in the code."""
    px = trace.networks["decoder"](trace.q.mean)
    return {"mean_recon": -px.log_prob(trace.batch.x).mean()}


def weight_norm(trace: Trace) -> dict[str, Tensor]:
    """weight_norm = sum of the squared weights of encoder and decoder; biases go free."""
    weights = [
        value.square().sum()
        for name in ("encoder", "decoder")
        for key, value in trace.networks[name].parameters.items()  # type: ignore[attr-defined]
        if key.endswith("weight")
    ]
    return {"weight_norm": torch.stack(weights).sum()}
