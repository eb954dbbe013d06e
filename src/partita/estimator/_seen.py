"""From X and what is given beside it to rows as models see them; learned by `fit`, kept with the estimator."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from partita.data._nearest import listed
from partita.distributions import Likelihood, as_likelihood
from partita.training.covariates import Covariates, columns_of, learn_covariates
from partita.training.filling import Filling, learn_filling
from partita.training.observations import in_float32
from partita.training.scale import UNSCALED, Scale

TOTAL = "total"
MISSING = ("error", "ignore")
TENSORS = ("fill_mean", "fill_loading")


@dataclass(frozen=True, eq=False)
class Seen:
    """The units of X, the covariates, where the exposure comes from and its mean, and what fills missing values."""

    x_scale: float = 1.0
    scale: Scale = UNSCALED
    covariates: Covariates | None = None
    exposure: str | None = None
    mean_exposure: float = 1.0
    filling: Filling | None = None

    def rows(self, X: np.ndarray, covariates: Any = None) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """X in its own units with missing values filled, and what is known beside it, for a `Model`."""
        beside: dict[str, np.ndarray] = {}
        if self.covariates is not None:
            beside["covariates"] = self.covariates.of(covariates, len(X))
        elif covariates is not None and self.exposure in (None, TOTAL):
            raise ValueError("the model was fitted without covariates: leave covariates out")
        if self.exposure is not None:
            beside["exposure"] = _exposures(self.exposure, X, covariates) / self.mean_exposure
        if self.filling is not None:
            beside["observed"] = np.isfinite(X)
            X = self._filled(X, beside)
        return X, beside

    def trained_on(self, x: np.ndarray, covariates: np.ndarray | None) -> dict[str, Any]:
        """The filled rows, as an `Ensemble` takes them. What has a scale is scaled first: float32 would lose what is
        small beside its offset."""
        if self.scale and not self.scale.counts:
            return {"x": in_float32(self.scale.of(x * self.x_scale, covariates)), "x_scale": 1.0}
        return {"x": in_float32(x), "x_scale": self.x_scale, "scale": self.scale}

    def as_x(self, decoded: np.ndarray) -> np.ndarray:
        """What a model decoded, in the units of X: float32, but where an offset may be too large for that."""
        precise = bool(self.scale) and not self.scale.counts
        return (decoded / self.x_scale).astype(np.float64 if precise else np.float32)

    def given(self, covariates: Any, rows: int) -> dict[str, np.ndarray]:
        """What a decoder is told where covariates are given."""
        if self.covariates is None:
            raise ValueError("the model was fitted without covariates: leave covariates out")
        return {"covariates": self.covariates.of(covariates, rows)}

    def classes(self, covariates: Any, rows: int) -> dict[str, np.ndarray]:
        """Covariates by name as class indices (n,)."""
        if self.covariates is None:
            raise ValueError("the model was fitted without covariates: there are none that could leak")
        return dict(zip(self.covariates.names, self.covariates.classes(covariates, rows).T))

    def average(self, rows: int) -> dict[str, np.ndarray]:
        """What a decoder is told of rows that nothing is known of."""
        return {} if self.covariates is None else {"covariates": self.covariates.average(rows)}

    def _filled(self, X: np.ndarray, beside: Mapping[str, np.ndarray]) -> np.ndarray:
        """In the units that an encoder sees: a count's logarithm."""
        assert self.filling is not None
        if not self.scale.counts:
            covariates = beside.get("covariates")
            return self.scale.back(self.filling(self.scale.of(X, covariates)), covariates)
        given = {name: torch.as_tensor(values, dtype=torch.float64) for name, values in beside.items()}
        exposure = given.get("exposure", torch.ones(len(X), dtype=torch.float64))
        expected = self.scale.expected(exposure, X.ndim - 1, given.get("covariates")).numpy()
        return np.maximum(np.expm1(self.filling(np.log1p(X / expected))) * expected, 0)

    def as_file(self) -> tuple[dict[str, Any], dict[str, torch.Tensor]]:
        """JSON, and tensors by name."""
        about: dict[str, Any] = {"scale": self.scale.name, "counts": self.scale.counts}
        about |= {"exposure": self.exposure, "mean_exposure": self.mean_exposure}
        about["covariates"] = None if self.covariates is None else self.covariates.as_json()
        tensors = self.scale.tensors()
        if self.filling is not None:
            about["fill_noise"] = self.filling.noise
            arrays = (self.filling.mean, self.filling.loading)
            tensors |= {name: torch.as_tensor(array) for name, array in zip(TENSORS, arrays)}
        return about, tensors

    @classmethod
    def from_file(cls, x_scale: float, about: Mapping[str, Any], tensors: Mapping[str, torch.Tensor]) -> "Seen":
        scale = UNSCALED
        if about:
            own = {name: tensors[name] for name in ("offset", "spread", "effects") if name in tensors}
            scale = Scale(about["scale"], **own, counts=about["counts"])
        filling = None
        if "fill_noise" in about:
            mean, loading = (tensors[name].numpy() for name in TENSORS)
            filling = Filling(mean, loading, about["fill_noise"])
        covariates = about.get("covariates")
        made = None if covariates is None else Covariates.from_json(covariates)
        return cls(x_scale, scale, made, about.get("exposure"), about.get("mean_exposure", 1.0), filling)


