"""A recipe's objective as a line of text, read off the recipe itself."""

import inspect

from partita.recipes.recipe import Ramp

QUANTITIES = {
    "recon": "-E[log p(x|z)]",
    "kl": "KL(q(z|x) || p(z))",
    "capacity_gap": "|KL - C|",
    "mi": "I(z;n)",
    "tc": "TC(z)",
    "pc": "PC(z)",
    "within_tc": "sum_g TC(z_g)",
}


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
    """The method's own keywords: its configuration and its command-line flags."""
    own = inspect.signature(method).parameters
    return {name: parameter for name, parameter in own.items() if parameter.kind is inspect.Parameter.KEYWORD_ONLY}


def weight_names(method) -> list[str]:
    """The keywords that are numbers of the objective, and may differ inside one ensemble."""
    return [name for name, p in keywords(method).items() if isinstance(p.default, float)]


def equation(method) -> str:
    """What the method minimises, such as "-E[log p(x|z)] + KL(q(z|x) || p(z)) + beta * PC(z)"."""
    symbols = {name: Symbol(name) for name in weight_names(method)}
    recipe = method(**symbols, shape=(1,))
    lines = []
    for player in recipe.players:
        terms = [_term(weight, QUANTITIES[name]) for name, weight in player.weights.items()]
        lines.append(" ".join(t for t in terms if t).removeprefix("+ "))
    return "; ".join(lines)


def _term(weight, quantity: str) -> str:
    if isinstance(weight, Ramp):
        weight = weight.end
    if isinstance(weight, Symbol):
        return f"+ {weight.text} * {quantity}"
    if weight == 0:
        return ""
    sign = "-" if weight < 0 else "+"
    return f"{sign} {quantity}" if abs(weight) == 1 else f"{sign} {abs(weight):g} * {quantity}"
