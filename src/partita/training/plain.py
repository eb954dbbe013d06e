"""Settings as a file can hold them: Python's own numbers, words, tuples and dicts, whatever NumPy made of them."""

from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
import torch

from partita.recipes import Ramp


def plain(value: Any, name: str) -> Any:
    """The same value in Python's own types; ValueError, naming the setting, where there is none."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, str | torch.device):
        return str(value)
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return float(value)
    if isinstance(value, Ramp):
        return Ramp(*(plain(each, name) for each in (value.start, value.end, value.steps)))
    if isinstance(value, Mapping):
        return {str(key): plain(each, name) for key, each in value.items()}
    if isinstance(value, np.ndarray):
        return plain(value.tolist(), name)
    if isinstance(value, Sequence) and not isinstance(value, bytes):
        return tuple(plain(each, name) for each in value)
    raise ValueError(
        f"{name}: {value!r} ({type(value).__name__}) cannot be kept in a file; give numbers, words, tuples"
    )


def as_json(value: Any) -> Any:
    """What `plain` returns, for JSON, which has lists only and knows no ramp."""
    if isinstance(value, Ramp):
        return {"ramp": [value.start, value.end, value.steps]}
    if isinstance(value, dict):
        return {key: as_json(each) for key, each in value.items()}
    return [as_json(each) for each in value] if isinstance(value, tuple) else value


def from_json(value: Any) -> Any:
    """What `as_json` was given."""
    if isinstance(value, dict):
        inside = {key: from_json(each) for key, each in value.items()}
        return Ramp(*inside["ramp"]) if inside.keys() == {"ramp"} else inside
    return tuple(from_json(each) for each in value) if isinstance(value, list) else value
