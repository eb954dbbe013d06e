"""Options of loaders: the keywords and annotations of the function are their names and types, checked first."""

import inspect
import os
import types
from collections.abc import Callable, Sequence
from numbers import Integral, Real
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np

from partita.data._nearest import listed, nearest

WORDS = {int: "a whole number", float: "a number", str: "text", bool: "True or False", os.PathLike: "a path"}


def option_names(function: Callable[..., Any]) -> tuple[str, ...]:
    parameters = inspect.signature(function).parameters.values()
    return tuple(parameter.name for parameter in parameters if parameter.kind is parameter.KEYWORD_ONLY)


def check_options(function: Callable[..., Any], name: str, options: dict[str, Any]) -> None:
    """ValueError, naming the culprit, unless every option exists and has a value of its annotated type."""
    allowed, hints = option_names(function), get_type_hints(function)
    for option, value in options.items():
        if option not in allowed:
            known = f"it takes {', '.join(allowed)}" if allowed else "it takes none"
            raise ValueError(f"{name}: unknown option {option!r}{nearest(option, allowed)}; {known}")
        if not fits(value, hints[option]):
            raise ValueError(f"{name}: {option} must be {in_words(hints[option])}, got {listed([repr(value)])}")


def fits(value: Any, hint: Any) -> bool:
    """Whether a value is of an annotated type: a union, a sequence, a number, text, a path or None."""
    if hint is Any:
        return True
    if hint is None or hint is type(None):
        return value is None
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return any(fits(value, one) for one in inner)
    if origin is not None and issubclass(origin, Sequence):
        listed = isinstance(value, Sequence | np.ndarray) and not isinstance(value, str | bytes)
        return listed and all(fits(item, inner[0]) for item in value)
    if hint is float:
        return isinstance(value, Real) and not isinstance(value, bool) and abs(float(value)) < 1e300
    if hint is int:
        return isinstance(value, Integral) and not isinstance(value, bool) and abs(int(value)) < 2**62
    return isinstance(value, hint)


def in_words(hint: Any) -> str:
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return " or ".join(in_words(one) for one in inner)
    if origin is not None and issubclass(origin, Sequence):
        return f"a list, each {in_words(inner[0])}"
    return "None" if hint in (None, type(None)) else WORDS.get(hint, str(hint))
