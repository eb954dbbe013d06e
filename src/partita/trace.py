"""One forward pass, recorded."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from partita.distributions import STANDARD_NORMAL, Posterior, Prior

Networks = Mapping[str, Callable[..., Any]]


@dataclass(frozen=True)
class Batch:
    """Observations x (M, ...), the data set's size N, and where there are any: labels u (M, m), and which rows show
    theirs, `labelled` (M,) of 0 and 1. Semi-supervision is this mask, never a split."""

    x: Tensor
    size: int
    u: Tensor | None = None
    labelled: Tensor | None = None


@dataclass(frozen=True)
class Trace:
    """What a measure may look at: the batch, the noise, q(z|x), z ~ q(z|x), p(z) and p(x|z).

    `knobs` are numbers of the method that are not weights of its objective (a capacity, say).
    """

    batch: Batch
    noise: Mapping[str, Tensor]
    knobs: Mapping[str, Tensor]
    networks: Networks
    q: Posterior
    z: Tensor
    prior: Prior

    @property
    def px(self):
        """p(x|z), computed when a measure asks: not every player decodes."""
        return self.networks["decoder"](self.z)


@dataclass(frozen=True)
class Wake:
    """Data -> encoder -> z, with a fixed prior."""

    prior: Prior = STANDARD_NORMAL

    def __call__(
        self, networks: Networks, batch: Batch, noise: Mapping[str, Tensor], knobs: Mapping[str, Tensor]
    ) -> Trace:
        q = networks["encoder"](batch.x)
        return Trace(batch, noise, knobs, networks, q, q.sample(noise["z"]), self.prior)


wake = Wake()
