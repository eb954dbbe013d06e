"""Codes and factors in, scores out. Arrays only: no models, no training."""

from partita.metrics.agreement import udr
from partita.metrics.correspondence import mcc
from partita.metrics.factorisation import gaussian_tc, wasserstein_correlation
from partita.metrics.importance import dci
from partita.metrics.infomec_scores import infomec
from partita.metrics.information_gaps import dcimig, jemmig, mig, mig_sup
from partita.metrics.inputs import UntrainedClasses
from partita.metrics.interventions import beta_vae, factor_vae
from partita.metrics.leaking import leakage
from partita.metrics.modular_explicit import explicitness, modularity
from partita.metrics.posterior_scores import exact_tc, latent_activity, monte_carlo_tc
from partita.metrics.registry import METRICS, Metric, evaluate, inapplicable
from partita.metrics.robustness import irs
from partita.metrics.score import Score, over_runs
from partita.metrics.separation import sap

__all__ = [
    "METRICS",
    "Metric",
    "Score",
    "UntrainedClasses",
    "beta_vae",
    "dci",
    "dcimig",
    "evaluate",
    "exact_tc",
    "explicitness",
    "factor_vae",
    "gaussian_tc",
    "inapplicable",
    "infomec",
    "irs",
    "jemmig",
    "latent_activity",
    "leakage",
    "mcc",
    "mig",
    "mig_sup",
    "modularity",
    "monte_carlo_tc",
    "over_runs",
    "sap",
    "udr",
    "wasserstein_correlation",
]
