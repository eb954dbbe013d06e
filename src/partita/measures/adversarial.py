"""The quantities of InfoGAN's game, in nats per observation (Chen et al. 2016; docs/glossary.md)."""

import torch
from torch import Tensor
from torch.nn.functional import log_softmax, softplus

from partita.trace import Trace


def criticism(trace: Trace) -> dict[str, Tensor]:
    """criticism = -log D(x) - log(1 - D(G(z))), what the critic minimises. Real and dreamed observations pass through
    it apart, each normalised by its own batch."""
    critic, trunk = trace.networks["critic"], trace.networks["trunk"]
    real, dreamed = critic(trunk(trace.batch.x)), critic(trace.drawn["features"])
    return {"criticism": (softplus(-real) + softplus(dreamed)).mean()}


def persuasion(trace: Trace) -> dict[str, Tensor]:
    """persuasion = -log D(G(z)), the generator's own loss (the form that does not saturate)."""
    return {"persuasion": softplus(-trace.networks["critic"](trace.drawn["features"])).mean()}


def code_nll(trace: Trace) -> dict[str, Tensor]:
    """code_nll = -log Q(z|G(z)) of the continuous codes. It bounds H(z|x) from above, so that a low value means high
    mutual information; with correlated noise the density is that of the correlated Gaussian."""
    return {"code_nll": -trace.q.log_prob(trace.z).mean()}


def category_nll(trace: Trace) -> dict[str, Tensor]:
    """category_nll = -log Q(c|G(z)) of the category."""
    logs = log_softmax(trace.drawn["category_logits"], -1)
    return {"category_nll": -torch.sum(trace.drawn["category"] * logs, -1).mean()}
