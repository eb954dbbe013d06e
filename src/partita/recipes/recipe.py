"""A method is a recipe: networks by name, and players who own some of them and minimise a weighted sum."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from numbers import Real

from torch import Tensor

from partita.networks import Architecture, Decoder, Encoder, Factory
from partita.trace import Trace, wake

Measure = Callable[[Trace], dict[str, Tensor]]


@dataclass(frozen=True)
class Ramp:
    """A value that goes linearly from `start` to `end` over the first `steps` steps and stays there."""

    start: float
    end: float
    steps: int

    def at(self, step: int) -> float:
        return self.start + (self.end - self.start) * min(1.0, step / self.steps)


Value = float | Ramp


def value_at(value: Value, step: int) -> float:
    return value.at(step) if isinstance(value, Ramp) else float(value)


@dataclass(frozen=True)
class Adam:
    learning_rate: float = 1e-3
    betas: tuple[float, float] = (0.9, 0.999)


@dataclass(frozen=True)
class Player:
    """Minimises sum_k weight_k * quantity_k over its measures, by the parameters of the networks it owns alone.

    A quantity without a weight is a diagnostic: it is logged and moves nothing.
    """

    owns: tuple[str, ...]
    measures: tuple[Measure, ...]
    weights: Mapping[str, Value]
    optimiser: Adam = Adam()


@dataclass(frozen=True)
class Recipe:
    """Networks, players, the pass they watch, the standard normal noise that pass needs (name -> columns a row),
    numbers that are not weights (`knobs`), and the partition of the latents the method works with."""

    networks: Mapping[str, Factory]
    players: tuple[Player, ...]
    noise: Mapping[str, int]
    groups: tuple[tuple[int, ...], ...]
    knobs: Mapping[str, Value] = field(default_factory=dict)
    trace: Callable[..., Trace] = wake

    @property
    def architecture(self) -> Architecture:
        return self.networks["encoder"].architecture

    @property
    def structure(self):
        """All that runs of one ensemble must share: everything but the values of weights and knobs."""
        players = tuple((p.owns, p.measures, tuple(p.weights), p.optimiser) for p in self.players)
        return (
            tuple(self.networks.items()),
            players,
            tuple(self.noise.items()),
            self.groups,
            tuple(self.knobs),
            self.trace,
        )


def one_player(
    measures: tuple[Measure, ...],
    weights: Mapping[str, Value],
    *,
    groups,
    knobs: Mapping[str, Value] | None = None,
    learning_rate: float = 1e-3,
    **architecture,
) -> Recipe:
    """An encoder and a decoder with one objective."""
    positive(learning_rate=learning_rate)
    house = Architecture(**architecture)
    return Recipe(
        networks={"encoder": Factory(Encoder, house), "decoder": Factory(Decoder, house)},
        players=(Player(("encoder", "decoder"), measures, weights, Adam(learning_rate)),),
        noise={"z": house.latents},
        groups=groups,
        knobs=knobs or {},
    )


def nonnegative(**values) -> None:
    """Refuses weights that are negative or not finite."""
    for name, value in values.items():
        if isinstance(value, Real) and not (math.isfinite(value) and value >= 0):
            raise ValueError(f"{name} must be a finite number of at least 0, got {value}")


def positive(**values) -> None:
    for name, value in values.items():
        if isinstance(value, Real) and not (math.isfinite(value) and value > 0):
            raise ValueError(f"{name} must be a finite number above 0, got {value}")
