"""Modules of 0.1.0 that have another name now: importing them by the old one works for one release, with a warning."""

import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

# Of these rooms, modules that hold no public name have an underscore now.
_PRIVATE = {
    "data": "card csv_table fetch hdf5 images layout memory mixing movies nearest npy options parquet_table polygons"
    " reading records resize scratch switch tables transfer units",
    "distributions": "columns",
    "networks": "building convolutions exponents",
    "measures": "arrays ica mixture neighbours regrouping",
    "recipes": "equation",
    "metrics": "histogram group_information inputs",
    "structure": "unmixing",
    "studies": "earlier leftovers measure population rows scoring shares tables verify watching",
    "reports": "aligned compared contact_vectors gallery table view",
}
MOVED = {
    f"partita.{room}.{name}": f"partita.{room}._{name}" for room, names in _PRIVATE.items() for name in names.split()
}
MOVED |= {
    "partita.metrics.agreement": "partita.metrics.udr",
    "partita.metrics.correspondence": "partita.metrics.mcc",
    "partita.metrics.importance": "partita.metrics.dci",
    "partita.metrics.infomec_scores": "partita.metrics.infomec",
    "partita.metrics.leaking": "partita.metrics.leakage",
    "partita.metrics.robustness": "partita.metrics.irs",
    "partita.metrics.separation": "partita.metrics.sap",
    # each was split into modules of one metric
    **{
        f"partita.metrics.{name}": "partita.metrics"
        for name in ("factorisation", "information_gaps", "interventions", "modular_explicit", "posterior_scores")
    },
    "partita.reports.images": "partita.plot._images",
    "partita.reports.style": "partita.plot._style",
    "partita.reports.vectors": "partita.plot",  # was split into modules of one picture
    "partita.reports.words": "partita.reports._captions",
    "partita.studies.ahead": "partita.studies._precompile",
    "partita.studies.room": "partita.studies._memory_budget",
    "partita.studies.workshop": "partita.studies._ensemble_trainer",
    "partita.training.spread": "partita.training.row_parallel",
    "partita.training.strides": "partita.training.steps",
}


class _Moved(MetaPathFinder, Loader):
    """Finds a module by its old name and hands out the one of the new name."""

    def __init__(self) -> None:
        self._own: dict[str, ModuleSpec | None] = {}

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None):
        return ModuleSpec(fullname, self) if fullname in MOVED else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        new = MOVED[spec.name]
        warnings.warn(f"{spec.name} is {new} now; the old name goes with the next release", DeprecationWarning, 2)
        module = import_module(new)
        self._own[new] = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Nothing is left to run: it is the module itself, which gets its own origin back."""
        module.__spec__ = self._own.pop(module.__name__)


def keep_old_names() -> None:
    if not any(isinstance(finder, _Moved) for finder in sys.meta_path):
        sys.meta_path.append(_Moved())
