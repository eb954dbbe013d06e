"""Merges to the end, cut where one likes, and said in words."""

from collections.abc import Sequence
from math import comb

import numpy as np

from partita.distributions import Groups
from partita.structure.merging import Merge, Splitter, after, candidates_among


def rest_of_tree(splitter: Splitter, groups: Groups, limit: int) -> tuple[Merge, ...]:
    """The merges that would follow: at each step the two groups with the two coordinates that share most."""
    left, rest, pairs = list(groups), [], comb(splitter.choose.shape[1], 2)
    while witnesses := next(candidates_among(splitter, left, limit))[0]:
        members = max(witnesses, key=splitter.strength)
        rest.append(splitter.test(witnesses[members], members, pairs))
        left = after(left, rest[-1])
    return tuple(rest)


def joined(latents: int, merges: Sequence[Merge]) -> Groups:
    """The partition of coordinates that these merges leave."""
    label = np.arange(latents)
    for merge in merges:
        met = label[[k for member in merge.members for k in member]]
        label[np.isin(label, met)] = met.min()
    return tuple(tuple(np.flatnonzero(label == each).tolist()) for each in np.unique(label))


def in_words(groups: Groups, tree: Sequence[Merge], background: float) -> str:
    """What was found, in a sentence or two."""
    latents = sum(map(len, groups))
    around = f"a background of {background:.3f} nats a pair" if background > 0.001 else "chance"
    home = {k: g for g, group in enumerate(groups) for k in group}
    inside = [merge for merge in tree if len({home[k] for member in merge.members for k in member}) == 1]
    others = [merge for merge in tree if merge not in inside]
    strongest = max(others, key=lambda merge: merge.shared, default=None)
    if all(len(group) == 1 for group in groups):
        if strongest is None:
            return f"nothing stands out: {latents} coordinates, each by itself"
        return f"nothing stands out of {around}: each of {latents} coordinates by itself (the most: {strongest})"
    names = " ".join("(" + " ".join(map(str, group)) + ")" for group in groups)
    if len(groups) == 1:
        return f"all {latents} coordinates are one group: none is independent of the others"
    least = min(inside, key=lambda merge: merge.shared)
    between = "" if strongest is None else f"; the most between groups: {strongest}"
    return f"{len(groups)} groups, {names}, stand out of {around} (the least inside: {least}{between})"
