"""partita: learn, measure and look at latent spaces that fall into independent parts."""

import random
from importlib import import_module

from partita._moved import keep_old_names

# scikit-learn imports rich at some first use, and rich draws from Python's generator as it is imported. That happens
# here, and is put back, lest a call of ours move the caller's generator.
_before = random.getstate()
import_module("rich.style")
random.setstate(_before)
keep_old_names()

# Where each public name lives. They are imported when first used: `partita --help` needs none of them.
_HOMES = {
    "Disentangler": "partita.estimator",
    "load": "partita.estimator",
    "correlation": "partita.measures.correlation",
    "null_correlation": "partita.measures.correlation",
    "gaussian_tc": "partita.measures.correlation",
    "Correlation": "partita.measures.correlation",
    "RECIPES": "partita.recipes",
}
_ROOMS = ("data", "metrics", "recipes", "structure", "studies", "reports")

__all__ = ["Correlation", "Disentangler", "RECIPES", "correlation", "data", "gaussian_tc", "load", "metrics",
           "null_correlation", "recipes", "reports", "structure", "studies"]  # fmt: skip
__version__ = "0.1.0"


def __getattr__(name: str):
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    if name in _ROOMS:
        return import_module(f"partita.{name}")
    raise AttributeError(f"module 'partita' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
