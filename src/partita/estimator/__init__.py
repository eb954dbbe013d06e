"""The scikit-learn face: fit an array, get the latents."""

__all__ = ["RESTARTS", "Disentangler", "load"]

from partita.estimator.disentangler import Disentangler
from partita.estimator.load import load
from partita.recipes._usual import RESTARTS
