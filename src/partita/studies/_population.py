"""Rows that share the value of a factor, for scores that hold one fixed and let the others vary."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np


@dataclass(frozen=True)
class Population:
    """Rows to draw from: their factors in classes (n, F), and `encode`, which makes the codes of all when first needed.

    Works for any data with factors. Where these are a complete grid, rows that share one value have the others uniform
    and independent, as the scores ask for; elsewhere the others vary as they do in the data.
    """

    factors: np.ndarray
    encode: Callable[[], np.ndarray]

    @cached_property
    def codes(self) -> np.ndarray:
        return self.encode()

    def draw(self, fixed: Mapping[int, np.ndarray], n: int, rng: np.random.Generator) -> np.ndarray:
        """Codes of n rows, (n, K); `fixed` is empty, or one factor with the value it shall have in each."""
        if not fixed:
            return self.codes[rng.integers(len(self.factors), size=n)]
        [(factor, wanted)] = fixed.items()
        values, place, count = np.unique(self.factors[:, factor], return_inverse=True, return_counts=True)
        by_value, first = np.argsort(place, kind="stable"), np.cumsum(count) - count
        which = np.searchsorted(values, wanted)
        return self.codes[by_value[first[which] + rng.integers(count[which])]]
