"""Scores cheap enough to log while training: of the same 2,000 rows every time, means of the posteriors as codes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from partita.data import Dataset
from partita.data._some_rows import ROWS_LOOKED_AT, shuffled_rows
from partita.distributions import Groups
from partita.metrics.registry import split_names
from partita.training import Ensemble
from partita.training.fit import Watched
from partita.training.latents import model_of


@dataclass(frozen=True)
class Known:
    """What is known of the rows looked at; `classes` are the factors with real values in 20 equal widths."""

    factors: np.ndarray | None
    classes: np.ndarray | None
    truth: np.ndarray | None
    truth_groups: Groups | None


def _mig(codes: np.ndarray, known: Known, groups: Groups) -> float:
    from partita.metrics import mig

    return mig(codes, known.classes).value


def _sap(codes: np.ndarray, known: Known, groups: Groups) -> float:
    from partita.metrics import sap

    return sap(codes, known.factors, continuous=True).value


def _modularity(codes: np.ndarray, known: Known, groups: Groups) -> float:
    from partita.metrics import modularity

    return modularity(codes, known.classes).value


def _gaussian_tc(codes: np.ndarray, known: Known, groups: Groups) -> float:
    from partita.metrics import gaussian_tc

    return gaussian_tc(codes, draws=0).value


def _alignment(codes: np.ndarray, known: Known, groups: Groups) -> float:
    from partita.structure import align

    return align(codes, known.truth, groups, known.truth_groups).r2


# Each with what it needs of the data.
CHEAP: dict[str, tuple[Callable[[np.ndarray, Known, Groups], float], str | None]] = {
    "mig": (_mig, "factors"),
    "sap": (_sap, "factors"),
    "modularity": (_modularity, "factors"),
    "gaussian_tc": (_gaussian_tc, None),
    "alignment": (_alignment, "truth"),
}


def watched_metrics(names: str | Sequence[str], dataset: Dataset) -> Watched:
    """What to look at, by name; "all" is what the data allow. Alignment is by the groups a model has at the time."""
    chosen = _chosen(names, dataset)
    rows = shuffled_rows(dataset.size, ROWS_LOOKED_AT)
    x, known = np.asarray(dataset.x[rows]), _known(dataset, rows)

    def look(ensemble: Ensemble) -> np.ndarray:
        values = np.full((len(chosen), len(ensemble.seeds)), np.nan)
        seen = {name: ensemble.beside[name] for name in ("covariates", "exposure") if name in ensemble.beside}
        beside = {name: each[torch.as_tensor(rows, device=each.device)].cpu().numpy() for name, each in seen.items()}
        for position in range(len(ensemble.seeds)):
            codes = model_of(ensemble, position).posterior(x, beside=beside)[0]
            if np.isfinite(codes).all():
                values[:, position] = [CHEAP[name][0](codes, known, ensemble.recipe.groups) for name in chosen]
        return values

    return Watched(tuple(chosen), look)


def _known(dataset: Dataset, rows: np.ndarray) -> Known:
    from partita.metrics.registry import in_classes

    factors = None if dataset.factors is None else np.asarray(dataset.factors[rows], np.float64)
    truth = None if dataset.truth is None else dataset.truth[rows]
    return Known(factors, None if factors is None else in_classes(factors), truth, dataset.truth_groups)


def _chosen(names: str | Sequence[str], dataset: Dataset) -> list[str]:
    missing = {name for name in ("factors", "truth") if getattr(dataset, name) is None}
    if names == "all":
        return [name for name, (_, needed) in CHEAP.items() if needed not in missing]
    asked = split_names(names)
    for name in asked:
        if name not in CHEAP:
            raise ValueError(f"cannot log {name!r} while training; there are {', '.join(CHEAP)}, or all")
        if CHEAP[name][1] in missing:
            raise ValueError(f"cannot log {name}: {dataset.name} has no known {CHEAP[name][1]}")
    return list(dict.fromkeys(asked))
