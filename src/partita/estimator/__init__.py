"""The scikit-learn face: fit an array, get the latents."""

from partita.estimator._building import RESTARTS
from partita.estimator.disentangler import Disentangler, load

__all__ = ["RESTARTS", "Disentangler", "load"]
