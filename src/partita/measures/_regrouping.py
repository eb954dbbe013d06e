"""Which latents belong together, asked of the aggregated posterior alone: no labels.

For group sizes given, PC = TC - sum_g TC(z_g), and TC does not depend on the partition: the partition with the smallest
PC is the one whose groups hold the most total correlation inside.
"""

import math
import random
from collections.abc import Callable, Iterator, Sequence
from math import factorial, prod

import torch
from torch import Tensor

from partita.distributions import Groups
from partita.kernels import log_mixture

MOST_ENUMERATED = 2000
STARTS = 20
KERNEL_WIDTH = 0.3  # at which standardised codes are compared whatever their posteriors (docs/glossary.md)

Block = tuple[int, ...]


def regroup(z: Tensor, mean: Tensor, log_variance: Tensor, sizes: Sequence[int]) -> Groups:
    """The partition into groups of `sizes` with the smallest PC of these posteriors' mixture, in order of `sizes`.

    z_i is drawn from posterior i. Every partition is compared where there are at most 2000; otherwise groups exchange
    latents while that lowers PC, from 20 starts, and the best end counts.
    """
    latents = z.shape[1]
    own = torch.arange(len(z), device=z.device)
    known: dict[Block, float] = {}
    singles = [(k,) for k in range(latents)]
    each = log_mixture(z, mean, log_variance, singles, own=own)

    def within(blocks: Sequence[Block]) -> None:
        """Total correlation inside each block, kept."""
        new = sorted({block for block in blocks if block not in known})
        for start in range(0, len(new), 64):
            some = new[start : start + 64]
            logs = log_mixture(z, mean, log_variance, some, own=own)
            for column, block in enumerate(some):
                known[block] = float((logs[:, column] - each[:, list(block)].sum(1)).mean())

    def value(partition: Groups) -> float:
        within([block for block in partition if len(block) > 1])
        return sum(known[block] for block in partition if len(block) > 1)

    if _count(sizes) <= MOST_ENUMERATED:
        candidates = list(_partitions(tuple(range(latents)), tuple(sizes)))
        within([block for partition in candidates for block in partition if len(block) > 1])
        return max(candidates, key=value)
    ends = [_exchange(start, value) for start in _starts(latents, sizes)]
    return max(ends, key=value)


def regroup_codes(codes: Tensor, sizes: Sequence[int]) -> Groups:
    """The same of codes without posteriors: of unit variance, each gets a kernel of one width."""
    y = codes / codes.std(0).clamp(min=1e-12)
    return regroup(y, y, torch.full_like(y, 2 * math.log(KERNEL_WIDTH)), sizes)


def _count(sizes: Sequence[int]) -> int:
    """Partitions into groups of these sizes, groups of equal size not told apart."""
    equal = prod(factorial(list(sizes).count(size)) for size in set(sizes))
    return factorial(sum(sizes)) // prod(factorial(size) for size in sizes) // equal


def _partitions(free: Block, sizes: tuple[int, ...]) -> Iterator[Groups]:
    """Every partition once; among groups of equal size the first latents rise."""
    from itertools import combinations

    if not sizes:
        yield ()
        return
    for group in combinations(free, sizes[0]):
        rest = tuple(k for k in free if k not in group)
        for tail in _partitions(rest, sizes[1:]):
            if not (tail and len(tail[0]) == len(group) and tail[0][0] < group[0]):
                yield (group, *tail)


def _starts(latents: int, sizes: Sequence[int]) -> Iterator[Groups]:
    rng = random.Random(0)
    for _ in range(STARTS):
        order = rng.sample(range(latents), latents)
        yield tuple(tuple(sorted(order.pop() for _ in range(size))) for size in sizes)


def _exchange(partition: Groups, value: Callable[[Groups], float]) -> Groups:
    """Swaps two latents of different groups while some swap helps."""
    best, current = partition, value(partition)
    improved = True
    while improved:
        improved = False
        for candidate in _swaps(best):
            found = value(candidate)
            if found > current + 1e-9:
                best, current, improved = candidate, found, True
                break
    return best


def _swaps(partition: Groups) -> Iterator[Groups]:
    for a in range(len(partition)):
        for b in range(a + 1, len(partition)):
            for i in partition[a]:
                for j in partition[b]:
                    groups = list(partition)
                    groups[a] = tuple(sorted({*partition[a], j} - {i}))
                    groups[b] = tuple(sorted({*partition[b], i} - {j}))
                    yield tuple(groups)
