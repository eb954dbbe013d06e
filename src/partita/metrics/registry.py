"""The one list of metrics, and `evaluate`, which runs several of them on one pair of arrays."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from partita.metrics import factorisation, information_gaps
from partita.metrics.score import Score


@dataclass(frozen=True)
class Metric:
    """An entry of METRICS. `protocols[0]` is the default; `needs` says what beside codes it reads."""

    function: Callable[..., Score]
    summary: str
    protocols: tuple[str, ...]
    needs: str = "factors"
    grouped: bool = False


DLIB = ("dlib-2019",)

METRICS: dict[str, Metric] = {
    "mig": Metric(
        information_gaps.mig,
        "gap between the two latents that know a factor best",
        information_gaps.MIG_PROTOCOLS,
        grouped=True,
    ),
    "mig_sup": Metric(
        information_gaps.mig_sup, "gap between the two factors a latent knows best", information_gaps.GAP_PROTOCOLS
    ),
    "jemmig": Metric(
        information_gaps.jemmig, "MIG that also counts what else the best latent holds", ("ubisoft-2020",)
    ),
    "dcimig": Metric(information_gaps.dcimig, "one gap for merged and split factors together", ("ubisoft-2020",)),
    "gaussian_tc": Metric(
        factorisation.gaussian_tc, "total correlation of the codes' covariance, nats", DLIB, needs="codes", grouped=True
    ),
    "wasserstein_correlation": Metric(
        factorisation.wasserstein_correlation,
        "transport distance of the codes' covariance to independence",
        DLIB,
        needs="codes",
        grouped=True,
    ),
}


def evaluate(
    codes: Any,
    factors: Any,
    metrics: str | Sequence[str] = "all",
    *,
    seed: int = 0,
    protocol: str | None = None,
    groups: Sequence | None = None,
    factor_groups: Sequence | None = None,
    interval: float | None = None,
) -> dict[str, Score]:
    """Scores by name. "all" takes every metric the arrays allow; a name, or names, exactly those.

    `protocol` is used by the metrics that have it, the others keep their default. `groups` and `factor_groups` go to
    the metrics that know groups. `factors` None leaves the unsupervised ones.
    """
    chosen = _chosen(metrics, factors)
    scores = {}
    for name in chosen:
        metric = METRICS[name]
        options: dict[str, Any] = {"seed": seed, "interval": interval}
        if protocol in metric.protocols:
            options["protocol"] = protocol
        if metric.grouped and groups is not None:
            options["groups"] = groups
        if metric.grouped and metric.needs == "factors" and factor_groups is not None:
            options["factor_groups"] = factor_groups
        scores[name] = metric.function(codes, factors, **options)
    return scores


def _chosen(metrics: str | Sequence[str], factors: Any) -> list[str]:
    if metrics == "all":
        return [name for name, metric in METRICS.items() if factors is not None or metric.needs == "codes"]
    names = [name.strip() for name in metrics.split(",")] if isinstance(metrics, str) else list(metrics)
    unknown = [name for name in names if name not in METRICS]
    if unknown:
        raise ValueError(f"unknown metric {', '.join(map(repr, unknown))}: choose from {', '.join(METRICS)}")
    return names
