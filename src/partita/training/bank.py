"""The posteriors of an ensemble's whole data set, each as it was when its point was last in a batch."""

import math

import torch
from torch import Tensor

from partita.recipes import Recipe

GOLDEN = (math.sqrt(5) - 1) / 2


class Bank:
    """`kept` is (E, N, 2K + 1): means, log-variances, and 1 once the point has been seen.

    A step looks at `count` points a fixed stride apart, near the golden section of N and without a common divisor, from
    the batch's first point on. So they are spread over the data whatever its order, differ from step to step because
    batches are shuffled, and are all points when `count` is N.
    """

    def __init__(self, models: int, size: int, batch_size: int, recipe: Recipe, device: torch.device):
        latents = recipe.architecture.latents
        self.count = min(recipe.bank + batch_size, size)
        self.kept = torch.zeros(models, size, 2 * latents + 1, device=device)
        stride = max(1, round(size * GOLDEN))
        while math.gcd(stride, size) > 1:
            stride += 1
        self.steps = torch.arange(self.count, device=device) * stride

    def others(self, index: Tensor) -> Tensor:
        """(E, count, 2K + 1) for batches (E, M) of row numbers; members of the batch itself count as never seen."""
        rows = (index[:, :1] + self.steps) % self.kept.shape[1]
        found = self._at(rows)
        inside = (rows.unsqueeze(-1) == index.unsqueeze(-2)).any(-1, keepdim=True)
        return torch.cat([found[..., :-1], found[..., -1:].masked_fill(inside, 0.0)], -1)

    def remember(self, index: Tensor, posteriors: Tensor) -> None:
        fresh = torch.cat([posteriors, torch.ones_like(posteriors[..., :1])], -1)
        self.kept.scatter_(1, index.unsqueeze(-1).expand(-1, -1, fresh.shape[-1]), fresh)

    def _at(self, rows: Tensor) -> Tensor:
        return self.kept.gather(1, rows.unsqueeze(-1).expand(-1, -1, self.kept.shape[-1]))
