"""One forward pass, recorded."""

__all__ = ["Batch", "Carry", "Dream", "Knobs", "Networks", "Trace", "Wake", "WakeWithLabels", "wake"]

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from partita.distributions import STANDARD_NORMAL, Posterior, Prior
from partita.distributions.conditional import ConditionalNormal
from partita.distributions.uniform import UNIFORM

Networks = Mapping[str, Callable[..., Any]]
Knobs = Mapping[str, Tensor]


@dataclass(frozen=True)
class Batch:
    """Observations x (M, ...), the data set's size N, and where there are any: labels u (M, m), and which rows show
    theirs, `labelled` (M,) of 0 and 1. Semi-supervision is this mask, never a split. `carry` is what earlier steps left
    to measures that asked for it (`Carry`).

    Encoder and decoder alone look at the rest: `covariates` (M, c), which both see; the `exposure`, counts that are
    expected before anything is known of z, and `observed`, 0 where a value of x is missing, both like x (or broadcast
    against it).
    """

    x: Tensor
    size: int
    u: Tensor | None = None
    labelled: Tensor | None = None
    carry: Mapping[str, Tensor] = field(default_factory=dict)
    covariates: Tensor | None = None
    exposure: Tensor | None = None
    observed: Tensor | None = None

    def for_encoder(self, u: Tensor | None = None) -> tuple[Tensor | None, ...]:
        """What an encoder is given after x."""
        if self.covariates is None and self.exposure is None:
            return () if u is None else (u,)
        return u, self.covariates, self.exposure

    @property
    def for_decoder(self) -> tuple[Tensor | None, ...]:
        """What a decoder is given after z."""
        known = (self.covariates, self.exposure, self.observed)
        return () if all(each is None for each in known) else known


@dataclass(frozen=True)
class Carry:
    """Numbers that a step leaves to the next: C of them for a model, or, with `rows`, for every row of the data.

    A measure declares them by name in its attribute `carries`. It finds (C,) in `batch.carry`, and returns its
    quantities and the new values. Of rows it finds (C, B): those of about `rows` rows outside the batch, `start` for
    rows never seen; and it returns (M, C), those of the batch.
    """

    start: tuple[float, ...]
    rows: int = 0


@dataclass(frozen=True)
class Trace:
    """What a measure may look at: the batch, the noise, q(z|x), z ~ q(z|x), p(z) and p(x|z).

    `knobs` are numbers of the method that are not weights of its objective (a capacity, say). `drawn` is what else the
    pass made on its way: the labels it went on with, a dreamed observation.
    """

    batch: Batch
    noise: Mapping[str, Tensor]
    knobs: Mapping[str, Tensor]
    networks: Networks
    q: Posterior
    z: Tensor
    prior: Prior
    drawn: Mapping[str, Any] = field(default_factory=dict)

    @property
    def px(self):
        """p(x|z), computed when a measure asks: not every player decodes."""
        return self.decode(self.z)

    def decode(self, z: Tensor):
        """p(x|z) at other codes of the same rows."""
        return self.networks["decoder"](z, *self.batch.for_decoder)


@dataclass(frozen=True)
class Wake:
    """Data -> encoder -> z, with a prior: fixed, or made from the networks and knobs where it has parameters."""

    prior: Prior | Callable[[Networks, Knobs], Prior] = STANDARD_NORMAL

    def prior_of(self, networks: Networks, knobs: Knobs) -> Prior:
        return self.prior(networks, knobs) if callable(self.prior) else self.prior

    def encode(self, networks: Networks, batch: Batch) -> Posterior:
        """q(z|x); labels are not looked at."""
        return networks["encoder"](batch.x, *batch.for_encoder())

    def reconstruct(self, networks: Networks, batch: Batch) -> Tensor:
        """E[x|z] at the posterior mean."""
        return networks["decoder"](self.encode(networks, batch).mean, *batch.for_decoder).mean

    def __call__(self, networks: Networks, batch: Batch, noise: Mapping[str, Tensor], knobs: Knobs) -> Trace:
        q = self.encode(networks, batch)
        return Trace(batch, noise, knobs, networks, q, q.sample(noise["z"]), self.prior_of(networks, knobs))


