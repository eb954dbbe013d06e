"""The one list of metrics, and `evaluate`, which runs several of them on one pair of arrays."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Any

import numpy as np

from partita.data._nearest import nearest
from partita.measures._arrays import as_matrix
from partita.metrics._group_information import BETWEEN_GROUPS
from partita.metrics._histogram import equal_width
from partita.metrics._inputs import codes_and_labels
from partita.metrics._interventions import Draw, grid_rows
from partita.metrics.beta_vae import beta_vae
from partita.metrics.dci import DCI_PROTOCOLS, dci
from partita.metrics.dcimig import dcimig
from partita.metrics.exact_tc import exact_tc
from partita.metrics.explicitness import PROTOCOLS as EXPLICITNESS_PROTOCOLS
from partita.metrics.explicitness import explicitness
from partita.metrics.factor_vae import factor_vae
from partita.metrics.gaussian_tc import gaussian_tc
from partita.metrics.infomec import INFOMEC_PROTOCOLS, infomec
from partita.metrics.irs import IRS_PROTOCOLS, irs
from partita.metrics.jemmig import jemmig
from partita.metrics.latent_activity import latent_activity
from partita.metrics.leakage import leakage
from partita.metrics.mcc import mcc
from partita.metrics.mig import MIG_PROTOCOLS, mig
from partita.metrics.mig_sup import GAP_PROTOCOLS, mig_sup
from partita.metrics.modularity import MODULARITY_PROTOCOLS, modularity
from partita.metrics.monte_carlo_tc import monte_carlo_tc
from partita.metrics.sap import SAP_PROTOCOLS, sap
from partita.metrics.score import Score
from partita.metrics.udr import udr
from partita.metrics.wasserstein_correlation import wasserstein_correlation

DLIB = ("dlib-2019",)


@dataclass(frozen=True)
class Metric:
    """An entry of METRICS. `protocols[0]` is the default.

    `needs`: "factors", "grid" (a complete grid of factors), "codes" (no factors), "models" (codes of several models)
    or "posterior" (means and log variances). `grouped` ones take `groups`. `better` is "higher" or "lower". `real` says
    how real-valued factors go in: "binned" (not as they are), "option" (`continuous=True`) or "as they are".
    """

    function: Callable[..., Score]
    summary: str
    protocols: tuple[str, ...]
    needs: str = "factors"
    grouped: bool = False
    better: str = "higher"
    real: str = "binned"


METRICS: dict[str, Metric] = {
    "mig": Metric(mig, "gap between the two latents that know a factor best", MIG_PROTOCOLS, grouped=True),
    "mig_sup": Metric(mig_sup, "gap between the two factors a latent knows best", GAP_PROTOCOLS),
    "jemmig": Metric(jemmig, "MIG that also counts what else the best latent holds", ("ubisoft-2020",)),
    "dcimig": Metric(dcimig, "one gap for merged and split factors together", ("ubisoft-2020",)),
    "sap": Metric(
        sap,
        "gap between the two latents that predict a factor best",
        SAP_PROTOCOLS,
        real="option",
    ),
    "dci": Metric(
        dci,
        "disentanglement, completeness, informativeness of predictors' importances",
        DCI_PROTOCOLS,
        grouped=True,
        real="option",
    ),
    "modularity": Metric(
        modularity,
        "each latent knows one factor",
        MODULARITY_PROTOCOLS,
        grouped=True,
    ),
    "explicitness": Metric(explicitness, "a linear classifier tells a factor's values apart", EXPLICITNESS_PROTOCOLS),
    "irs": Metric(irs, "a latent stays put while other factors change", IRS_PROTOCOLS),
    "beta_vae": Metric(beta_vae, "the factor pairs share is read off their code difference", DLIB, needs="grid"),
    "factor_vae": Metric(factor_vae, "the latent that varies least names the held factor", DLIB, needs="grid"),
    "infomec": Metric(
        infomec,
        "modularity, compactness, explicitness in units of information",
        INFOMEC_PROTOCOLS,
        grouped=True,
    ),
    "mcc": Metric(mcc, "mean correlation of factors with matched latents", ("khemakhem-2020",), real="as they are"),
    "leakage": Metric(
        leakage,
        "what the other groups of latents know about a group of factors",
        ("nearest-neighbours",),
        grouped=True,
        better="lower",
    ),
    "gaussian_tc": Metric(
        gaussian_tc,
        "total correlation of the codes' covariance, nats",
        DLIB,
        needs="codes",
        grouped=True,
        better="lower",
    ),
    "wasserstein_correlation": Metric(
        wasserstein_correlation,
        "transport distance of the codes' covariance to independence",
        DLIB,
        needs="codes",
        grouped=True,
        better="lower",
    ),
    "udr": Metric(udr, "how far several trainings agree on their latents", DLIB, needs="models"),
    "exact_tc": Metric(
        exact_tc,
        "total correlation of the aggregated posterior, nats, with its null",
        ("mixture-of-all-rows",),
        needs="posterior",
        grouped=True,
        better="lower",
    ),
    "monte_carlo_tc": Metric(
        monte_carlo_tc,
        "total correlation of a mixture of 64 posteriors, with its null",
        ("mixture-of-64",),
        needs="posterior",
        grouped=True,
        better="lower",
    ),
    "latent_activity": Metric(
        latent_activity, "how many latents are used, and the KL of each", ("burda-2016",), "posterior"
    ),
}


def evaluate(
    codes: Any,
    factors: Any = None,
    metrics: str | Sequence[str] = "all",
    *,
    seed: int = 0,
    protocol: str | None = None,
    groups: Sequence | None = None,
    factor_groups: Sequence | None = None,
    log_variance: Any = None,
    interval: float | None = None,
    draw: Draw | None = None,
) -> dict[str, Score]:
    """Scores by name. "all" takes every metric the arrays allow (see `inapplicable`); a name, or names, exactly those.

    Parameters
    ----------
    codes : array (n, K), or a list of them
        Latents, one row an observation; for udr a list, of several models.
    factors : array (n, F), optional
        Class indices. Real ones go to mcc, sap and dci as they are, in 20 equal widths to the rest (see settings).
    metrics : str or sequence of str
        "all", "mig,sap" or a sequence of names.
    seed : int
        Of whatever is drawn.
    protocol : str, optional
        Used by the metrics that have it; the others keep their default. Without one, DCI runs as
        "dlib-2019-fast-ties" where LightGBM is installed (each Score names its protocol).
    groups, factor_groups : sequence of sequences of int, optional
        Groups of latents and of factors, for the metrics that know groups.
    log_variance : array (n, K), optional
        Makes `codes` posterior means and adds the metrics of posteriors.
    interval : float, optional
        Level of intervals, 0.95 say; none unless given.
    draw : function (fixed, n, rng), optional
        Makes codes where a factor is held fixed, which otherwise needs every combination of factor values in the rows.

    Returns
    -------
    dict of str to Score

    Examples
    --------
    >>> factors = np.stack([column.ravel() for column in np.indices((4, 5))], 1)
    >>> {name: round(score.value, 2) for name, score in evaluate(factors * 2.0, factors, "mig,mcc").items()}
    {'mig': 1.0, 'mcc': 1.0}
    """
    factors = None if factors is None else as_matrix(factors, "factors")
    classes = None if factors is None else in_classes(factors)
    if metrics == "all":
        reasons = inapplicable(codes, classes, log_variance, groups, draw)
        chosen = [name for name in METRICS if name not in reasons]
    else:
        chosen = named(metrics)
    scores = {}
    for name in chosen:
        as_classes = METRICS[name].real == "binned"
        given = classes if as_classes else factors
        score = _score(name, codes, given, log_variance, seed, protocol, groups, factor_groups, interval, draw)
        binned = as_classes and classes is not factors and METRICS[name].needs in ("factors", "grid")
        scores[name] = replace(score, settings={**score.settings, "factor_bins": 20}) if binned else score
    return scores


def in_classes(factors: np.ndarray) -> np.ndarray:
    """Real-valued columns in 20 equal widths; the very same array where there are none."""
    real = (factors != np.rint(factors)).any(0)
    return np.where(real, equal_width(factors, 20), factors) if real.any() else factors


def split_names(names: str | Sequence[str]) -> list[str]:
    """A list of names, from that or from "mig, sap"."""
    return [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)


def named(metrics: str | Sequence[str]) -> list[str]:
    """Metrics by name: "all", "mig,sap" or a sequence; ValueError where one is unknown."""
    if metrics == "all":
        return list(METRICS)
    names = split_names(metrics)
    unknown = [name for name in names if name not in METRICS]
    if unknown:
        meant = nearest(unknown[0], METRICS)
        raise ValueError(f"unknown metric {', '.join(map(repr, unknown))}{meant}: choose from {', '.join(METRICS)}")
    return names


def inapplicable(
    codes: Any,
    factors: Any = None,
    log_variance: Any = None,
    groups: Sequence | None = None,
    draw: Draw | None = None,
) -> dict[str, str]:
    """The metrics these arrays do not allow, each with the reason.

    Parameters
    ----------
    codes, factors, log_variance, groups, draw
        As `evaluate` takes them.

    Returns
    -------
    dict of str to str

    Examples
    --------
    >>> inapplicable(np.eye(4))["mig"]
    'needs factors'
    """
    reasons = {} if groups is not None else {"leakage": "is about groups of latents: give groups"}
    if log_variance is None:
        reasons |= dict.fromkeys(_needing("posterior"), "needs the posteriors' log variances")
    several = isinstance(codes, list | tuple) and len(codes) > 0 and np.ndim(codes[0]) == 2
    if not several:
        reasons |= dict.fromkeys(_needing("models"), "compares several trained models: give a list of codes")
    if factors is None:
        return reasons | dict.fromkeys([*_needing("factors"), *_needing("grid")], "needs factors")
    if draw is not None:
        return reasons
    try:
        grid_rows(*codes_and_labels(codes, factors, "this"), "this")
    except ValueError as error:
        reasons |= dict.fromkeys(_needing("grid"), str(error))
    return reasons


def _needing(what: str) -> list[str]:
    return [name for name, metric in METRICS.items() if metric.needs == what]


def _score(name, codes, factors, log_variance, seed, protocol, groups, factor_groups, interval, draw) -> Score:
    metric = METRICS[name]
    grouped = metric.grouped and (groups is not None or factor_groups is not None)
    options: dict[str, Any] = {"seed": seed}
    if interval is not None:
        options["interval"] = interval
    if draw is not None and metric.needs == "grid":
        options["draw"] = draw
    # between groups there is one protocol, which is meant by giving them
    if protocol in metric.protocols and not (grouped and BETWEEN_GROUPS in metric.protocols):
        options["protocol"] = protocol
    elif name == "dci" and protocol is None and find_spec("lightgbm"):
        options["protocol"] = "dlib-2019-fast-ties"
    if metric.grouped and groups is not None:
        options["groups"] = groups
    if metric.grouped and metric.needs == "factors" and factor_groups is not None:
        options["factor_groups"] = factor_groups
    if metric.real == "option" and factors is not None and (factors != np.rint(factors)).any():
        options["continuous"] = True
    if options.get("protocol") == "chen-2018":
        options["log_variance"] = log_variance
    second = log_variance if metric.needs == "posterior" else factors
    if second is None and metric.needs in ("factors", "grid", "posterior"):
        missing = "log_variance" if metric.needs == "posterior" else "factors"
        raise ValueError(f"{name} needs {missing}, and none was given")
    return metric.function(codes, second, **options)
