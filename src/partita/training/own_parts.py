"""Parts people bring along (a method, a network, a likelihood), as files know them: by name, and a digest of source.

Files never hold code, and code is never run because a file names it: a part is looked for among the modules that are
loaded already, and asked for where it is not there.
"""

import hashlib
import inspect
import re
import sys
import types
import warnings
from collections.abc import Mapping
from dataclasses import Field, fields, is_dataclass
from functools import partial
from pathlib import Path
from textwrap import dedent
from typing import Any

# Parts that this process was given, by name and digest: also those that no module has under their name.
_GIVEN: dict[tuple[str, str], Any] = {}


class ChangedSource(UserWarning):
    """A function is no longer what it was when a model was trained with it."""


def name_of(part: Any) -> str:
    """ "module:function"; of an object, the variable of a loaded module that holds it, else its `name` or class."""
    if hasattr(part, "__qualname__"):
        return f"{part.__module__}:{part.__qualname__}"
    for module in _likeliest_first(part):
        for variable, value in list(getattr(sys.modules[module], "__dict__", {}).items()):
            if type(value) is type(part) and value == part:  # equal ones too: scikit-learn copies what it clones
                return f"{module}:{variable}"
    own = getattr(part, "name", None)
    return own if isinstance(own, str) else type(part).__qualname__


def _likeliest_first(part: Any) -> list[str]:
    """Loaded modules, first those of the object's functions: others may have imported it. The script comes last."""
    makers = {getattr(value, "__module__", None) for value in getattr(part, "__dict__", {}).values()}
    users = [name for name in sys.modules if not name.startswith("partita.") and name != "__mp_main__"]
    return sorted(users, key=lambda name: (name == "__main__", name not in makers))


def source_digest(part: Any) -> str:
    """Of the source of a function or class (not of what it calls), of an object of all its fields."""
    return hashlib.blake2b(_described(part).encode(), digest_size=8).hexdigest()


def given(part: Any) -> tuple[str, str]:
    """Name and digest of a part, which this process finds again by them. What no module has under its name is told
    apart by its digest."""
    name, source = name_of(part), source_digest(part)
    if ":" not in name or "<" in name:
        name = f"{name}#{source[:6]}"
    _GIVEN[name, source] = part
    return name, source


def find(name: str, source: str) -> tuple[Any, bool]:
    """The part of this name, as it was given to this process or as a loaded module has it, and whether its source is
    still the same; ValueError, with what to do, where there is none."""
    return (_GIVEN[name, source], True) if (name, source) in _GIVEN else _loaded(name, source)


def _loaded(name: str, source: str) -> tuple[Any, bool]:
    module, colon, path = name.partition(":")
    if not colon or "#" in name or "<" in name:
        raise ValueError(f"{name} has no name by which it is found: define it at the top of a module")
    if module not in sys.modules:
        raise ValueError(f"{name}: import {module} first (commands find it in the folder they are run in)")
    part: Any = sys.modules[module]
    for piece in path.split("."):
        part = getattr(part, piece, None)
    if part is None:
        raise ValueError(f"{name} is gone: {module} has no {path} any more")
    same = source_digest(part) == source
    if module == "__main__" and not same:  # another script's, which has the same name by chance
        raise ValueError(f"{name} was the function of a script: define it at the top of a module")
    return part, same


def named(part: Any) -> Any:
    """A part as a file holds it: a name of ours as it is, one's own by name and digest."""
    return part if isinstance(part, str) else {"own": name_of(part), "source": source_digest(part)}


def refound(path: Path, kind: str, kept: Any, again: Any = None) -> Any:
    """The part that a file holds as `kept`, `again` where it is given again; ValueError where it is neither given nor
    to be found. Warns where it is no longer what it was."""
    if not isinstance(kept, dict):
        if again is not None:
            raise ValueError(f"{path} was saved with {kind}={kept!r}: leave {kind} out")
        return kept
    if again is not None:
        part, same = again, source_digest(again) == kept["source"]
    else:
        try:
            part, same = _loaded(kept["own"], kept["source"])
        except ValueError as error:
            raise ValueError(
                f"{path} was saved with a {kind} of your own. {error}, or give it again: load(path, {kind}=...)"
            ) from None
    if not same:
        warnings.warn(
            f"the source of {kept['own']}, the {kind} of {path}, has changed since it was trained", ChangedSource, 3
        )
    return part


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
        said = {each.name: getattr(part, each.name) for each in fields(part) if _said(part, each)}
        return inside(type(part)) + inside(said)
    if isinstance(part, types.MethodType):
        return f"{inside(part.__self__)}.{part.__name__}"
    if isinstance(part, types.FunctionType):
        return _source(part) + inside([inspect.getclosurevars(part).nonlocals, part.__defaults__, part.__kwdefaults__])
    return _source(part) if isinstance(part, type) else re.sub(r" at 0x[0-9a-f]+", "", repr(part))


def _said(part: Any, each: Field) -> bool:
    """Whether a field is part of a description: one that came in a later release, where it is not the default."""
    return not each.metadata.get("later") or getattr(part, each.name) != each.default


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