def learn_beside(
    settings: Mapping[str, Any], X: np.ndarray, x_scale: float, covariates: Any, names: Any
) -> tuple[Seen, dict[str, np.ndarray]]:
    """Covariates and exposure, as they are kept and of these rows; ValueError, in words, where a column of X has no
    value at all."""
    missing, exposure = settings["missing"], settings["exposure"]
    if missing not in MISSING:
        raise ValueError(f"unknown missing {missing!r}; choose from {', '.join(MISSING)}")
    empty = (
        np.flatnonzero(np.isnan(X.reshape(len(X), -1)).all(0)) if missing == "ignore" and X.dtype.kind == "f" else []
    )
    if len(empty):
        which = [repr(str(names[c])) if names is not None else str(c) for c in empty]
        raise ValueError(f"column {listed(which, 5)} of X has no value at all: leave it out")
    known, mean, beside = None, 1.0, {}
    if exposure is not None:
        values = _exposures(exposure, X, covariates)
        mean = float(values.mean())
        beside["exposure"] = values / mean
    if covariates is not None:
        columns = columns_of(covariates, len(X))
        rest = {name: values for name, values in columns.items() if name != exposure or exposure == TOTAL}
        known = learn_covariates(rest, len(X)) if rest else None
    if known is not None:
        beside["covariates"] = known.of(covariates, len(X))
    return Seen(x_scale, covariates=known, exposure=exposure, mean_exposure=mean), beside


def learn_missing(X: np.ndarray, scale: Scale, beside: Mapping[str, np.ndarray], latents: int) -> Filling:
    """What fills the gaps of rows like these."""
    given = {name: torch.as_tensor(values, dtype=torch.float64) for name, values in beside.items()}
    if not scale.counts:
        return learn_filling(scale.of(X.astype(np.float64), beside.get("covariates")), latents)
    exposure = given.get("exposure", torch.ones(len(X), dtype=torch.float64))
    expected = scale.expected(exposure, X.ndim - 1, given.get("covariates")).numpy()
    return learn_filling(np.log1p(X / expected), latents)


def check_exposure(exposure: str | None, likelihood: str | Likelihood) -> None:
    family = as_likelihood(likelihood)
    if exposure is not None and not family.counts:
        raise ValueError(
            f"exposure={exposure!r} is for counts, and the likelihood is {family.name!r}: leave it out, or use "
            "likelihood='negative_binomial'"
        )


def _exposures(exposure: str, X: np.ndarray, covariates: Any) -> np.ndarray:
    """A positive number a row: its total, or a column of the covariates."""
    if exposure == TOTAL:
        flat = X.reshape(len(X), -1)
        values = np.nansum(flat, 1) / np.maximum(np.isfinite(flat).mean(1), 1e-12)
        told = "no counts at all"
    else:
        columns = {} if covariates is None else columns_of(covariates, len(X))
        if exposure not in columns:
            raise ValueError(
                f"exposure={exposure!r} is neither 'total' nor a column of covariates"
                + (f", which are {listed(columns)}" if columns else ": give covariates=")
            )
        values, told = np.asarray(columns[exposure], np.float64), "no exposure above 0"
    bad = np.flatnonzero(~(values > 0) | ~np.isfinite(values))
    if len(bad):
        raise ValueError(f"row {bad[0]} of X has {told}: leave such rows out, or set exposure=None")
    return values
