"""Factors of variation on a complete grid: every combination of classes, numbered."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from partita.data._nearest import listed


@dataclass(frozen=True)
class FactorGrid:
    """All combinations of factors with the given names and numbers of classes; the last factor varies fastest."""

    names: tuple[str, ...]
    sizes: tuple[int, ...]

    def __post_init__(self):
        object.__setattr__(self, "names", tuple(str(name) for name in self.names))
        object.__setattr__(self, "sizes", tuple(int(size) for size in self.sizes))
        if len(self.names) != len(self.sizes) or not self.names:
            raise ValueError(f"a factor grid needs one size a name, got names {self.names} and sizes {self.sizes}")
        if len(set(self.names)) != len(self.names):
            raise ValueError(f"factor names must differ, got {self.names}")
        if min(self.sizes) < 1:
            raise ValueError(f"every factor needs at least one class, got sizes {self.sizes}")
        if self.size >= 2**63:
            raise ValueError(f"a grid of sizes {self.sizes} has more combinations than can be numbered")

    @property
    def size(self) -> int:
        """The number of combinations."""
        return prod(self.sizes)

    def to_index(self, classes: Sequence[int] | np.ndarray) -> np.ndarray:
        """Numbers of the combinations `classes` (..., F)."""
        classes = np.asarray(classes)
        if classes.ndim == 0 or classes.shape[-1] != len(self.sizes) or classes.dtype.kind not in "iu":
            raise ValueError(f"expected integer classes (..., {len(self.sizes)}), got {classes.dtype} {classes.shape}")
        if classes.size and ((classes < 0).any() or (classes >= np.array(self.sizes)).any()):
            raise ValueError(f"class out of range: factors {self.names} have {self.sizes} classes")
        return np.asarray(np.ravel_multi_index(tuple(np.moveaxis(classes, -1, 0)), self.sizes), dtype=np.int64)

    def to_classes(self, index: int | Sequence[int] | np.ndarray) -> np.ndarray:
        """Classes (..., F) of the combinations numbered `index` (...)."""
        index = np.asarray(index)
        if index.dtype.kind not in "iu" or (index.size and (index.min() < 0 or index.max() >= self.size)):
            raise ValueError(f"combinations are numbered 0 to {self.size - 1}, got {index!r}")
        return np.stack(np.unravel_index(index, self.sizes), -1).astype(np.int64)

    def all_classes(self) -> np.ndarray:
        """Every combination in order, (size, F)."""
        return np.indices(self.sizes, dtype=np.int64).reshape(len(self.sizes), -1).T.copy()

    def position(self, factor: int | str) -> int:
        """Where a factor, given by name or position, stands."""
        if isinstance(factor, str):
            if factor not in self.names:
                raise ValueError(f"no factor {factor!r}; there are {listed(self.names)}")
            return self.names.index(factor)
        if isinstance(factor, bool) or not -len(self.names) <= factor < len(self.names):
            raise ValueError(f"no factor {factor}; there are {len(self.names)}: {listed(self.names)}")
        return int(factor) % len(self.names)

    def draw(self, fixed: int | str | Mapping[int | str, int] | None, n: int, rng: np.random.Generator) -> np.ndarray:
        """n combinations (n, F), uniform over the grid except for what is fixed.

        `fixed` is a factor, whose class is drawn once and shared by all n; or {factor: class}; or None.
        """
        if n < 0:
            raise ValueError(f"cannot draw {n} combinations")
        sizes = np.array(self.sizes)
        if isinstance(fixed, int | str | np.integer):
            factor = self.position(fixed)
            fixed = {factor: int(rng.integers(self.sizes[factor]))}
        classes = rng.integers(sizes, size=(n, len(sizes)), dtype=np.int64)
        for factor, value in (fixed or {}).items():
            k = self.position(factor)
            if not 0 <= value < self.sizes[k]:
                raise ValueError(f"factor {self.names[k]!r} has classes 0 to {self.sizes[k] - 1}, got {value}")
            classes[:, k] = value
        return classes


def coarser(names: Sequence[str], sizes: Sequence[int], every: Sequence[int]) -> tuple[FactorGrid, np.ndarray]:
    """The grid that keeps every n-th class of each factor, and which rows of the whole grid those are."""
    if len(every) != len(sizes) or min(every) < 1:
        known = listed(names)
        raise ValueError(f"every must be {len(sizes)} steps of at least 1, one for each of {known}, got {every!r}")
    kept = [np.arange(0, size, int(step)) for size, step in zip(sizes, every)]
    grid = FactorGrid(tuple(names), tuple(len(classes) for classes in kept))
    classes = np.stack([classes.ravel() for classes in np.meshgrid(*kept, indexing="ij")], 1)
    return grid, FactorGrid(tuple(names), tuple(sizes)).to_index(classes)
