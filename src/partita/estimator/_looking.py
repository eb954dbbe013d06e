"""What `fit` finds out about X before it trains."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from partita.distributions import as_likelihood
from partita.estimator._building import chosen_architecture, chosen_units, latents_of, plain_settings, with_network
from partita.estimator._seen import Seen, check_exposure, learn_beside, learn_missing
from partita.recipes import Program
from partita.recipes._own_methods import method_name
from partita.recipes._usual import holds_out_unasked
from partita.training.beside import sees_beside
from partita.training.defaults import check_likelihood, choose_latents, choose_validation
from partita.training.effects import with_effects
from partita.training.observations import observations
from partita.training.scale import Scale


def prepare(estimator: Any, X: np.ndarray, covariates: Any) -> tuple[Program, np.ndarray, dict[str, np.ndarray]]:
    """Decides how X is seen, and by which program it is trained, which the estimator keeps; the program, the rows with
    gaps filled, and what is known beside them."""
    settings = with_network(plain_settings(estimator.get_params(deep=False)))
    vars(estimator).update(look(settings, X, covariates, getattr(estimator, "feature_names_in_", None)))
    program = estimator._program()
    if settings["verbose"] and program.replicas > 1 and "restarts" not in (settings["options"] or {}):
        takes = "that many times as long as options={'restarts': 1}, which seldom finds groups"
        print(f"restarts {program.replicas}: so many models train at once, and the best is kept; it takes {takes}")
    estimator.seen_ = check_seen(program, estimator.seen_, X, method_name(estimator.method))
    return program, *estimator.seen_.rows(X, covariates)


def look(settings: Mapping[str, Any], X: np.ndarray, covariates: Any, names: Any) -> dict[str, Any]:
    """The estimator's attributes `seen_`, `network_`, `likelihood_`, `x_scale_`, and `latents_` and `validation_` where
    they were to be found. Said in words where the estimator is verbose."""
    X, x_scale = observations(X)
    if settings["exposure"] is not None:
        check_exposure(settings["exposure"], chosen_units(settings, X, x_scale, None).likelihood)
    seen, beside = learn_beside(settings, X, x_scale, covariates, names)
    chosen = chosen_units(settings, X, x_scale, beside.get("exposure"))
    if seen.covariates is not None and (chosen.scale.counts or as_likelihood(chosen.likelihood).suits is None):
        known = beside["covariates"], beside.get("exposure")
        chosen = replace(chosen, scale=with_effects(chosen.scale, np.asarray(X, np.float64) * x_scale, *known))
    seen, found = replace(seen, scale=chosen.scale), {}
    if settings["latents"] == "auto":
        found["latents_"], why = choose_latents(np.nan_to_num(chosen.scale.shown(as_likelihood(chosen.likelihood), X)))
        settings = {**settings, "latents": found["latents_"]}
        if settings["verbose"]:
            print(f"latents {found['latents_']}: {why}")
    found["validation_"] = None
    asked = {"validation": settings["validation"], **(settings["options"] or {})}
    passes = settings["steps"] * min(settings["batch_size"], len(X)) / len(X)
    if settings["validation"] == "auto" or holds_out_unasked(settings["method"], asked, X.shape[1:], passes):
        found["validation_"], why = choose_validation(X)
        if settings["verbose"]:
            print(f"validation {found['validation_']}: {why}; training ends when they gain no more")
    if settings["missing"] == "ignore" and X.dtype.kind == "f":
        filling = learn_missing(X, chosen.scale, beside, latents_of(settings))
        seen = replace(seen, filling=filling)
        family = as_likelihood(chosen.likelihood)
        gaps = np.isnan(X).mean()
        if settings["likelihood"] == "auto" and gaps and X.ndim == 2 and family.of_noise is not None:
            why = "real numbers with gaps get a Gaussian with the variance that probabilistic PCA leaves"
            chosen = replace(chosen, likelihood=family.of_noise(filling.noise), why=why)
        if settings["verbose"]:
            print(f"missing: {gaps:.1%} of the values, which no likelihood counts")
    width = 0 if seen.covariates is None else seen.covariates.width
    rows = X if not width else chosen.scale.of(np.asarray(X, np.float64), beside["covariates"])
    network, likelihood = chosen_architecture(settings, rows, x_scale, chosen, width)
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
