"""The posteriors of an ensemble's whole data set, each as it was when its point was last in a batch."""

import math

import torch
from torch import Tensor

from partita.recipes import Recipe

GOLDEN = (math.sqrt(5) - 1) / 2


class Bank:
    """`kept` is (E, 2K, N): means, and log-variances, +inf until the point has been seen.

    A step looks at `count` points a fixed stride apart, near the golden section of N and without a common divisor, from
    the batch's first point on. So they are spread over the data whatever its order, differ from step to step because
    batches are shuffled, and are all points when `count` is N.
    """

    def __init__(self, models: int, size: int, batch_size: int, recipe: Recipe, device: torch.device):
        self.latents = recipe.architecture.latents
        self.count = min(recipe.bank + batch_size, size)
        self.kept = torch.empty(models, 2 * self.latents, size, device=device, dtype=torch.float32)
        self.forget()
        stride = max(1, round(size * GOLDEN))
        while math.gcd(stride, size) > 1:
            stride += 1
        self.steps = torch.arange(self.count, device=device) * stride

    def forget(self) -> None:
        self.kept[:, : self.latents] = 0.0
        self.kept[:, self.latents :] = math.inf

    def others(self, index: Tensor) -> Tensor:
        """(E, 2K, count) for batches (E, M) of row numbers, which are forgotten until `remember` brings them, fresh."""
        self.kept[:, self.latents :].scatter_(2, _at(index, self.latents), math.inf)
        size = self.kept.shape[-1]
        if self.count == size:
            return self.kept
        rows = (index[:, :1] + self.steps) % size
        return self.kept.gather(2, _at(rows, 2 * self.latents))

    def remember(self, index: Tensor, posteriors: Tensor) -> None:
        self.kept.scatter_(2, _at(index, 2 * self.latents), posteriors.mT)


def _at(rows: Tensor, values: int) -> Tensor:
    return rows.unsqueeze(1).expand(-1, values, -1)
