"""A method is a recipe: networks by name, and players who own some of them and minimise a weighted sum."""

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from numbers import Integral, Real
from typing import Any

from partita.distributions import parse_prior
from partita.measures.elbo import conditional_tc
from partita.measures.labels import disintegration
from partita.networks import Architecture, Decoder, Encoder, Factory
from partita.trace import Dream, Trace, Wake, WakeWithLabels, wake

# Quantities of a trace, by name; of a measure that `carries`, quantities and what it carries on (`trace.Carry`).
Measure = Callable[[Trace], Any]


@dataclass(frozen=True)
class Ramp:
    """A value that goes linearly from `start` to `end` over the first `steps` steps and stays there."""

    start: float
    end: float
    steps: int

    def at(self, step: float) -> float:
        return self.start + (self.end - self.start) * min(1.0, step / self.steps)


Value = float | Ramp


def value_at(value: Value, step: float) -> float:
    return value.at(step) if isinstance(value, Ramp) else float(value)


@dataclass(frozen=True)
class Adam:
    learning_rate: float = 1e-3
    betas: tuple[float, float] = (0.9, 0.999)


@dataclass(frozen=True)
class Player:
    """Minimises sum_k weight_k * quantity_k over its measures, by the parameters of the networks it owns alone.

    A quantity without a weight is a diagnostic: it is logged and moves nothing. `concern` looks at the quantities of
    all players as they were logged last, and says what a person should know, or None.
    """

    owns: tuple[str, ...]
    measures: tuple[Measure, ...]
    weights: Mapping[str, Value]
    optimiser: Adam = Adam()
    concern: Callable[[Mapping[str, float]], str | None] | None = None


@dataclass(frozen=True)
class Recipe:
    """Networks, players, the pass they watch, the standard normal noise that pass needs (name -> columns a row),
    numbers that are not weights (`knobs`), and the partition of the latents the method works with.

    `labels` says whether the method needs labels of "all" rows, of "some", or of "none". How training goes over time is
    no part of it (`recipes.program`).
    """

    networks: Mapping[str, Factory]
    players: tuple[Player, ...]
    noise: Mapping[str, int]
    groups: tuple[tuple[int, ...], ...]
    knobs: Mapping[str, Value] = field(default_factory=dict)
    trace: Wake | WakeWithLabels | Dream = wake
    labels: str = "none"

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
            self.labels,
        )


def one_player(
    measures: tuple[Measure, ...],
    weights: Mapping[str, Value],
    *,
    groups,
    knobs: Mapping[str, Value] | None = None,
    learning_rate: float = 1e-3,
    prior: str = "normal",
    **architecture,
) -> Recipe:
    """An encoder and a decoder with one objective, and a factorised prior (`parse_prior`). A posterior whose latents
    are correlated given x is watched for how much: KL minus `conditional_tc` is the KL its marginals would have."""
    positive(learning_rate=learning_rate)
    house = Architecture(**architecture)
    if house.posterior != "diagonal":
        measures = (*measures, conditional_tc)
    return Recipe(
        networks={"encoder": Factory(Encoder, house), "decoder": Factory(Decoder, house)},
        players=(Player(("encoder", "decoder"), measures, weights, Adam(learning_rate)),),
        noise={"z": house.latents},
        groups=groups,
        knobs=knobs or {},
        trace=Wake(parse_prior(prior)),
    )


def with_disintegration(recipe: Recipe, weight: Value) -> Recipe:
    """The recipe whose first player also minimises `weight` times `measures.labels.disintegration`, from the rows that
    have labels: a factor is to live in one latent. Any method takes it that learns from codes of data."""
    nonnegative(disintegration=weight)
    if isinstance(weight, Real) and weight == 0:
        return recipe
    if not recipe.players:
        raise ValueError("disintegration is a penalty on training, and this method is solved in closed form")
    if isinstance(recipe.trace, Dream):
        raise ValueError("disintegration needs codes of labelled rows, and this method learns from what it dreams")
    model, *others = recipe.players
    weights = {**model.weights, "disintegration": weight}
    model = replace(model, measures=(*model.measures, disintegration), weights=weights)
    return replace(recipe, players=(model, *others), labels="some" if recipe.labels == "none" else recipe.labels)


def nonnegative(**values) -> None:
    """Refuses weights that are negative or not finite."""
    for name, value in values.items():
        if _no_number(value) or (isinstance(value, Real) and not (math.isfinite(value) and float(value) >= 0)):
            raise ValueError(f"{name} must be a finite number of at least 0, got {value}")


def positive(**values) -> None:
    for name, value in values.items():
        if _no_number(value) or (isinstance(value, Real) and not (math.isfinite(value) and float(value) > 0)):
            raise ValueError(f"{name} must be a finite number above 0, got {value}")


def _no_number(value) -> bool:
    """Text, a list, nothing: symbols, by which an equation is read off a recipe, pass."""
    return value is None or isinstance(value, Collection)


def whole(*, least: int, **values) -> None:
    """Refuses anything but whole numbers of at least `least`."""
    for name, value in values.items():
        if not isinstance(value, Integral) or value < least:
            raise ValueError(f"{name} must be a whole number of at least {least}, got {value}")
