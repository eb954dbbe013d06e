"""Parts people bring along (a method, a network, a likelihood), as files know them: by name, and a digest of the source.

Files never hold code, and code is never run because a file names it: a part is looked for among the modules that are
loaded already, and asked for where it is not there.
"""

import hashlib
import inspect
import re
import sys
import types
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import partial
from textwrap import dedent
from typing import Any

# Parts that this process was given, by name and digest: also those that no module has under their name.
_GIVEN: dict[tuple[str, str], Any] = {}


class ChangedSource(UserWarning):
    """A function is no longer what it was when a model was trained with it."""


def name_of(part: Any) -> str:
    """ "module:function"; of an object that is no function, its own `name` or that of its class."""
    if isinstance(part, partial):
        return f"partial({name_of(part.func)})"
    if hasattr(part, "__qualname__"):
        return f"{part.__module__}:{part.__qualname__}"
    own = getattr(part, "name", None)
    return own if isinstance(own, str) else type(part).__qualname__


def source_digest(part: Any) -> str:
    """Of the source of a function or class (not of what it calls), of an object of all its fields."""
    return hashlib.blake2b(_described(part).encode(), digest_size=8).hexdigest()


def given(part: Any) -> tuple[str, str]:
    """Name and digest of a part, which this process finds again by them."""
    name, source = name_of(part), source_digest(part)
    _GIVEN[name, source] = part
    return name, source


def find(name: str, source: str) -> tuple[Any, bool]:
    """The part of this name, and whether its source is still the same; ValueError, with what to do, where it is not
    among the modules that are loaded."""
    if (name, source) in _GIVEN:
        return _GIVEN[name, source], True
    module, colon, path = name.partition(":")
    if not colon or "<" in name or "(" in name:
        raise ValueError(f"{name} has no name to find it by")
    if module not in sys.modules:
        raise ValueError(f"{name}: the module {module} is not loaded; import it first")
    part: Any = sys.modules[module]
    for piece in path.split("."):
        part = getattr(part, piece, None)
    if part is None:
        raise ValueError(f"{name} is gone: {module} has no {path}")
    same = source_digest(part) == source
    if module == "__main__" and not same:  # another script's, which has the same name by chance
        raise ValueError(f"{name} is of another script")
    return part, same


def _described(part: Any, above: tuple[int, ...] = ()) -> str:
    """All that makes a part what it is, as text: the same in every process."""
    if id(part) in above:  # a function that knows itself
        return name_of(part)
    inside = partial(_described, above=(*above, id(part)))
    if isinstance(part, partial):
        return f"partial({inside(part.func)}, {inside(part.args)}, {inside(part.keywords)})"
    if isinstance(part, Mapping):
        return f"{{{', '.join(f'{key!r}: {inside(value)}' for key, value in part.items())}}}"
    if isinstance(part, list | tuple):
        return f"({', '.join(map(inside, part))})"
    if is_dataclass(part) and not isinstance(part, type):
        return inside(type(part)) + inside({each.name: getattr(part, each.name) for each in fields(part)})
    if isinstance(part, types.MethodType):
        return f"{inside(part.__self__)}.{part.__name__}"
    if isinstance(part, types.FunctionType):
        known = [cell.cell_contents for cell in part.__closure__ or ()]
        return _source(part) + inside([known, part.__defaults__, part.__kwdefaults__])
    return _source(part) if isinstance(part, type) else re.sub(r" at 0x[0-9a-f]+", "", repr(part))


def _source(part: Any) -> str:
    if part.__module__.partition(".")[0] == "partita":  # what a release computes is known by other means
        return f"{part.__module__}:{part.__qualname__}"
    code = getattr(part, "__code__", None)
    try:
        text = dedent(inspect.getsource(part))
    except (OSError, TypeError):  # typed where nothing is kept
        return part.__qualname__ if code is None else _compiled(code)
    return text + _compiled(code) if code is not None and "<lambda>" in part.__qualname__ else text


def _compiled(code: types.CodeType) -> str:
    constants = [_compiled(each) if isinstance(each, types.CodeType) else repr(each) for each in code.co_consts]
    return f"{code.co_code.hex()} {constants} {code.co_names}"
