"""From an estimator's parameters and its data to the program it is trained by."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from partita.data._nearest import nearest
from partita.distributions.likelihoods import by_name
from partita.recipes import RECIPES, Program, Recipe, build
from partita.recipes._equation import HANDED_ON, keywords, usual_latents
from partita.recipes._own_methods import as_function, has_no_groups, method_name
from partita.recipes.unmixed import NETWORKS
from partita.training.defaults import choose_likelihood, choose_network
from partita.training.observations import units_in_words
from partita.training.own_parts import name_of
from partita.training.plain import plain

RESTARTS, LEARNING_RATE = 8, 1e-3
# Parameters that may be a function or an object of one's own.
PARTS = ("method", "network", "likelihood")


def plain_settings(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters in Python's own types, but for parts of one's own: refused before training is what could not be
    saved after it. Callbacks are no part of what a model is."""
    kept = {name: value for name, value in parameters.items() if name != "callbacks"}
    kept["likelihood"] = by_name(kept["likelihood"])
    return {name: value if _own(name, value) else plain(value, name) for name, value in kept.items()}


def _own(name: str, value: Any) -> bool:
    return name in PARTS and (callable(value) or hasattr(value, "__dataclass_fields__"))


def chosen_architecture(settings: Mapping[str, Any], x: np.ndarray, x_scale: float) -> tuple[Any, Any]:
    """Network and likelihood, as asked for or as the data suggest; said in words where the estimator is verbose."""
    network, why_network = settings["network"], "as asked"
    likelihood, why = settings["likelihood"], "as asked"
    known = known_recipe(settings["method"])
    brought = known if not isinstance(settings["method"], str) else None
    if known is not None and not known.players and brought is None:
        network, likelihood, why_network, why = "linear", "gaussian", "in closed form", "in closed form"
    elif likelihood == "auto" and brought is not None:
        likelihood, why = brought.architecture.likelihood, "the recipe's own"
    elif likelihood == "auto":
        likelihood, why = choose_likelihood(x, x_scale, _latents(settings))
    if network == "auto" and starts_unmixed(settings, likelihood, x.shape[1:]):
        why_network = "linear, or nearly so where the rows are bent"
    elif network == "auto":
        found = choose_network(x.shape[1:])
        network, why_network = found if brought is None else (brought.architecture.network, "the recipe's own")
    if settings["verbose"]:
        print(f"network {_in_words(network)}: {why_network}\nlikelihood {_in_words(likelihood)}: {why}")
        print(units_in_words(x, x_scale))
    return network, likelihood


def known_recipe(method: Any) -> Recipe | None:
    """What is known of a method before there are data; nothing, of a function or of a name that is none."""
    if isinstance(method, Recipe | Program):
        return method if isinstance(method, Recipe) else method.recipe
    return build(method, shape=(1,)).recipe if isinstance(method, str) and method in RECIPES else None


def built_program(
    settings: Mapping[str, Any], network: Any, likelihood: Any, shape: tuple[int, ...], labels: int
) -> Program:
    """How these settings are trained on observations of this shape, with so many labels."""
    method, options = settings["method"], dict(settings["options"] or {})
    known = keywords(as_function(method, RECIPES))
    brings_its_own = isinstance(method, Recipe | Program)
    for name in options:
        if name not in known or name in ("latents", "groups", *HANDED_ON):
            raise ValueError(f"{method_name(method)} has no option {name!r}{nearest(name, known)}")
    if "groups" in known or (brings_its_own and settings["groups"] is not None):
        options["groups"] = settings["groups"]
    elif settings["groups"] is not None:
        raise has_no_groups(method)
    if settings["validation"] is not None:
        options["validation"] = settings["validation"]
    if starts_unmixed(settings, likelihood, shape):
        options["start"] = "unmixed"
    elif method == "pdisvae":
        alone = isinstance(settings["groups"], str) or options.get("posterior") == "full"
        options.setdefault("restarts", 1 if alone else RESTARTS)
    rest = {"latents": _latents(settings), "labels": labels, "learning_rate": settings["learning_rate"]}
    if brings_its_own:  # what was not asked for is the recipe's own
        unasked = {"latents": settings["latents"] is None, "labels": not labels}
        unasked["learning_rate"] = settings["learning_rate"] == LEARNING_RATE
        rest = {name: value for name, value in rest.items() if not unasked[name]}
    return build(method, **options, **rest, network=network, likelihood=likelihood, shape=shape)


def starts_unmixed(settings: Mapping[str, Any], likelihood: Any, shape: tuple[int, ...]) -> bool:
    """Whether a model starts where the rows are unmixed: where that is asked for; and PDisVAE of rows of numbers
    without labels, at least as many numbers as latents, in a network that is linear or nearly so, unless restarts are
    asked for."""
    options = settings["options"] or {}
    if "start" in options:
        return options["start"] == "unmixed"
    return (
        settings["method"] == "pdisvae"
        and not {"restarts", "judge"} & set(options)
        and not options.get("disintegration")
        and options.get("posterior", "diagonal") == "diagonal"
        and settings["network"] in ("auto", *NETWORKS)
        and isinstance(likelihood, str)
        and likelihood.startswith("gaussian")
        and len(shape) == 1
        and _latents(settings) <= shape[0]
    )


def _latents(settings: Mapping[str, Any]) -> int:
    """As many as said, else as the groups have, else as the method has where nothing is said."""
    latents, groups = settings["latents"], settings["groups"]
    if latents is not None:
        return latents
    if isinstance(groups, tuple) and all(isinstance(each, int | tuple) for each in groups):
        return sum(each if isinstance(each, int) else len(each) for each in groups)
    return usual_latents(as_function(settings["method"], RECIPES))


def _in_words(part: Any) -> str:
    return part if isinstance(part, str) else name_of(part)
