"""Functions of the user's own, named on the command line or by a study: `module:function`."""

import json
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from partita.cli.values import complain


def part_named(text: str, *, likelihood: bool = False) -> Any:
    """The function (or object) of "module:name", imported from the current folder or from where modules are installed;
    a name of ours, such as "vae" or "gaussian:0.25", as it is."""
    module, colon, path = text.partition(":")
    if not colon or (likelihood and _has_likelihoods(module)):
        return text
    try:
        part: Any = _imported(module)
    except ModuleNotFoundError as error:
        raise ValueError(f"{text}: {error}; it is looked for in the current folder, and where modules are") from None
    except Exception as error:  # whatever a module may do while it is loaded
        raise ValueError(f"{text}: importing {module} failed: {type(error).__name__}: {error}") from error
    for piece in path.split("."):
        part = getattr(part, piece, None)
    if part is None:
        from partita.data._nearest import nearest

        raise ValueError(f"{text}: {module} has no {path}{nearest(path, [*vars(sys.modules[module])])}")
    return part


def load_own_parts(folder: Path) -> Any:
    """Imports the modules that runs of a study name, where they lie in the current folder or are installed. Not from
    the study's folder: what comes with data is not run. What cannot be imported is missed, in words, by the runs that
    need it. Returns what `Store.look_up` said, which takes a while where runs are many."""
    from partita.studies import Store

    known = Store(folder).look_up()
    for module in sorted(_modules(known.entries)):
        try:
            if not _comes_with(module, folder):
                _imported(module)
        except ModuleNotFoundError:
            continue
        except Exception as error:
            complain(f"importing {module} failed: {type(error).__name__}: {error}")
    return known


def _modules(entries: Sequence[Any]) -> set[str]:
    names = {name for listed in {entry.sources for entry in entries} for name in json.loads(listed)}
    return {name.partition(":")[0] for name in names if ":" in name and "#" not in name} - {"__main__", ""}


def _comes_with(module: str, folder: Path) -> bool:
    _make_importable()
    spec = find_spec(module.partition(".")[0])
    places = [] if spec is None else [spec.origin or "", *(spec.submodule_search_locations or ())]
    return any(Path(place).resolve().is_relative_to(folder.resolve()) for place in places if place)


def _imported(module: str) -> Any:
    _make_importable()
    return import_module(module)


def _make_importable() -> None:
    """The current folder, as the last place: a file there never stands for a module that is installed."""
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())


def _has_likelihoods(family: str) -> bool:
    from partita.distributions import LIKELIHOODS

    return family in LIKELIHOODS
