"""The partition into groups of given sizes that keeps the most information inside them, and none that falls apart."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from math import comb
from typing import Any

import numpy as np

from partita.distributions import Groups, as_groups
from partita.measures._arrays import as_matrix
from partita.structure.free_groups import Tie, ties

Block = tuple[int, ...]
LEAST_TIE = 0.55  # of what joins two coordinates whose groups have no sizes
MAX_EXACT = 6_000  # blocks that the integer program takes in seconds
MAX_SOLVED = 2_000  # branches of it
HOLDS = 3.0  # times what the weakest split of a group cuts counts beside all that it holds
UNLIKE = 2  # of several partitions, how many are not the next best ones
LARGEST_SPLIT = 8  # members of a group whose every split is looked at; of more, those of one from the others


@dataclass(frozen=True)
class SizedGroups:
    """`groups` in the order of the sizes asked for; `value`, what they hold (nats) with three times what their weakest
    splits would cut; and whether no partition has more."""

    groups: Groups
    value: float
    exact: bool


def groups_of_sizes(codes: Any, sizes: Sequence[int], noise: Any = None, seed: int = 0) -> SizedGroups:
    """The partition of independent-as-possible coordinates into groups of `sizes` with the most dependence inside them.

    Dependence is the sum of squared means, over 2, of products of polynomials of ranks (`free_groups`), for all two,
    three and four coordinates of a group that show any: to second order what they share in nats. A strong group of two
    in the place of one of four holds as much there as in its own, and so would make strangers of the other two: what
    the weakest split of a group into two cuts counts as well, three times.

    Parameters
    ----------
    codes : (n, K), coordinates that a linear unmixing left as independent as it could.
    sizes : of the groups; their sum is K.
    noise, seed : as in `free_groups`.

    Returns
    -------
    found : SizedGroups. Exact for up to 16 coordinates and groups of up to 5, for more where few coordinates show
        dependence; otherwise latents are exchanged between groups while that helps, and `exact` says so.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> angle = rng.uniform(0, 2 * np.pi, 1000)
    >>> groups_of_sizes(np.stack([np.cos(angle), rng.uniform(size=1000), np.sin(angle)], 1), (1, 2)).groups
    ((1,), (0, 2))
    """
    codes = as_matrix(codes, "codes")
    sizes = tuple(len(group) for group in as_groups(tuple(sizes), codes.shape[1]))
    return best_partition(sizes, block_values(ties(codes, noise, seed, LEAST_TIE), set(sizes), codes.shape))


def partitions_of_sizes(codes: np.ndarray, sizes: Sequence[int], noise: Any, most: int) -> list[Groups]:
    """The best partitions, best first, of which the last two lack a group of the first, or any group of those before
    them, so that not all are nearly the same."""
    values = block_values(ties(codes, noise, 0, LEAST_TIE), set(sizes), codes.shape)
    first = best_partition(sizes, values)
    found: dict[Groups, None] = {first.groups: None}
    several = [block for block in values if len(block) > 1]
    while several and first.exact and len(found) < most - UNLIKE:
        chosen = _solved(sizes, several, values, other_than=list(found))
        if chosen is None:
            break
        found[_in_order(chosen, sizes)] = None
    others = [best_partition(sizes, {**values, group: -1.0}) for group in first.groups if len(group) > 1]
    found |= dict.fromkeys(other.groups for other in sorted(others, key=lambda other: -other.value))
    while len(found) < most:
        seen = {group: -1.0 for groups in found for group in groups if len(group) > 1}
        new = best_partition(sizes, {**values, **seen}).groups
        if new in found:
            break
        found[new] = None
    return list(found)[:most]


def packed(found: Sequence[Tie], shape: tuple[int, ...]) -> Groups:
    """The partition into at most four coordinates a group with the largest sum of the same measure, sizes unknown.
    Where much is tied a little, as it is where rows are bent, chains of ties join everything; they do not here, where a
    group is worth what its weakest split would cut."""
    values = {block: value for block, value in block_values(found, {2, 3, 4}, shape).items() if value > 0}
    chosen = _solved(None, [*values], values) if 0 < len(values) <= MAX_EXACT else None
    taken = {k for block in chosen or () for k in block}
    return tuple(sorted([*(chosen or ()), *((k,) for k in range(shape[1]) if k not in taken)]))


def block_values(found: Sequence[Tie], sizes: set[int], shape: tuple[int, ...]) -> dict[Block, float]:
    """The worth of blocks of these sizes: of all, where there are few enough, else of those that ties connect."""
    rows, latents = shape
    values: dict[Block, float] = {(k,): 0.0 for k in range(latents)}

    def valued(blocks: Sequence[Block]) -> dict[Block, float]:
        if not blocks:
            return {}
        inside, cut = _cut(found, blocks, rows)
        return dict(zip(blocks, (inside + HOLDS * cut.min(1)).tolist()))

    if sum(comb(latents, size) for size in sizes) <= MAX_EXACT:
        for size in sorted(sizes - {1}):
            values |= valued(list(combinations(range(latents), size)))
        return values
    near: dict[int, set[int]] = {k: set() for k in range(latents)}
    for tie in found:
        for k in tie.members:
            near[k] |= set(tie.members)
    blocks: set[Block] = set(values)
    for size in range(2, max(sizes) + 1):
        grown = valued(sorted({tuple(sorted({*b, k})) for b in blocks for k in _beside(b, near)}))
        blocks = set(sorted(grown, key=lambda b: (-grown[b], b))[: MAX_EXACT // len(sizes)])
        if size in sizes:
            values |= {b: grown[b] for b in sorted(blocks)}
    return values


def weakest_split(found: Sequence[Tie], group: Block, rows: int) -> tuple[float, Block, Block]:
    """The first of `splits_of` a group; of a single coordinate, nothing, itself and none."""
    return splits_of(found, group, rows)[0] if len(group) > 1 else (0.0, group, ())


def splits_of(found: Sequence[Tie], group: Block, rows: int) -> list[tuple[float, Block, Block]]:
    """The two parts that a group may be split into, after what of its ties they would cut, nats: the least first."""
    if len(group) == 1:
        return []
    group = tuple(sorted(group))
    cuts = _cut(found, [group], rows)[1][0]
    parts = [tuple(group[k] for k in sorted(side)) for side in _sides(len(group))]
    return [
        (float(cuts[number]), parts[number], tuple(k for k in group if k not in parts[number]))
        for number in np.argsort(cuts, kind="stable")
    ]


def _cut(found: Sequence[Tie], blocks: Sequence[Block], rows: int) -> tuple[np.ndarray, np.ndarray]:
    """What blocks of one size hold, nats, and what each of their splits would cut, (blocks, splits)."""
    shared, size = {tie.members: tie.strength**2 / (2 * rows) for tie in found}, len(blocks[0])
    if size <= LARGEST_SPLIT:
        parts, cuts = _parts_and_cuts(size)
        held = np.array([[shared.get(tuple(block[k] for k in part), 0.0) for part in parts] for block in blocks])
        return held.sum(1), held @ cuts.T
    inside, cut = np.zeros(len(blocks)), np.zeros((len(blocks), size))
    for number, block in enumerate(blocks):
        place = {k: position for position, k in enumerate(block)}
        for members, nats in shared.items():
            if place.keys() >= set(members):
                inside[number] += nats
                cut[number, [place[k] for k in members]] += nats
    return inside, cut


@cache
def _sides(size: int) -> list[set[int]]:
    """One side of each split of so many into two: of all, or of one from the others."""
    if size > LARGEST_SPLIT:
        return [{k} for k in range(size)]
    return [{0, *others} for members in range(size - 1) for others in combinations(range(1, size), members)]


@cache
def _parts_and_cuts(size: int) -> tuple[list[Block], np.ndarray]:
    """All two, three and four of so many; and which of these each split cuts."""
    parts = [part for members in (2, 3, 4) for part in combinations(range(size), members)]
    return parts, np.array([[0 < len(side & set(part)) < len(part) for part in parts] for side in _sides(size)], float)


def _beside(block: Block, near: Mapping[int, set[int]]) -> set[int]:
    return set().union(*(near[k] for k in block)) - set(block)


def best_partition(sizes: Sequence[int], values: Mapping[Block, float]) -> SizedGroups:
    """The partition into blocks of `sizes` with the largest sum of `values`, by integer programming where that ends."""
    several = [block for block in values if len(block) > 1]
    chosen = _solved(sizes, several, values) if several and len(several) <= MAX_EXACT else None
    exact = chosen is not None or not several
    groups = _in_order(chosen or [], sizes) if exact else _exchanged(sizes, values)
    return SizedGroups(groups, float(sum(values.get(group, 0.0) for group in groups)), exact)


def _solved(
    sizes: Sequence[int] | None,
    blocks: list[Block],
    values: Mapping[Block, float],
    other_than: Sequence[Groups] = (),
) -> list[Block] | None:
    """Set packing: every coordinate in at most one block, of every size above 1 as many as asked for, where any are,
    and not all blocks of any partition that is known already."""
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import csc_matrix

    columns = range(len(blocks))
    latents, wanted = 1 + max(map(max, blocks)), Counter(size for size in sizes or () if size > 1)
    row_of = {size: latents + row for row, size in enumerate(sorted(wanted))}
    counted = [(row_of[len(block)], column) for column, block in enumerate(blocks) if wanted]
    entries = [*((k, column) for column, block in enumerate(blocks) for k in block), *counted]
    rows, places = np.array(entries).T
    table = csc_matrix((np.ones(len(rows)), (rows, places)), (latents + len(wanted), len(blocks)))
    count = [wanted[size] for size in sorted(wanted)]
    held = [LinearConstraint(table, np.r_[np.zeros(latents), count], np.r_[np.ones(latents), count])]
    if other_than:
        known = csc_matrix([[float(block in groups) for block in blocks] for groups in other_than])
        held.append(LinearConstraint(known, -np.inf, sum(wanted.values()) - 1))
    cost = -np.array([values[block] for block in blocks])
    options = {"mip_rel_gap": 0.0, "node_limit": MAX_SOLVED}
    found = milp(cost, constraints=held, integrality=np.ones(len(blocks)), bounds=Bounds(0, 1), options=options)
    return [blocks[column] for column in columns if found.x[column] > 0.5] if found.status == 0 else None


def _in_order(blocks: Sequence[Block], sizes: Sequence[int]) -> Groups:
    """Blocks in the order of `sizes`, what they leave as single coordinates."""
    taken = {k for block in blocks for k in block}
    left = [*sorted(blocks), *((k,) for k in range(sum(sizes)) if k not in taken)]
    groups = []
    for size in sizes:
        group = next(block for block in left if len(block) == size)
        left.remove(group)
        groups.append(group)
    return tuple(groups)


def _exchanged(sizes: Sequence[int], values: Mapping[Block, float]) -> Groups:
    """The best blocks first, as long as they fit; then the best exchange of two coordinates while one helps."""
    wanted, taken, chosen = Counter(sizes), set(), []
    for block in sorted(values, key=lambda block: -values[block] / len(block)):
        if wanted[len(block)] and taken.isdisjoint(block):
            wanted[len(block)] -= 1
            taken.update(block)
            chosen.append(block)
    free = [k for k in range(sum(sizes)) if k not in taken]
    for size in sorted(wanted.elements()):
        chosen.append(tuple(free.pop(0) for _ in range(size)))
    while True:
        gain, a, b, first, second = max(_exchanges(chosen, values), default=(0.0, 0, 0, (), ()))
        if gain <= 1e-12:
            return _in_order(chosen, sizes)
        chosen[a], chosen[b] = first, second


def _exchanges(groups: list[Block], values: Mapping[Block, float]) -> Iterator[tuple[float, int, int, Block, Block]]:
    for a, b in combinations(range(len(groups)), 2):
        now = values.get(groups[a], 0.0) + values.get(groups[b], 0.0)
        for i in groups[a]:
            for j in groups[b]:
                first = tuple(sorted({*groups[a], j} - {i}))
                second = tuple(sorted({*groups[b], i} - {j}))
                yield values.get(first, 0.0) + values.get(second, 0.0) - now, a, b, first, second
