"""What the units of data mean for training: networks as they begin expect numbers of about 1."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from partita.data._some_rows import spread_rows
from partita.data.dataset import Dataset

# Training was seen to end in no numbers on movies of int16 (sizes of 100) and on chemistry (deviations 0.1 to 300).
LARGE, UNEVEN = 10.0, 1000.0


@dataclass(frozen=True)
class Units:
    """Of the features that vary: the smallest and largest standard deviation, and the largest root mean square; of all
    values, the largest."""

    low: float
    high: float
    size: float
    largest: float = 0.0

    @property
    def uneven(self) -> bool:
        return self.high > UNEVEN * self.low

    @classmethod
    def of(cls, x: Any, x_scale: float = 1.0) -> "Units":
        """From rows spread evenly over the data; all 0 where nothing varies."""
        chosen = spread_rows(len(x))
        rows = np.asarray(x[chosen], np.float64).reshape(len(chosen), -1) * x_scale
        deviations = rows.std(0)
        if not (varying := deviations > 0).any():
            return cls(0.0, 0.0, 0.0, float(np.abs(rows).max(initial=0.0)))
        size = np.sqrt(np.square(rows[:, varying]).mean(0)).max()
        return cls(float(deviations[varying].min()), float(deviations.max()), float(size), float(np.abs(rows).max()))


def units_note(dataset: Dataset) -> str | None:
    """A line for people where features are large or of very different sizes; None where all is well."""
    units = Units.of(dataset.x, dataset.x_scale)
    if units.size <= LARGE and not units.uneven:
        return None
    cure = "standardise each of them" if units.uneven else f"standardise them, or divide all by {units.size:.2g}"
    return (
        f"features of {dataset.name} have standard deviations from {units.low:.3g} to {units.high:.3g} and sizes up to "
        f"{units.size:.3g}, where about 1 is expected: training scales them (--scale auto); elsewhere, {cure}"
    )
