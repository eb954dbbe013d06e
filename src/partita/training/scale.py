"""The units that models see data in: as they are, each feature in its own standard deviation, or all in one number."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any

import numpy as np
import torch
from torch import Tensor

from partita.data._nearest import nearest
from partita.data._some_rows import ROWS_LOOKED_AT, spread_rows
from partita.distributions import Likelihood

SCALES = ("auto", "none", "standard", "one")
NUMBERS_LOOKED_AT = 1 << 22
# Standard deviations and sizes with which networks as they begin can work, and ratios of deviations that one number
# cannot serve; of these, the extreme twentieths do not count: a pixel that hardly changes is no unit of its own.
EXPECTED, UNEVEN, WELL_APART = (0.1, 10.0), 1000.0, 20.0
EXTREMES = (0.05, 0.95)


def _one() -> Tensor:
    return torch.ones((), dtype=torch.float64)


@dataclass(frozen=True, eq=False)
class Scale:
    """A model sees (x - offset) / spread, and its density of x is that of this, times the Jacobian 1 / spread.

    Counts stay what they are. A model of them is told how many are expected: `spread` times the exposure of a row. Its
    rates are relative to that, and there is no Jacobian. Offset and spread broadcast against one observation.

    With `effects` (c, *shape) of covariates, what they explain by themselves is taken off too: c @ effects is added to
    the offset, or to the logarithm of what is expected. Latents then begin with what is left.
    """

    name: str = "none"
    offset: Tensor = field(default_factory=lambda: _one() - 1)
    spread: Tensor = field(default_factory=_one)
    counts: bool = False
    effects: Tensor | None = None

    def __bool__(self) -> bool:
        return self.name != "none" or self.effects is not None

    @property
    def needs_exposure(self) -> bool:
        """Whether models are told what to expect of counts, so that rows without an exposure have one of 1."""
        return self.counts and bool(self)

    def to(self, device: torch.device | str, dtype: torch.dtype) -> "Scale":
        tensors = {"offset": self.offset, "spread": self.spread, "effects": self.effects}
        return replace(self, **{name: t if t is None else t.to(device, dtype) for name, t in tensors.items()})

    def of(self, x: Any, covariates: Any = None) -> Any:
        """Observations, an array or tensor, as a model sees them."""
        return x if self.counts or not self else (x - self._middle(x, covariates)) / self._like(self.spread, x)

    def back(self, seen: Any, covariates: Any = None) -> Any:
        """The opposite of `of`."""
        if self.counts or not self:
            return seen
        return seen * self._like(self.spread, seen) + self._middle(seen, covariates)

    def _middle(self, x: Any, covariates: Any) -> Any:
        offset = self._like(self.offset, x)
        return offset if self.effects is None or covariates is None else offset + self._explained(covariates, x)

    def _explained(self, covariates: Any, like: Any) -> Any:
        """c @ effects, (..., *shape)."""
        assert self.effects is not None
        found = covariates @ self._like(self.effects.flatten(1), like)
        return found.reshape(*covariates.shape[:-1], *self.effects.shape[1:])

    def shown(self, family: Likelihood, x: np.ndarray) -> np.ndarray:
        """Observations as an encoder reads them, where all have an exposure of 1 and average covariates: logarithms of
        counts."""
        x = x / self.spread.numpy(force=True) if self.counts else self.of(x)
        return family.shown(torch.as_tensor(np.asarray(x, np.float64))).numpy()

    def seen(self, rows: Mapping[str, Tensor], *, x: bool = True) -> dict[str, Tensor]:
        """Rows of x, (..., *shape), and what is known beside them, as a model sees them: exposures (...) times what is
        expected of each feature. With `x` False, x stays as it is."""
        found = {**rows, "x": self.of(rows["x"], rows.get("covariates")) if x else rows["x"]}
        if "exposure" in rows:
            axes = rows["x"].dim() - rows["exposure"].dim()
            found["exposure"] = self.expected(rows["exposure"], axes, rows.get("covariates"))
        return found

    def expected(self, exposure: Tensor, axes: int, covariates: Tensor | None = None) -> Tensor:
        """Counts of the features of an observation with so many axes, before anything is known of its code."""
        found = exposure.reshape(*exposure.shape, *[1] * axes) * self.spread
        if self.effects is None or covariates is None:
            return found
        return found * self._explained(covariates, found).exp()

    def log_jacobian(self, shape: tuple[int, ...], observed: np.ndarray | None = None) -> Any:
        """log |d seen / d x| of an observation, in nats; where values are `observed` or not, of each row's."""
        each = np.broadcast_to(-np.log(self.spread.numpy(force=True)), shape) if self and not self.counts else 0.0
        return np.sum(each) if observed is None else (observed * each).reshape(len(observed), -1).sum(1)

    def tensors(self) -> dict[str, Tensor]:
        """For files; nothing where there is no scale."""
        effects = {} if self.effects is None else {"effects": self.effects.clone()}
        return {"offset": self.offset.clone(), "spread": self.spread.clone(), **effects} if self else {}

    @staticmethod
    def _like(own: Tensor, x: Any) -> Any:
        return own if isinstance(x, Tensor) else own.numpy(force=True)