wake = Wake()


@dataclass(frozen=True)
class WakeWithLabels:
    """Data and labels -> encoder -> z ~ q(z|x,u), with a prior p(z|u) that is a network of its own.

    `imputed`: rows that do not show their labels go on with labels drawn from the predictor q(u|x); then `drawn` has
    `label_posterior`, that density. To encode and reconstruct where nobody knows labels, its median stands in for them.
    """

    labels: int
    imputed: bool = False

    def encode(self, networks: Networks, batch: Batch) -> Posterior:
        """q(z|x,u); without labels, with those that the predictor finds most likely."""
        u = networks["predictor"](batch.x).median if batch.u is None else batch.u
        return networks["encoder"](batch.x, *batch.for_encoder(u))

    def reconstruct(self, networks: Networks, batch: Batch) -> Tensor:
        """E[x|z] at the posterior mean, without labels."""
        q = self.encode(networks, replace(batch, u=None))
        return networks["decoder"](q.mean, *batch.for_decoder).mean

    def prior_of(self, networks: Networks, knobs: Knobs) -> Prior:
        """p(z|u) at labels spread evenly over the unit cube."""
        spread = torch.quasirandom.SobolEngine(self.labels).draw(1024, dtype=torch.float32)
        like = next(networks["prior"].parameters())  # type: ignore[attr-defined]  a module, outside the step
        return ConditionalNormal(networks["prior"](spread.to(like)))

    def __call__(self, networks: Networks, batch: Batch, noise: Mapping[str, Tensor], knobs: Knobs) -> Trace:
        u, drawn = batch.u, {}
        if u is None:
            u = networks["predictor"](batch.x).median
        elif self.imputed:
            drawn["label_posterior"] = networks["predictor"](batch.x)
            shown = torch.ones_like(u) if batch.labelled is None else batch.labelled.unsqueeze(-1)
            u = shown * u + (1 - shown) * drawn["label_posterior"].sample(noise["u"])
        q = networks["encoder"](batch.x, *batch.for_encoder(u))
        prior = ConditionalNormal(networks["prior"](u))
        return Trace(batch, noise, knobs, networks, q, q.sample(noise["z"]), prior, {**drawn, "u": u})


@dataclass(frozen=True)
class Dream:
    """Prior -> decoder -> encoder, the other way round: codes, a category and noise are drawn, made into an
    observation, and read off it again. The encoder reads features of a trunk that it shares with a critic.

    `z` are the drawn codes and `q` what the encoder makes of the dreamed observation; `drawn` has that observation `x`,
    its `features`, the `category` (one-hot) and the encoder's `category_logits`.
    """

    def encode(self, networks: Networks, batch: Batch) -> Posterior:
        """Q(z|x) of real observations."""
        return networks["encoder"](networks["trunk"](batch.x))[0]

    def reconstruct(self, networks: Networks, batch: Batch) -> Tensor:
        """What the generator makes of the codes and the category read off x, without noise."""
        q, logits = networks["encoder"](networks["trunk"](batch.x))
        return networks["decoder"](torch.cat([q.mean, _largest(logits)], -1)).mean

    def prior_of(self, networks: Networks, knobs: Knobs) -> Prior:
        return UNIFORM

    def generate(self, networks: Networks, noise: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Uniform codes z, a category and an observation x, all from standard normal noise."""
        z = torch.erf(noise["z"] / 2**0.5)
        category = _largest(noise["category"])
        x = networks["decoder"](torch.cat([z, category, noise["rest"]], -1)).mean
        return {"z": z, "category": category, "x": x}

    def __call__(self, networks: Networks, batch: Batch, noise: Mapping[str, Tensor], knobs: Knobs) -> Trace:
        made = self.generate(networks, noise)
        features = networks["trunk"](made["x"])
        q, logits = networks["encoder"](features)
        drawn = {**made, "features": features, "category_logits": logits}
        return Trace(batch, noise, knobs, networks, q, made["z"], UNIFORM, drawn)


def _largest(values: Tensor) -> Tensor:
    """One-hot of the largest value in each row; rows may be empty."""
    return (values == values.amax(-1, keepdim=True)).to(values) if values.shape[-1] else values
