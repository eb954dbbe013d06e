"""The partition into groups of given sizes that keeps the most information inside them."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
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


@dataclass(frozen=True)
class SizedGroups:
    """`groups` in the order of the sizes asked for, the information they hold (nats), and whether no partition holds
    more."""

    groups: Groups
    value: float
    exact: bool


def groups_of_sizes(codes: Any, sizes: Sequence[int], noise: Any = None, seed: int = 0) -> SizedGroups:
    """The partition of independent-as-possible coordinates into groups of `sizes` with the most dependence inside them.

    Dependence is the sum of squared means, over 2, of products of polynomials of ranks (`free_groups`), for all two,
    three and four coordinates of a group that show any: to second order what they share in nats.

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
    """The best partition, the best ones without one of its groups, best first, then those that share no group with
    any."""
    values = block_values(ties(codes, noise, 0, LEAST_TIE), set(sizes), codes.shape)
    first = best_partition(sizes, values)
    others = [best_partition(sizes, {**values, group: -1.0}) for group in first.groups if len(group) > 1]
    ranked = sorted(others, key=lambda other: -other.value)
    found = dict.fromkeys([first.groups, *(other.groups for other in ranked)])
    while len(found) < most:
        seen = {group: -1.0 for groups in found for group in groups if len(group) > 1}
        new = best_partition(sizes, {**values, **seen}).groups
        if new in found:
            break
        found[new] = None
    return list(found)[:most]


def block_values(found: Sequence[Tie], sizes: set[int], shape: tuple[int, ...]) -> dict[Block, float]:
    """The dependence of blocks of these sizes: of all, where there are few enough, else of those that ties connect."""
    rows, latents = shape
    shared = {tie.members: tie.strength**2 / (2 * rows) for tie in found}

    def value(block: Block) -> float:
        return sum(shared.get(some, 0.0) for members in (2, 3, 4) for some in combinations(block, members))

    values: dict[Block, float] = {(k,): 0.0 for k in range(latents)}
    if sum(comb(latents, size) for size in sizes) <= MAX_EXACT:
        return values | {b: value(b) for size in sizes if size > 1 for b in combinations(range(latents), size)}
    near: dict[int, set[int]] = {k: set() for k in range(latents)}
    for tie in found:
        for k in tie.members:
            near[k] |= set(tie.members)
    blocks: set[Block] = set(values)
    for size in range(2, max(sizes) + 1):
        grown = {tuple(sorted({*b, k})) for b in blocks for k in set().union(*(near[i] for i in b)) - set(b)}
        blocks = set(sorted(grown, key=lambda b: (-value(b), b))[: MAX_EXACT // len(sizes)])
        if size in sizes:
            values |= {b: value(b) for b in sorted(blocks)}
    return values


def best_partition(sizes: Sequence[int], values: Mapping[Block, float]) -> SizedGroups:
    """The partition into blocks of `sizes` with the largest sum of `values`, by integer programming where that ends."""
    several = [block for block in values if len(block) > 1]
    chosen = _solved(sizes, several, values) if several and len(several) <= MAX_EXACT else None
    exact = chosen is not None or not several
    groups = _in_order(chosen or [], sizes) if exact else _exchanged(sizes, values)
    return SizedGroups(groups, float(sum(values.get(group, 0.0) for group in groups)), exact)


def _solved(sizes: Sequence[int], blocks: list[Block], values: Mapping[Block, float]) -> list[Block] | None:
    """Set packing: every coordinate in at most one block, of every size above 1 as many as asked for."""
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import csc_matrix

    latents, wanted = sum(sizes), Counter(size for size in sizes if size > 1)
    row_of = {size: latents + row for row, size in enumerate(sorted(wanted))}
    entries = [(row, column) for column, block in enumerate(blocks) for row in (*block, row_of[len(block)])]
    rows, columns = np.array(entries).T
    table = csc_matrix((np.ones(len(entries)), (rows, columns)), (latents + len(wanted), len(blocks)))
    count = [wanted[size] for size in sorted(wanted)]
    held = LinearConstraint(table, np.r_[np.zeros(latents), count], np.r_[np.ones(latents), count])
    cost = -np.array([values[block] for block in blocks])
    options = {"mip_rel_gap": 0.0, "node_limit": MAX_SOLVED}
    found = milp(cost, constraints=held, integrality=np.ones(len(blocks)), bounds=Bounds(0, 1), options=options)
    return [blocks[column] for column in np.flatnonzero(found.x > 0.5)] if found.status == 0 else None


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
