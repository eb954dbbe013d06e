"""Quantities of a trace and of an aggregated posterior; a measure never sees a weight."""

__all__ = [
    "QUANTITIES",
    "WEIGHTS",
    "Correlation",
    "DensityRatio",
    "Discrimination",
    "NullCorrelation",
    "Parts",
    "Quantity",
    "UninformativeEstimate",
    "aggregate",
    "capacity_gap",
    "category_nll",
    "code_nll",
    "conditional_kl",
    "conditional_tc",
    "correlation",
    "covariance_of_means",
    "covariance_of_samples",
    "criticism",
    "decompose",
    "disintegration",
    "gaussian_tc",
    "kl",
    "label_entropy",
    "label_reconstruction",
    "log_weights",
    "mean_reconstruction",
    "null_correlation",
    "persuasion",
    "posterior_variance",
    "predictor_nll",
    "prior_kl",
    "quantity",
    "reconstruction",
    "supervised",
    "weight_norm",
]

from partita.measures.adversarial import category_nll, code_nll, criticism, persuasion
from partita.measures.aggregate import aggregate, decompose
from partita.measures.autoencoder import mean_reconstruction, weight_norm
from partita.measures.correlation import (
    Correlation,
    NullCorrelation,
    UninformativeEstimate,
    correlation,
    null_correlation,
)
from partita.measures.density_ratio import DensityRatio, Discrimination
from partita.measures.elbo import capacity_gap, conditional_tc, kl, reconstruction
from partita.measures.gaussian import gaussian_tc
from partita.measures.labels import (
    conditional_kl,
    disintegration,
    label_entropy,
    label_reconstruction,
    predictor_nll,
    prior_kl,
    supervised,
)
from partita.measures.moments import covariance_of_means, covariance_of_samples, posterior_variance
from partita.measures.parts import Parts
from partita.measures.quantities import QUANTITIES, Quantity, quantity
from partita.measures.weights import WEIGHTS, log_weights
