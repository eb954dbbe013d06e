"""p(x|z) at what a decoder made of z."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from torch import Tensor


@dataclass(frozen=True, eq=False)
class Decoded:
    """p(x|z) at what a decoder made of z."""

    family: Any  # the likelihood
    outputs: tuple[Tensor, ...]
    parameters: Mapping[str, Tensor] = field(default_factory=dict)
    observed: Tensor | None = None

    @property
    def mean(self) -> Tensor:
        """E[x|z]."""
        return self.family.mean(*self.outputs, **self.parameters)

    def log_prob(self, x: Tensor) -> Tensor:
        """log p(x|z), summed over all axes but the first, and over what is observed."""
        each = self.family.log_density(x, *self.outputs, **self.parameters)
        return (each if self.observed is None else each * self.observed).flatten(1).sum(1)

    def sample(self, rng: np.random.Generator) -> np.ndarray:
        """One draw x ~ p(x|z)."""
        if self.family.draw is None:
            raise ValueError(f"likelihood {self.family.name!r} does not say how to draw from it: give it `draw`")
        arrays = [each.detach().double().cpu().numpy() for each in self.outputs]
        own = {name: value.detach().double().cpu().numpy() for name, value in self.parameters.items()}
        return self.family.draw(rng, *arrays, **own)
