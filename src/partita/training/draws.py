"""Everything random in a run is a function of its seed and the step: nothing to save, nothing to restore.

Noise comes in blocks of steps and shuffles in blocks of epochs, each block from a generator seeded by (seed, purpose,
block). So a run draws the same numbers alone, in an ensemble, or continued from a checkpoint.
"""

import hashlib

import torch
from torch import Tensor

from partita.training.weighted import in_proportion

# These two decide which numbers a seed stands for: changing them changes every result.
STEPS_A_NOISE_BLOCK = 50
POINTS_A_SHUFFLE_BLOCK = 20000


def seed_of(*key: int | str) -> int:
    """A 63-bit seed from a key, so that neighbouring seeds and purposes share nothing."""
    digest = hashlib.blake2b(repr(key).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 1


def _generator(device: torch.device, *key: int | str) -> torch.Generator:
    return torch.Generator(device).manual_seed(seed_of(*key))


class Draws:
    """Batch indices (E, M) and standard normal noise (E, M, columns) for every step of E runs.

    Batches are cut from a fresh shuffle of the data each epoch, so that a batch never holds a point twice: the
    estimators of the aggregated posterior are unbiased only for draws without replacement. With `weight` (N,), what is
    shuffled are N places that rows have in proportion to it, anew each epoch.
    """

    def __init__(
        self,
        seeds: list[int],
        size: int,
        batch_size: int,
        columns: int,
        device: torch.device,
        weight: Tensor | None = None,
    ):
        self.seeds, self.size, self.batch_size, self.columns, self.device = seeds, size, batch_size, columns, device
        self.weight = weight
        self.batches_an_epoch = size // batch_size
        self.epochs_a_block = max(1, POINTS_A_SHUFFLE_BLOCK // size)
        self._shuffle: tuple[int, Tensor] | None = None
        self._noise: tuple[int, Tensor] | None = None

    def noise(self, step: int, count: int) -> Tensor:
        """(count, E, M, columns) for the steps from `step` on; a view where they lie in one block."""
        return self._span(step, count, STEPS_A_NOISE_BLOCK, "_noise", self._noise_block)

    def index(self, step: int, count: int) -> Tensor:
        """(count, E, M) row numbers of the data set."""
        return self._span(step, count, self.epochs_a_block * self.batches_an_epoch, "_shuffle", self._shuffle_block)

    def _span(self, step: int, count: int, length: int, cache: str, make) -> Tensor:
        pieces = []
        while count:
            block, offset = divmod(step, length)
            kept = getattr(self, cache)
            if kept is None or kept[0] != block:
                kept = (block, make(block))
                setattr(self, cache, kept)
            taken = min(count, length - offset)
            pieces.append(kept[1][offset : offset + taken])
            step, count = step + taken, count - taken
        return pieces[0] if len(pieces) == 1 else torch.cat(pieces)

    def _noise_block(self, block: int) -> Tensor:
        shape = (STEPS_A_NOISE_BLOCK, self.batch_size, self.columns)
        draws = [
            torch.randn(shape, generator=generator, device=self.device, dtype=torch.float32)
            for generator in (_generator(self.device, seed, "noise", block) for seed in self.seeds)
        ]
        return torch.stack(draws, 1)

    def _shuffle_block(self, block: int) -> Tensor:
        orders = [self._permutations(_generator(self.device, seed, "shuffle", block)) for seed in self.seeds]
        order = torch.stack(orders)
        if self.device.type != "cpu":  # there a permutation takes several launches: sort the keys of all at once
            order = order.argsort(dim=-1, stable=True)
        if self.weight is not None:
            offsets = torch.stack([self._offsets(seed, block) for seed in self.seeds])
            order = in_proportion(self.weight, self.size, offsets).gather(-1, order)
        used = order[..., : self.batches_an_epoch * self.batch_size]
        return used.reshape(len(self.seeds), -1, self.batch_size).transpose(0, 1)

    def _offsets(self, seed: int, block: int) -> Tensor:
        """(epochs, 1), of where the places of rows begin."""
        generator = _generator(self.device, seed, "weights", block)
        return torch.rand(self.epochs_a_block, 1, generator=generator, device=self.device, dtype=torch.float64)

    def _permutations(self, generator: torch.Generator) -> Tensor:
        """(epochs, N): orders of the data, or on a GPU the random keys to sort them by."""
        if self.device.type != "cpu":
            shape = (self.epochs_a_block, self.size)
            return torch.rand(shape, generator=generator, device=self.device, dtype=torch.float32)
        return torch.stack([torch.randperm(self.size, generator=generator) for _ in range(self.epochs_a_block)])
