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
    are correlated given x is watched for how much: KL minus `conditional_tc` is the KL its marginals would have.

    Parameters
    ----------
    measures : tuple of functions
        Each gives quantities of a trace, by name.
    weights : mapping of str to float or Ramp
        Weights of the quantities in the objective; a quantity without one is only logged.
    groups : tuple of tuples of int
        The partition of the latents.
    knobs : mapping of str to float or Ramp, optional
        Numbers that the measures need and that are not weights.
    learning_rate : float
        Of Adam, above 0.
    prior : str
        The distribution of each latent, by name: "normal", say.
    **architecture
        Keywords of `Architecture`: `shape`, `latents` and so on.

    Returns
    -------
    Recipe
        One that needs no labels.

    Examples
    --------
    >>> from partita.measures.elbo import kl, reconstruction
    >>> weights = {"reconstruction": 1.0, "kl": 4.0}
    >>> recipe = one_player((reconstruction, kl), weights, groups=((0,), (1,)), shape=(5,), latents=2)
    >>> list(recipe.networks), dict(recipe.noise)
    (['encoder', 'decoder'], {'z': 2})
    """
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
    have labels: a factor is to live in one latent. Any method takes it that learns from codes of data.

    Parameters
    ----------
    recipe : Recipe
        It is left as it is.
    weight : float or Ramp
        At least 0; with 0 the recipe itself comes back.

    Returns
    -------
    Recipe
        One that needs labels of "some" rows, or of "all" where `recipe` did.

    Examples
    --------
    >>> from partita.measures.elbo import kl
    >>> recipe = one_player((kl,), {"kl": 1.0}, groups=((0,), (1,)), shape=(5,), latents=2)
    >>> penalised = with_disintegration(recipe, 10.0)
    >>> dict(penalised.players[0].weights), penalised.labels
    ({'kl': 1.0, 'disintegration': 10.0}, 'some')
    """
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
    """Refuses weights that are negative or not finite.

    Parameters
    ----------
    **values
        Numbers by name. Ramps and symbols pass unchecked.

    Returns
    -------
    None
        ValueError, with the name of the first that is refused.

    Examples
    --------
    >>> nonnegative(beta=0.0)
    >>> nonnegative(beta=-1.0)
    Traceback (most recent call last):
    ValueError: beta must be a finite number of at least 0, got -1.0
    """
    for name, value in values.items():
        if _no_number(value) or (isinstance(value, Real) and not (math.isfinite(value) and float(value) >= 0)):
            raise ValueError(f"{name} must be a finite number of at least 0, got {value}")


def positive(**values) -> None:
    """Refuses numbers that are 0, negative or not finite.

    Parameters
    ----------
    **values
        Numbers by name. Ramps and symbols pass unchecked.

    Returns
    -------
    None
        ValueError, with the name of the first that is refused.

    Examples
    --------
    >>> positive(learning_rate=0.001)
    >>> positive(learning_rate=0)
    Traceback (most recent call last):
    ValueError: learning_rate must be a finite number above 0, got 0
    """
    for name, value in values.items():
        if _no_number(value) or (isinstance(value, Real) and not (math.isfinite(value) and float(value) > 0)):
            raise ValueError(f"{name} must be a finite number above 0, got {value}")


def _no_number(value) -> bool:
    """Text, a list, nothing: symbols, by which an equation is read off a recipe, pass."""
    return value is None or isinstance(value, Collection)


def whole(*, least: int, **values) -> None:
    """Refuses anything but whole numbers of at least `least`.

    Parameters
    ----------
    least : int
        The smallest that passes.
    **values
        Numbers by name.

    Returns
    -------
    None
        ValueError, with the name of the first that is refused.

    Examples
    --------
    >>> whole(least=1, latents=10)
    >>> whole(least=1, latents=2.5)
    Traceback (most recent call last):
    ValueError: latents must be a whole number of at least 1, got 2.5
    """
    for name, value in values.items():
        if not isinstance(value, Integral) or value < least:
            raise ValueError(f"{name} must be a whole number of at least {least}, got {value}")
