"""The quantities of InfoGAN's game, in nats per observation (Chen et al. 2016; docs/glossary.md)."""

import torch
from torch import Tensor
from torch.nn.functional import log_softmax, softplus

from partita.trace import Trace


def criticism(trace: Trace) -> dict[str, Tensor]:
    """criticism = -log D(x) - log(1 - D(G(z))), what the critic minimises. Real and dreamed observations pass through
    it apart, each normalised by its own batch.

    Parameters
    ----------
    trace : a pass from noise to an observation and back (`Dream`).

    Returns
    -------
    dict of Tensor
        `criticism`, a scalar, nats.

    Examples
    --------
    A critic that cannot tell, D = 1/2: 2 log 2.

    >>> from partita.distributions import DiagonalNormal
    >>> from partita.distributions.uniform import UNIFORM
    >>> from partita.trace import Batch
    >>> q, z = DiagonalNormal(torch.zeros(4, 2), torch.zeros(4, 2)), torch.zeros(4, 2)
    >>> networks = {"trunk": lambda x: x, "critic": lambda features: 0 * features[:, 0]}
    >>> drawn = {"features": torch.zeros(4, 3)}
    >>> trace = Trace(Batch(torch.zeros(4, 3), 4), {}, {}, networks, q, z, UNIFORM, drawn)
    >>> round(criticism(trace)["criticism"].item(), 3)
    1.386
    """
    critic, trunk = trace.networks["critic"], trace.networks["trunk"]
    real, dreamed = critic(trunk(trace.batch.x)), critic(trace.drawn["features"])
    return {"criticism": (softplus(-real) + softplus(dreamed)).mean()}


def persuasion(trace: Trace) -> dict[str, Tensor]:
    """persuasion = -log D(G(z)), the generator's own loss (the form that does not saturate).

    Parameters
    ----------
    trace : a pass from noise to an observation and back (`Dream`).

    Returns
    -------
    dict of Tensor
        `persuasion`, a scalar, nats.

    Examples
    --------
    A critic that cannot tell, D = 1/2: log 2.

    >>> from partita.distributions import DiagonalNormal
    >>> from partita.distributions.uniform import UNIFORM
    >>> from partita.trace import Batch
    >>> q, z = DiagonalNormal(torch.zeros(4, 2), torch.zeros(4, 2)), torch.zeros(4, 2)
    >>> networks, drawn = {"critic": lambda features: 0 * features[:, 0]}, {"features": torch.zeros(4, 3)}
    >>> trace = Trace(Batch(torch.zeros(4, 3), 4), {}, {}, networks, q, z, UNIFORM, drawn)
    >>> round(persuasion(trace)["persuasion"].item(), 3)
    0.693
    """
    return {"persuasion": softplus(-trace.networks["critic"](trace.drawn["features"])).mean()}


def code_nll(trace: Trace) -> dict[str, Tensor]:
    """code_nll = -log Q(z|G(z)) of the continuous codes. It bounds H(z|x) from above, so that a low value means high
    mutual information; with correlated noise the density is that of the correlated Gaussian.

    Parameters
    ----------
    trace : a pass from noise to an observation and back (`Dream`).

    Returns
    -------
    dict of Tensor
        `code_nll`, a scalar, nats.

    Examples
    --------
    Codes at the mean of a standard normal of two dimensions: log(2 pi).

    >>> from partita.distributions import DiagonalNormal
    >>> from partita.distributions.uniform import UNIFORM
    >>> from partita.trace import Batch
    >>> q, z = DiagonalNormal(torch.zeros(4, 2), torch.zeros(4, 2)), torch.zeros(4, 2)
    >>> trace = Trace(Batch(torch.zeros(4, 3), 4), {}, {}, {}, q, z, UNIFORM)
    >>> round(code_nll(trace)["code_nll"].item(), 3)
    1.838
    """
    return {"code_nll": -trace.q.log_prob(trace.z).mean()}


def category_nll(trace: Trace) -> dict[str, Tensor]:
    """category_nll = -log Q(c|G(z)) of the category.

    Parameters
    ----------
    trace : a pass from noise to an observation and back (`Dream`).

    Returns
    -------
    dict of Tensor
        `category_nll`, a scalar, nats.

    Examples
    --------
    Three categories, nothing read off: log 3.

    >>> from partita.distributions import DiagonalNormal
    >>> from partita.distributions.uniform import UNIFORM
    >>> from partita.trace import Batch
    >>> q, z = DiagonalNormal(torch.zeros(4, 2), torch.zeros(4, 2)), torch.zeros(4, 2)
    >>> drawn = {"category": torch.eye(3), "category_logits": torch.zeros(3, 3)}
    >>> trace = Trace(Batch(torch.zeros(4, 3), 4), {}, {}, {}, q, z, UNIFORM, drawn)
    >>> round(category_nll(trace)["category_nll"].item(), 3)
    1.099
    """
    logs = log_softmax(trace.drawn["category_logits"], -1)
    return {"category_nll": -torch.sum(trace.drawn["category"] * logs, -1).mean()}