UNSCALED = Scale()


def check_scale(scale: Any) -> None:
    if scale not in SCALES:
        raise ValueError(f"unknown scale {scale!r}{nearest(str(scale), SCALES)}; choose from {', '.join(SCALES)}")


def rows_to_measure(x: Any, x_scale: float = 1.0) -> np.ndarray:
    """All rows in float64, or as many as memory bears, spread evenly over the data."""
    most = max(ROWS_LOOKED_AT, NUMBERS_LOOKED_AT // prod(x.shape[1:]))
    rows = np.asarray(x if len(x) <= most and isinstance(x, np.ndarray) else x[spread_rows(len(x), most)], np.float64)
    return rows if x_scale == 1.0 else rows * x_scale


def choose_scale(scale: str, family: Likelihood, rows: np.ndarray) -> tuple[str, str]:
    """The name of the scale for these observations, and why; ValueError where the likelihood takes none."""
    check_scale(scale)
    if scale not in ("auto", "none") and family.suits is not None and not family.counts:
        raise ValueError(
            f"likelihood {family.name!r} takes {family.takes}, which have no scale: leave scale={scale!r} out"
        )
    if scale != "auto":
        return scale, f"as asked: {scale_in_words(scale, family, rows)}"
    if family.counts:
        return "standard", scale_in_words("standard", family, rows)
    deviations, size = _deviations(rows)
    if not family.unitless or not len(deviations):
        return "none", scale_in_words("none", family, rows)
    low, high = (np.quantile(deviations, q, method=m) for q, m in zip(EXTREMES, ("lower", "higher")))
    expected = EXPECTED[0] <= deviations.max() <= EXPECTED[1] and size <= EXPECTED[1]
    if expected and high <= UNEVEN * low:
        name = "none"
    else:
        apart = rows.ndim == 2 and high > WELL_APART * low and not _end_alike(rows)
        name = "standard" if apart else "one"
    return name, scale_in_words(name, family, rows)


def scale_in_words(name: str, family: Likelihood, rows: np.ndarray) -> str:
    """What a scale does to data like these."""
    if family.counts:
        relative = {"standard": "the mean of each feature", "one": "the mean of all features"}.get(name, "1")
        return f"counts stay what they are; rates are relative to {relative}"
    if family.suits is not None:
        return f"{family.takes} are used as they are"
    deviations, size = _deviations(rows)
    if not len(deviations):
        return "nothing varies"
    seen = f"standard deviations from {deviations.min():.3g} to {deviations.max():.3g} and sizes up to {size:.3g}"
    done = {
        "none": "data used as they are",
        "standard": "each feature is centred and divided by its standard deviation",
        "one": "features are centred, and all divided by one number",
    }
    return f"{seen}: {done[name]}"


def measure_scale(name: str, family: Likelihood, rows: np.ndarray, exposure: np.ndarray | None = None) -> Scale:
    """The scale of this name, from rows (NaN where a value is missing) and, for counts, their exposures."""
    if name == "none":
        return Scale(counts=family.counts)
    if family.counts:
        if exposure is not None:
            rows = rows / exposure.reshape(-1, *[1] * (rows.ndim - 1))
        expected = np.maximum(_mean(rows), 0.5 / len(rows))  # of what is never seen, half a count in all
        spread = expected if name == "standard" else expected.mean()
        return Scale(name, torch.zeros((), dtype=torch.float64), torch.as_tensor(spread), counts=True)
    offset = _mean(rows)
    if name == "one" and rows.ndim == 4:  # one number a channel: pixels stay comparable
        offset = offset.mean((1, 2), keepdims=True)
    deviations = np.sqrt(_mean(np.square(rows - _mean(rows))))
    constant = deviations <= 4 * np.finfo(np.float64).eps * np.abs(_mean(rows))
    if name == "one":
        spread = np.sqrt(np.square(np.where(constant, 0, deviations)).mean()) or 1.0
    else:
        spread = np.where(constant, 1.0, deviations)
    return Scale(name, torch.as_tensor(offset), torch.as_tensor(spread))


def _end_alike(rows: np.ndarray) -> bool:
    """Whether most features that vary have the same largest value, and so the same unit: flat pixels, marks."""
    largest = np.nanmax(rows[:, np.nanmax(rows, 0) > np.nanmin(rows, 0)], 0)
    return bool((largest == largest.max()).mean() > 0.5)


def _deviations(rows: np.ndarray) -> tuple[np.ndarray, float]:
    """Of the features that vary; and the largest root mean square of one."""
    flat = rows.reshape(len(rows), -1)
    deviations = np.sqrt(_mean(np.square(flat - _mean(flat))))
    return deviations[deviations > 0], float(np.sqrt(_mean(np.square(flat)).max()))


def _mean(rows: np.ndarray) -> np.ndarray:
    """Over the rows, of what is observed."""
    known = np.isfinite(rows)
    return rows.mean(0) if known.all() else np.where(known, rows, 0).sum(0) / np.maximum(known.sum(0), 1)
