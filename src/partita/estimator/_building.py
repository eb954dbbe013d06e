"""From an estimator's parameters and its data to the program it is trained by."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from partita.data._nearest import nearest
from partita.recipes import RECIPES, Program, build
from partita.recipes._equation import keywords
from partita.training.defaults import choose_likelihood, choose_network
from partita.training.observations import units_in_words
from partita.training.plain import plain

RESTARTS = 8


def plain_settings(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters in Python's own types: refused before training is what could not be saved after it."""
    return {name: plain(value, name) for name, value in parameters.items()}


def chosen_architecture(settings: Mapping[str, Any], x: np.ndarray, x_scale: float) -> tuple[str, str]:
    """Network and likelihood, as asked for or as the data suggest; said in words where the estimator is verbose."""
    network, why_network = settings["network"], "as asked"
    if network == "auto":
        network, why_network = choose_network(x.shape[1:])
    likelihood, why = settings["likelihood"], "as asked"
    if likelihood == "auto":
        likelihood, why = choose_likelihood(x, x_scale, settings["latents"])
    if settings["verbose"]:
        print(f"network {network}: {why_network}\nlikelihood {likelihood}: {why}")
        print(units_in_words(x, x_scale))
    return network, likelihood


def check_method(method: str) -> None:
    if method not in RECIPES:
        raise ValueError(f"unknown method {method!r}{nearest(method, RECIPES)}; choose from {', '.join(RECIPES)}")


def built_program(
    settings: Mapping[str, Any], network: str, likelihood: str, shape: tuple[int, ...], labels: int
) -> Program:
    """How these settings are trained on observations of this shape, with so many labels."""
    method = settings["method"]
    known = keywords(RECIPES[method])
    options: dict[str, Any] = dict(settings["options"] or {})
    for name in options:
        if name not in known or name in ("latents", "groups"):
            raise ValueError(f"{method} has no option {name!r}{nearest(name, known)}")
    if "groups" in known:
        options["groups"] = settings["groups"]
    elif settings["groups"] is not None:
        raise ValueError(f"{method} has no groups; use pdisvae or hfvae, or groups=None")
    if settings["validation"] is not None:
        options["validation"] = settings["validation"]
    if method == "pdisvae":
        alone = isinstance(settings["groups"], str) or options.get("posterior") == "full"
        options.setdefault("restarts", 1 if alone else RESTARTS)
    return build(
        method, **options, latents=settings["latents"], network=network, likelihood=likelihood, shape=shape,
        labels=labels, learning_rate=settings["learning_rate"],
    )  # fmt: skip
