"""The metrics of one run, and of the runs of one setting together, as JSON."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from partita.data._some_rows import shuffled_rows
from partita.distributions import Groups, as_groups
from partita.measures.gaussian import kl_of_latents
from partita.metrics import METRICS, Score, evaluate, udr
from partita.metrics.registry import named
from partita.studies._population import Population

# Raised whenever a stored number would come out otherwise, so that older scores are measured again.
SCORING = 3


def scored(
    mean: np.ndarray,
    log_variance: np.ndarray,
    factors: np.ndarray | None,
    metrics: str | Sequence[str],
    groups: Groups,
    truth_groups: Sequence | None,
    population: Population | None = None,
) -> dict[str, Any]:
    """`metrics` latent by latent; `group_metrics` between groups of latents and of factors, where a group has several.

    Rows are scored in random order. Factors are grouped as the true latents where there are as many of them. Scores
    that hold a factor fixed draw from `population`, and are left out without one. "all" adds `structure`.
    """
    names = asked_for(metrics)
    if factors is None:
        names = [name for name in names if METRICS[name].needs not in ("factors", "grid")]
    held = [name for name in names if METRICS[name].needs == "grid"]
    single = [name for name in names if name != "leakage" and name not in held]
    structure = {"structure": _structure(mean, log_variance, factors, groups)} if metrics == "all" else {}
    order = shuffled_rows(len(mean))
    mean, log_variance = mean[order], log_variance[order]
    factors = None if factors is None else factors[order]
    found = evaluate(mean, factors, single, log_variance=log_variance)
    if held and population is not None:
        found |= evaluate(None, population.factors, held, draw=population.draw)
    scores: dict[str, Any] = (
        {"metrics": _plain({name: found[name] for name in names if name in found})} if found else {}
    )
    grouped = [name for name in names if METRICS[name].grouped and METRICS[name].needs == "factors"]
    if grouped and factors is not None and any(len(group) > 1 for group in groups):
        together = _factor_groups(factors.shape[1], truth_groups)
        scores["group_metrics"] = _plain(evaluate(mean, factors, grouped, groups=groups, factor_groups=together))
    return scores | structure


def asked_for(metrics: str | Sequence[str]) -> list[str]:
    """Names of metrics, without those of several models."""
    return [name for name in named(metrics) if METRICS[name].needs != "models"]


def scored_as(metrics: str | Sequence[str]) -> dict[str, Any]:
    """How scores were made, kept beside them."""
    return {"version": SCORING, "metrics": "all" if metrics == "all" else sorted(asked_for(metrics))}


def is_current(scores: Mapping[str, Any], metrics: str | Sequence[str]) -> bool:
    """Whether stored scores hold what these metrics would give today."""
    made = scores.get("scored")
    if not isinstance(made, Mapping) or made.get("version") != SCORING:
        return False
    has = made.get("metrics")
    return has == "all" or (metrics != "all" and isinstance(has, list) and set(asked_for(metrics)) <= set(has))


def agreement(posteriors: Sequence[tuple[np.ndarray, np.ndarray]]) -> Score:
    """UDR of several trainings, means and log-variances each, by lasso; latents with a KL below 0.01 do not count."""
    return udr([mean for mean, _ in posteriors], kl=[kl_of_latents(*posterior) for posterior in posteriors])


def _plain(found: dict[str, Score]) -> dict[str, Any]:
    return {name: score.as_dict() for name, score in found.items()}


def _factor_groups(factors: int, truth_groups: Sequence | None) -> Groups | None:
    fits = truth_groups is not None and sum(len(group) for group in truth_groups) == factors
    return as_groups(truth_groups, factors) if fits else None


def _structure(
    mean: np.ndarray, log_variance: np.ndarray, factors: np.ndarray | None, groups: Groups
) -> dict[str, Any]:
    """What the latent space turned into: rank and tangle of every group, omniscient latents, split factors, and the
    groups that the codes show by themselves."""
    from partita.structure import discover_groups, disintegration, effective_rank, min_total_correlation, omniscient

    found: dict[str, Any] = {"groups": [list(group) for group in groups]}
    if len(mean) >= 20:
        found["effective_rank"] = list(effective_rank(mean, groups, log_variance=log_variance))
        found["min_tc"] = [min_total_correlation(mean[:, list(group)]).value for group in groups]
    found["omniscient"] = [int(k) for k in omniscient(mean, log_variance)]
    if factors is not None:
        split = [asdict(one) for one in disintegration(mean, factors) if one.disintegrated]
        found["disintegrated"] = [{"factor": one["factor"], "latents": list(one["latents"])} for one in split]
    if len(mean) >= 60:
        discovery = discover_groups(mean)
        found["discovered"] = {"groups": [list(group) for group in discovery], "unmixed": discovery.unmixed}
    return found
