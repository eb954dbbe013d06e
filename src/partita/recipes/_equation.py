"""A recipe's objective as a line of text, read off the recipe itself."""

import inspect
import re

from partita.measures.quantities import quantity
from partita.networks import Architecture
from partita.recipes import build
from partita.recipes.program import Program
from partita.recipes.recipe import Ramp

LATENTS = 6
POSTERIOR_KEYWORDS = ("posterior", "rho")
# What every method is called with, whatever its options: no options of its own where it names them.
HANDED_ON = ("shape", "network", "likelihood", "labels", "learning_rate", "hidden", "precision", "covariates")
ADDED = {name: p for name, p in inspect.signature(build).parameters.items() if p.default is not p.empty}


class Symbol:
    """A weight known by name only; a recipe called with symbols returns its objective in symbols."""

    def __init__(self, text: str):
        self.text = text

    def __sub__(self, other) -> "Symbol":
        return Symbol(f"({self.text} - {other})")

    def __add__(self, other) -> "Symbol":
        return Symbol(f"({self.text} + {other})")

    __radd__ = __add__


def keywords(method) -> dict[str, inspect.Parameter]:
    """The method's keywords, its configuration and its command-line flags: its own, the posterior families that every
    method takes which hands keywords on to its architecture, and the penalties that any method takes (`build`)."""
    parameters = inspect.signature(method).parameters
    named = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    own = {name: p for name, p in parameters.items() if p.kind in named and name not in HANDED_ON}
    own |= {name: ADDED[name] for name in ADDED if name not in own}
    if not any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values()):
        return own
    house = inspect.signature(Architecture).parameters
    return own | {name: house[name] for name in POSTERIOR_KEYWORDS if name not in own}


def usual_latents(method) -> int:
    """How many latents a method has where nobody says."""
    own = keywords(method).get("latents")
    return own.default if own is not None and isinstance(own.default, int) else LATENTS


def weight_names(method) -> list[str]:
    """The keywords that are numbers of the objective, and may differ inside one ensemble."""
    names = [name for name in keywords(method) if name not in POSTERIOR_KEYWORDS and name not in ADDED]
    own = inspect.signature(method).parameters
    return [name for name in names if isinstance(own[name].default, float) or own[name].annotation == float | None]


def equation(method) -> str:
    """What the method minimises, such as "-E[log p(x|z)] + KL(q(z|x) || p(z)) + beta * PC(z)"."""
    symbols = {name: Symbol(name) for name in weight_names(method)}
    recipe = Program.of(method(**symbols, shape=(1,))).recipe
    lines = []
    for player in recipe.players:
        terms = [_term(weight, quantity(name).symbol) for name, weight in player.weights.items()]
        line = " ".join(t for t in terms if t).removeprefix("+ ")
        lines.append(re.sub(r"\+ ((?:[^ ]+ \* )?)-", r"- \1", line))  # a minus in front, not after the plus
    return "; ".join(lines) or "nothing step by step: it is solved in closed form"


def _term(weight, symbol: str) -> str:
    if isinstance(weight, Ramp):
        weight = weight.end
    if isinstance(weight, Symbol):
        return f"+ {weight.text} * {symbol}"
    if weight == 0:
        return ""
    sign = "-" if weight < 0 else "+"
    return f"{sign} {symbol}" if abs(weight) == 1 else f"{sign} {abs(weight):g} * {symbol}"
