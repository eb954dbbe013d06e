"""Partitions of the latent coordinates into groups."""

from collections.abc import Sequence
from itertools import accumulate
from numbers import Integral

import numpy as np

Groups = tuple[tuple[int, ...], ...]


def as_groups(groups: Sequence | None, latents: int) -> Groups:
    """The partition of `range(latents)` meant by `groups`.

    `groups` is a sequence of sizes `(2, 2, 2)`, taken in order, or of index tuples `((0, 3), (1,), (2, 4, 5))`; None
    puts every latent into a group of its own. Raises ValueError, naming the culprit, when it is not a partition.
    """
    if latents < 1:
        raise ValueError(f"latents must be at least 1, got {latents}")
    if groups is None:
        return tuple((k,) for k in range(latents))
    groups = groups.tolist() if isinstance(groups, np.ndarray) else groups
    if isinstance(groups, str | bytes) or not isinstance(groups, Sequence):
        raise ValueError(f"groups must be sizes like (2, 2, 2) or index tuples like ((0, 3), (1, 2)), got {groups!r}")
    if len(groups) == 0:
        raise ValueError("groups is empty: give at least one group, or None for one group a latent")
    if all(isinstance(size, Integral) and not isinstance(size, bool) for size in groups):
        return _from_sizes([int(size) for size in groups], latents)
    return _from_indices(groups, latents)


def _from_sizes(sizes: list[int], latents: int) -> Groups:
    if min(sizes) < 1:
        raise ValueError(f"every group needs at least one latent, got sizes {tuple(sizes)}")
    if sum(sizes) != latents:
        raise ValueError(f"group sizes {tuple(sizes)} add up to {sum(sizes)}, but there are {latents} latents")
    ends = list(accumulate(sizes))
    return tuple(tuple(range(end - size, end)) for size, end in zip(sizes, ends))


def _from_indices(groups: Sequence, latents: int) -> Groups:
    seen: dict[int, int] = {}
    for g, group in enumerate(groups):
        if isinstance(group, str | bytes) or not isinstance(group, Sequence) or len(group) == 0:
            raise ValueError(f"group {g} must be a non-empty tuple of latent indices, got {group!r}")
        for k in group:
            if not isinstance(k, Integral) or isinstance(k, bool) or not 0 <= int(k) < latents:
                raise ValueError(f"group {g} names latent {k!r}; latents are 0 to {latents - 1}")
            if int(k) in seen:
                raise ValueError(f"latent {k} is in group {seen[int(k)]} and again in group {g}")
            seen[int(k)] = g
    missing = sorted(set(range(latents)) - set(seen))
    if missing:
        raise ValueError(f"no group holds latent {', '.join(map(str, missing))}: groups must cover every latent")
    return tuple(tuple(int(k) for k in group) for group in groups)


def is_refinement(fine: Groups, coarse: Groups) -> bool:
    """Whether every group of `fine` lies inside one group of `coarse`."""
    home = {k: g for g, group in enumerate(coarse) for k in group}
    return all(len({home[k] for k in group}) == 1 for group in fine)
