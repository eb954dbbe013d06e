"""partita: learn, measure and look at latent spaces that fall into independent parts."""

__all__ = [
    "Correlation",
    "Disentangler",
    "RECIPES",
    "correlation",
    "data",
    "distributions",
    "explore",
    "explorer",
    "gaussian_tc",
    "load",
    "measures",
    "metrics",
    "networks",
    "null_correlation",
    "plot",
    "recipes",
    "reports",
    "structure",
    "studies",
    "trace",
]

import random
from importlib import import_module
from typing import TYPE_CHECKING

from partita._moved import keep_old_names

if TYPE_CHECKING:  # what a type checker sees; to Python, names come when they are first used
    from partita import (
        data,
        distributions,
        explorer,
        measures,
        metrics,
        networks,
        plot,
        recipes,
        reports,
        structure,
        studies,
        trace,
    )
    from partita.estimator import Disentangler, load
    from partita.explorer import explore
    from partita.measures import Correlation, correlation, gaussian_tc, null_correlation
    from partita.recipes import RECIPES

__version__ = "0.1.0"

# scikit-learn imports rich at some first use, and rich draws from Python's generator as it is imported. That happens
# here, and is put back, lest a call of ours move the caller's generator.
_before = random.getstate()
import_module("rich.style")
random.setstate(_before)
keep_old_names()

# Where each public name lives that is no room of its own. `partita --help` needs none of them.
_HOMES = {
    "Disentangler": "partita.estimator",
    "load": "partita.estimator",
    "explore": "partita.explorer",
    "correlation": "partita.measures",
    "null_correlation": "partita.measures",
    "gaussian_tc": "partita.measures",
    "Correlation": "partita.measures",
    "RECIPES": "partita.recipes",
}

if not TYPE_CHECKING:  # a type checker that saw it would take any name

    def __getattr__(name: str):
        if name in _HOMES:
            return getattr(import_module(_HOMES[name]), name)
        if name in __all__:
            return import_module(f"partita.{name}")
        raise AttributeError(f"module 'partita' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
