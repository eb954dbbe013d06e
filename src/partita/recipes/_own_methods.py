"""A method however it is given: by name, as a function that makes a recipe, or as the recipe itself."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import wraps
from typing import Any

from partita.data._nearest import nearest
from partita.distributions import as_groups
from partita.networks import Architecture
from partita.recipes.program import Program
from partita.recipes.recipe import Recipe

Method = str | Recipe | Program | Callable[..., "Recipe | Program"]


def method_name(method: Method) -> str:
    """For people."""
    return method if isinstance(method, str) else getattr(method, "__name__", type(method).__name__)


def has_no_groups(method: Method) -> ValueError:
    """What is raised where groups are given to a method without."""
    return ValueError(
        f"{method_name(method)} has no groups: leave groups out, or use pdisvae, which finds them, or hfvae"
    )


def as_function(method: Method, known: Mapping[str, Callable[..., Any]]) -> Callable[..., Any]:
    """What is called to make the method's recipe, or program; ValueError where this is no method. `known` are those
    with names."""
    if isinstance(method, str):
        if method not in known:
            raise ValueError(f"unknown method {method!r}{nearest(method, known)}; choose from {', '.join(known)}")
        return known[method]
    if isinstance(method, Recipe | Program):
        return _always(method)
    if not callable(method):
        raise ValueError(f"method must be a name, a Recipe or a function that returns one, got {method!r}")
    return _in_words(method)


def _always(method: Recipe | Program) -> Callable[..., Recipe | Program]:
    """The method, whatever it is asked for, unless that is something else than it has."""
    recipe = method if isinstance(method, Recipe) else method.recipe
    try:
        house: Architecture = recipe.architecture
    except (KeyError, AttributeError):
        raise ValueError("a Recipe needs a network 'encoder' made by a pt.networks.Factory") from None
    own: dict[str, Any] = {each.name: getattr(house, each.name) for each in fields(house)}
    own |= {"groups": recipe.groups, "learning_rate": [player.optimiser.learning_rate for player in recipe.players]}

    def made(**asked) -> Recipe | Program:
        for name, value in asked.items():
            if name not in own:
                raise ValueError(f"a Recipe has no option {name!r}: write it into the recipe")
            has = own[name]
            if name == "shape" and has != value:
                raise ValueError(f"the Recipe is for observations of shape {has}, and these have {value}")
            if name == "groups":
                value = as_groups(value, house.latents)
            if has != value and not (name == "learning_rate" and set(has) <= {value}):
                raise ValueError(f"the Recipe brings its own {name}, {has}: leave {name}={value} out")
        return method

    return made


def _in_words(method: Callable[..., Any]) -> Callable[..., Recipe | Program]:
    """A user's function; what goes wrong in it is said in one line that names it."""
    name = method_name(method)
    parameters = inspect.signature(method).parameters
    takes_all = any(each.kind is inspect.Parameter.VAR_KEYWORD for each in parameters.values())

    @wraps(method)
    def made(**options) -> Recipe | Program:
        unknown = [] if takes_all else [each for each in options if each not in parameters]
        if unknown:
            raise ValueError(
                f"{name} takes no {', '.join(unknown)}: end its parameters with **architecture, and hand them on"
            )
        try:
            found = method(**options)
        except ValueError:
            raise
        except Exception as error:
            raise ValueError(f"{name} failed: {type(error).__name__}: {error}") from error
        if not isinstance(found, Recipe | Program):
            raise ValueError(f"{name} must return a Recipe or a Program, got {type(found).__name__}")
        return found

    return made
