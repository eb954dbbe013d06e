"""What the steps of an ensemble leave to the next ones: numbers of each model, and of each row of the data."""

import math
from collections.abc import Mapping

import torch
from torch import Tensor

from partita.recipes import Recipe
from partita.trace import Carry

GOLDEN = (math.sqrt(5) - 1) / 2


def carried_by(recipe: Recipe) -> dict[str, Carry]:
    """What the measures of a recipe carry from step to step, by name."""
    measures = [measure for player in recipe.players for measure in player.measures]
    return {name: carry for measure in measures for name, carry in getattr(measure, "carries", {}).items()}


def rows_shown(carry: Carry, size: int, batch_size: int) -> int:
    """Of how many rows a step sees what was carried: those of a batch among them stand as never seen."""
    return min(carry.rows + batch_size, size)


class Carried:
    """`values[name]` is (E, C), or (E, C, N) for a carry of rows.

    A step looks at rows a fixed stride apart, near the golden section of N and without a common divisor, from the
    batch's first row on. So they are spread over the data whatever its order, differ from step to step because batches
    are shuffled, and are all rows when as many are asked for.
    """

    def __init__(self, recipe: Recipe, models: int, size: int, batch_size: int, device: torch.device):
        self.declared = carried_by(recipe)
        self.values: dict[str, Tensor] = {}
        self._start: dict[str, Tensor] = {}
        self._strides: dict[str, Tensor] = {}
        for name, carry in self.declared.items():
            start = torch.tensor(carry.start, device=device, dtype=torch.float32)
            self._start[name] = start.unsqueeze(-1) if carry.rows else start
            shape = (models, len(start), size) if carry.rows else (models, len(start))
            self.values[name] = torch.empty(shape, device=device, dtype=torch.float32)
            if carry.rows:
                self._strides[name] = torch.arange(rows_shown(carry, size, batch_size), device=device) * _stride(size)
        self.forget()

    def forget(self, *, rows_only: bool = False) -> None:
        for name, carry in self.declared.items():
            if carry.rows or not rows_only:
                self.values[name].copy_(self._start[name].expand_as(self.values[name]))

    def shown(self, index: Tensor) -> dict[str, Tensor]:
        """What a step of batches (E, M) of row numbers sees: their own rows are forgotten until `keep` has them."""
        seen = {}
        for name, carry in self.declared.items():
            values = self.values[name]
            if carry.rows:
                values.scatter_(2, _at(index, values), self._start[name].expand(*values.shape[:2], index.shape[1]))
                size, steps = values.shape[-1], self._strides[name]
                values = values if len(steps) == size else values.gather(2, _at((index[:, :1] + steps) % size, values))
            seen[name] = values
        return seen

    def overview(self) -> dict[str, Tensor]:
        """What a look from outside sees: as a step does, from the first row on, and nothing is forgotten."""
        return {
            name: value[..., self._strides[name] % value.shape[-1]] if self.declared[name].rows else value
            for name, value in self.values.items()
        }

    def keep(self, index: Tensor, fresh: Mapping[str, Tensor]) -> None:
        for name, value in fresh.items():
            kept = self.values[name]
            if self.declared[name].rows:
                kept.scatter_(2, _at(index, kept), value.mT)
            else:
                kept.copy_(value)


def _stride(size: int) -> int:
    stride = max(1, round(size * GOLDEN))
    while math.gcd(stride, size) > 1:
        stride += 1
    return stride


def _at(rows: Tensor, values: Tensor) -> Tensor:
    return rows.unsqueeze(1).expand(-1, values.shape[1], -1)
