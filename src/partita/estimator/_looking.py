"""What `fit` finds out about X before it trains."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from partita.distributions import as_likelihood
from partita.estimator._building import chosen_architecture, chosen_units, latents_of
from partita.estimator._seen import Seen, check_exposure, learn_beside, learn_missing
from partita.recipes import Program
from partita.training.beside import sees_beside
from partita.training.defaults import check_likelihood, choose_latents
from partita.training.observations import observations
from partita.training.scale import Scale


def look(settings: Mapping[str, Any], X: np.ndarray, covariates: Any, names: Any) -> dict[str, Any]:
    """The estimator's attributes `seen_`, `network_`, `likelihood_`, `x_scale_`, and `latents_` where they were to be
    found. Said in words where the estimator is verbose."""
    X, x_scale = observations(X)
    beside = learn_beside(settings, X, covariates, names)
    exposures = beside.pop("exposures")
    chosen = chosen_units(settings, X, x_scale, exposures)
    check_exposure(settings["exposure"], chosen.likelihood)
    seen, found = Seen(x_scale, chosen.scale, **beside), {}
    if settings["latents"] == "auto":
        found["latents_"], why = choose_latents(np.nan_to_num(chosen.scale.shown(as_likelihood(chosen.likelihood), X)))
        settings = {**settings, "latents": found["latents_"]}
        if settings["verbose"]:
            print(f"latents {found['latents_']}: {why}")
    if settings["missing"] == "ignore" and np.isnan(X).any():
        filling = learn_missing(X, chosen.scale, exposures, latents_of(settings))
        seen = replace(seen, filling=filling)
        family = as_likelihood(chosen.likelihood)
        if settings["likelihood"] == "auto" and family.of_noise is not None and X.ndim == 2:
            why = "real numbers with gaps get a Gaussian with the variance that probabilistic PCA leaves"
            chosen = replace(chosen, likelihood=family.of_noise(filling.noise), why=why)
        if settings["verbose"]:
            print(f"missing: {np.isnan(X).mean():.1%} of the values, which no likelihood counts")
    width = 0 if seen.covariates is None else seen.covariates.width
    network, likelihood = chosen_architecture(settings, X, x_scale, chosen, width)
    return found | {"seen_": seen, "network_": network, "likelihood_": likelihood, "x_scale_": x_scale}


def check_seen(program: Program, seen: Seen, X: np.ndarray, method: str) -> Seen:
    """ValueError where the method cannot see what was given, or X is nothing that its likelihood takes; what it need
    not see is left out."""
    check_likelihood(program.recipe.architecture.likelihood, X, seen.x_scale)
    if sees_beside(program):
        return seen
    given = {"covariates": seen.covariates, "exposure": seen.exposure, "missing='ignore'": seen.filling}
    if asked := [name for name, value in given.items() if value is not None]:
        raise ValueError(f"{method} takes no {asked[0]}: leave it out, or use another method, such as vae")
    return replace(seen, scale=Scale(counts=True)) if seen.scale.counts else seen
