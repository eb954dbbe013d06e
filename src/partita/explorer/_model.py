"""One fitted estimator as documents: from its file, or as it is in a notebook."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from partita.data import Dataset
from partita.data import load as load_data
from partita.data._some_rows import some_rows
from partita.estimator import Disentangler, load
from partita.explorer._documents import plain
from partita.explorer._rows import Rows, column_of, rows_of
from partita.explorer._subject import Subject
from partita.recipes._own_methods import method_name
from partita.training import Model
from partita.training.covariates import columns_of

ROWS_JUDGED = 5_000
ID = "model"


class OneModel:
    """A fitted `Disentangler`, beside rows X (an array, a data frame, a `Dataset`) or alone."""

    kind = "model"

    def __init__(self, model: Disentangler, X: Any = None, covariates: Any = None, title: str = ""):
        self.title = title or f"Disentangler({method_name(model.method)!r})"
        names = tuple(map(str, getattr(model, "feature_names_in_", ())))
        fitted = replace(model._fitted(), dtype=torch.float32, average=_average(model))
        rows = None if X is None else _rows(model, fitted, X, covariates)
        if rows is not None and not names and isinstance(X, Dataset):
            names = X.feature_names
        self.opened = Subject(
            ID,
            method_name(model.method),
            self.title,
            fitted,
            rows,
            history=model.history_,
            judge=lambda: _diagnosed(model, X, covariates),
            covariates=() if model.seen_.covariates is None else model.seen_.covariates.names,
            exposure=model.seen_.exposure,
            feature_names=names,
        )
        self.settings = {name: _short(value) for name, value in model.get_params(deep=False).items()}

    @classmethod
    def at(cls, path: Path, data: str | None) -> "OneModel":
        """From its file, with the data of this name or path."""
        model = load(path)
        return cls(model, None if data is None else load_data(data), title=path.name)

    def study(self) -> dict[str, Any]:
        row = {
            "id": ID, "method": self.opened.method, "data": "", "state": "finished", "seed": None,
            "settings": self.settings, "scores": {}, "bound": None, "bound_of": None, "verdict": None, "problem": None,
        }  # fmt: skip
        about = {"title": self.title, "kind": self.kind, "runs": [row], "score_names": [], "score_about": {}}
        return plain(about | {"metrics_note": None})

    def subject(self, name: str) -> Subject:
        """KeyError unless it is the one there is."""
        return {ID: self.opened}[name]

    def best(self) -> tuple[str, str]:
        return ID, "the only model there is"


def _rows(model: Disentangler, fitted: Model, X: Any, covariates: Any) -> Rows:
    x = X.x if isinstance(X, Dataset) else np.asarray(X)
    if tuple(x.shape[1:]) != tuple(model.shape_):
        raise ValueError(f"X has observations of shape {tuple(x.shape[1:])}, the model was fitted on {model.shape_}")
    table = _table(model, X, covariates)

    def encode(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        known = None if table is None else {name: values[rows] for name, values in table.items()}
        seen, beside = model.seen_.rows(np.asarray(x[rows]), known)
        return fitted.posterior(seen, beside=beside)

    if isinstance(X, Dataset):
        return rows_of(X, encode)
    columns = () if table is None else tuple(column_of(name, values) for name, values in table.items())
    return Rows(x, encode, columns)


def _table(model: Disentangler, X: Any, covariates: Any) -> dict[str, np.ndarray] | None:
    """Covariates by name: those given, or the columns of a data set; ValueError where the model needs others."""
    if covariates is None and isinstance(X, Dataset) and model.seen_.covariates is not None:
        covariates = dict(X.columns)
    rows = len(X.x) if isinstance(X, Dataset) else len(X)
    if model.seen_.covariates is not None:
        model.seen_.covariates.of(covariates, rows)
    return None if covariates is None else columns_of(covariates, rows)


def _average(model: Disentangler) -> np.ndarray | None:
    known = model.seen_.covariates
    return None if known is None else known.average(1)[0]


def _diagnosed(model: Disentangler, X: Any, covariates: Any) -> Mapping[str, Any] | None:
    """Of groups with several latents, on some of the rows."""
    if X is None or all(len(group) == 1 for group in model.groups_):
        return None
    x = X.x if isinstance(X, Dataset) else np.asarray(X)
    rows = some_rows(len(x), ROWS_JUDGED)
    table = _table(model, X, covariates)
    known = None if table is None else {name: values[rows] for name, values in table.items()}
    said = model.diagnose(np.asarray(x[rows]), covariates=known)
    return {"verdict": said.verdict, "reasons": list(said.reasons)}


def _short(value: Any) -> Any:
    return value if isinstance(value, str | int | float | bool | None) else str(value)[:80]
