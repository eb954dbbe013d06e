"""Codes and factors in, scores out. Arrays only: no models, no training."""

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

from partita.metrics._inputs import UntrainedClasses
from partita.metrics.beta_vae import beta_vae
from partita.metrics.dci import dci
from partita.metrics.dcimig import dcimig
from partita.metrics.exact_tc import exact_tc
from partita.metrics.explicitness import explicitness
from partita.metrics.factor_vae import factor_vae
from partita.metrics.gaussian_tc import gaussian_tc
from partita.metrics.infomec import infomec
from partita.metrics.irs import irs
from partita.metrics.jemmig import jemmig
from partita.metrics.latent_activity import latent_activity
from partita.metrics.leakage import leakage
from partita.metrics.mcc import mcc
from partita.metrics.mig import mig
from partita.metrics.mig_sup import mig_sup
from partita.metrics.modularity import modularity
from partita.metrics.monte_carlo_tc import monte_carlo_tc
from partita.metrics.registry import METRICS, Metric, evaluate, inapplicable
from partita.metrics.sap import sap
from partita.metrics.score import Score, over_runs
from partita.metrics.udr import udr
from partita.metrics.wasserstein_correlation import wasserstein_correlation
