"""From an estimator's parameters and its data to the program it is trained by."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from partita.data._nearest import nearest
from partita.distributions import as_likelihood
from partita.distributions.likelihoods import by_name
from partita.recipes import RECIPES, Program, Recipe, build
from partita.recipes._equation import HANDED_ON, keywords, usual_latents
from partita.recipes._own_methods import as_function, has_no_groups, method_name
from partita.recipes._usual import usual_options
from partita.training.defaults import (
    HIDDEN,
    LINEAR_GAUSSIAN,
    Chosen,
    choose_network,
    choose_units,
    network_asked,
    widths,
    with_noise,
)
from partita.training.own_parts import name_of
from partita.training.plain import plain
from partita.training.scale import Scale

LEARNING_RATE = 1e-3
# Parameters that may be a function or an object of one's own.
PARTS = ("method", "network", "likelihood")


def plain_settings(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters in Python's own types, but for parts of one's own: refused before training is what could not be
    saved after it. Callbacks are no part of what a model is."""
    kept = {name: value for name, value in parameters.items() if name != "callbacks"}
    kept |= {"likelihood": by_name(kept["likelihood"]), "hidden": widths(kept["hidden"])}
    return {name: value if _own(name, value) else plain(value, name) for name, value in kept.items()}


def with_network(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings with what hidden layers say of the network."""
    return {**settings, "network": network_asked(settings["network"], settings["hidden"])}


def _own(name: str, value: Any) -> bool:
    return name in PARTS and (callable(value) or hasattr(value, "__dataclass_fields__"))


def chosen_units(settings: Mapping[str, Any], x: np.ndarray, x_scale: float, exposures: np.ndarray | None) -> Chosen:
    """Likelihood and scale, as asked for or as the data suggest."""
    likelihood, brought = settings["likelihood"], _brought(settings)
    if likelihood == "auto" and brought is not None:
        chosen = choose_units(x, x_scale, brought.architecture.likelihood, settings["scale"], exposures)
        return replace(chosen, why="the recipe's own")
    if likelihood == "auto" and isinstance(settings["method"], str) and settings["method"] in LINEAR_GAUSSIAN:
        chosen = choose_units(x, x_scale, "gaussian", settings["scale"], exposures)
        return replace(chosen, why=f"{settings['method']} is linear and Gaussian")
    return choose_units(x, x_scale, likelihood, settings["scale"], exposures)


def chosen_architecture(
    settings: Mapping[str, Any], x: np.ndarray, x_scale: float, chosen: Chosen, covariates: int
) -> tuple[Any, Any]:
    """Network and likelihood, as asked for or as the data suggest; said in words where the estimator is verbose."""
    network, why_network, brought = settings["network"], "as asked", _brought(settings)
    linear = isinstance(settings["method"], str) and settings["method"] in LINEAR_GAUSSIAN
    if linear:
        network, why_network = "linear", "in closed form"
    if settings["likelihood"] == "auto" and brought is None and not linear:
        # what covariates explain is off these rows already
        seen = chosen if not covariates else replace(chosen, scale=Scale(counts=chosen.scale.counts))
        found = with_noise(seen, x, x_scale, latents_of(settings))
        chosen = replace(chosen, likelihood=found.likelihood, why=found.why)
    likelihood = chosen.likelihood
    counts = as_likelihood(likelihood).counts  # which have one network to start unmixed with
    if network == "auto" and not counts and starts_unmixed(settings, likelihood, x.shape[1:]):
        why_network = "linear, or nearly so where the rows are bent"
    elif network == "auto":
        found = choose_network(x.shape[1:], likelihood)
        network, why_network = found if brought is None else (brought.architecture.network, "the recipe's own")
    if settings["verbose"]:
        print(f"network {_in_words(network)}: {why_network}\nlikelihood {_in_words(likelihood)}: {chosen.why}")
        print(f"scale {chosen.scale.name}: {chosen.why_scale}" + ("; bytes are divided by 255" if x_scale != 1 else ""))
    return network, likelihood


def _brought(settings: Mapping[str, Any]) -> Recipe | None:
    return known_recipe(settings["method"]) if not isinstance(settings["method"], str) else None


def known_recipe(method: Any) -> Recipe | None:
    """What is known of a method before there are data; nothing, of a function or of a name that is none."""
    if isinstance(method, Recipe | Program):
        return method if isinstance(method, Recipe) else method.recipe
    return build(method, shape=(1,)).recipe if isinstance(method, str) and method in RECIPES else None


def built_program(
    settings: Mapping[str, Any], network: Any, likelihood: Any, shape: tuple[int, ...], labels: int, covariates: int = 0
) -> Program:
    """How these settings are trained on observations of this shape, with so many labels and columns of covariates."""
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
    if tuple(settings["hidden"]) != HIDDEN:
        options["hidden"] = tuple(settings["hidden"])
    if settings["precision"] != "float32":
        options["precision"] = settings["precision"]
    options |= _usual(settings, options, likelihood, shape)
    rest = {"latents": latents_of(settings), "labels": labels, "learning_rate": settings["learning_rate"]}
    if covariates:
        rest["covariates"] = covariates
    if brings_its_own:  # what was not asked for is the recipe's own
        unasked = {"latents": settings["latents"] is None, "labels": not labels, "covariates": False}
        unasked["learning_rate"] = settings["learning_rate"] == LEARNING_RATE
        rest = {name: value for name, value in rest.items() if not unasked[name]}
    return build(method, **options, **rest, network=network, likelihood=likelihood, shape=shape)


def starts_unmixed(settings: Mapping[str, Any], likelihood: Any, shape: tuple[int, ...]) -> bool:
    """Whether a model starts where the rows are unmixed: where that is asked for, or nothing else is."""
    options = settings["options"] or {}
    return (options | _usual(settings, options, likelihood, shape)).get("start") == "unmixed"


def _usual(settings: Mapping[str, Any], options: Mapping[str, Any], likelihood: Any, shape: tuple[int, ...]) -> dict:
    known = {name: settings[name] for name in ("groups", "network")}
    return usual_options(
        settings["method"], options, **known, likelihood=likelihood, shape=shape, latents=latents_of(settings)
    )


def latents_of(settings: Mapping[str, Any]) -> int:
    """As many as said, else as the groups have, else as the method has where nothing is said."""
    latents, groups = settings["latents"], settings["groups"]
    if latents is not None:
        return latents
    if isinstance(groups, tuple) and all(isinstance(each, int | tuple) for each in groups):
        return sum(each if isinstance(each, int) else len(each) for each in groups)
    return usual_latents(as_function(settings["method"], RECIPES))


def _in_words(part: Any) -> str:
    return part if isinstance(part, str) else name_of(part)
