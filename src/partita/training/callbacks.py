"""Functions people are called back by while a model trains: they see numbers, and may say that it is enough."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from partita.training.own_parts import name_of

# The step, and what was logged there; True asks for the end of the run.
Callback = Callable[[int, dict[str, float]], Any]


def check_callbacks(callbacks: Any) -> tuple[Callable[..., Any], ...]:
    """ValueError where these are not functions."""
    if callable(callbacks):
        raise ValueError("callbacks must be several functions: write callbacks=[function]")
    found = tuple(callbacks or ())
    for each in found:
        if not callable(each):
            raise ValueError(f"callbacks must be functions (step, quantities), got {each!r}")
    return found


def call(callbacks: Sequence[Callable[..., Any]], *before: Any, quantities: Mapping[str, float]) -> bool:
    """Whether one of them returns True. Each has a copy of its own; an error names the one it comes from."""
    enough = False
    for callback in callbacks:
        try:
            answer = callback(*before, dict(quantities))
        except Exception as error:
            words = f"the callback {name_of(callback)} failed at step {before[-1]}: {type(error).__name__}: {error}"
            raise ValueError(words) from error
        enough |= isinstance(answer, bool | np.bool_) and bool(answer)
    return enough
