"""One forward pass, recorded."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from partita.distributions import DiagonalNormal, StandardNormal

Networks = Mapping[str, Callable[..., Any]]


@dataclass(frozen=True)
class Batch:
    """Observations x (M, ...), the data set's size N, and auxiliary labels u where there are any."""

    x: Tensor
    size: int
    u: Tensor | None = None


@dataclass(frozen=True)
class Trace:
    """What a measure may look at: the batch, the noise, q(z|x), z ~ q(z|x), p(z) and p(x|z).

    `knobs` are numbers of the method that are not weights of its objective (a capacity, say).
    """

    batch: Batch
    noise: Mapping[str, Tensor]
    knobs: Mapping[str, Tensor]
    networks: Networks
    q: DiagonalNormal
    z: Tensor
    prior: StandardNormal

    @property
    def px(self):
        """p(x|z), computed when a measure asks: not every player decodes."""
        return self.networks["decoder"](self.z)


def wake(networks: Networks, batch: Batch, noise: Mapping[str, Tensor], knobs: Mapping[str, Tensor]) -> Trace:
    """Data -> encoder -> z."""
    q = networks["encoder"](batch.x)
    return Trace(batch, noise, knobs, networks, q, q.sample(noise["z"]), StandardNormal())
