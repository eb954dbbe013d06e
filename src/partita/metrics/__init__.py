"""Codes and factors in, scores out. Arrays only: no models, no training."""

from partita.metrics._inputs import UntrainedClasses
from partita.metrics.dci import dci
from partita.metrics.factorisation import gaussian_tc, wasserstein_correlation
from partita.metrics.infomec import infomec
from partita.metrics.interventions import beta_vae, factor_vae
from partita.metrics.irs import irs
from partita.metrics.leakage import leakage
from partita.metrics.mcc import mcc
from partita.metrics.mig import dcimig, jemmig, mig, mig_sup
from partita.metrics.modular_explicit import explicitness, modularity
from partita.metrics.posterior_scores import exact_tc, latent_activity, monte_carlo_tc
from partita.metrics.registry import METRICS, Metric, evaluate, inapplicable
from partita.metrics.sap import sap
from partita.metrics.score import Score, over_runs
from partita.metrics.udr import udr

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
