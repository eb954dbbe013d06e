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
from partita.structure._rank_bins import RankBins

Block = tuple[int, ...]
BINS = {2: 6, 3: 4, 4: 4, 5: 3}  # of larger blocks 2: more cells than rows say nothing
MAX_BLOCKS = 200_000
MAX_EXACT = 6_000  # blocks that the integer program takes in seconds
MAX_SOLVED = 2_000  # branches of it


@dataclass(frozen=True)
class SizedGroups:
    """`groups` in the order of the sizes asked for, the information they hold (nats), and whether no partition holds
    more."""

    groups: Groups
    value: float
    exact: bool


def groups_of_sizes(codes: Any, sizes: Sequence[int]) -> SizedGroups:
    """The partition of independent-as-possible coordinates into groups of `sizes` with the largest sum of f(group).

    f(S) is the larger of two lower bounds of the total correlation of S: the spanning tree of pairwise information in 6
    rank bins with the most weight (Chow and Liu 1968), and the information of all of S in few bins, which sees what no
    two coordinates show. Exact for up to 16 coordinates, for pairs far beyond; otherwise latents are exchanged between
    groups while that helps, and `exact` says so.
    """
    codes = as_matrix(codes, "codes")
    sizes = tuple(len(group) for group in as_groups(tuple(sizes), codes.shape[1]))
    return best_partition(sizes, block_values(codes, set(sizes)))


def block_values(codes: np.ndarray, sizes: set[int]) -> dict[Block, float]:
    """f(S) for every block of these sizes, 0 for single coordinates."""
    latents = codes.shape[1]
    blocks = sum(comb(latents, size) for size in sizes)
    if blocks > MAX_BLOCKS:
        raise ValueError(
            f"{latents} coordinates have {blocks} blocks of sizes {sorted(sizes)}, more than {MAX_BLOCKS}: use smaller"
            " groups, or let them be found without sizes"
        )
    ranked = RankBins(codes)
    pairs = ranked.pairs(BINS[2])
    values: dict[Block, float] = {}
    for size in sorted(sizes):
        for block in combinations(range(latents), size):
            values[block] = 0.0 if size == 1 else spanning_tree(pairs, block)
            if size > 2:
                values[block] = max(values[block], ranked.information(block, BINS.get(size, 2)))
    return values


def spanning_tree(pairs: np.ndarray, block: Block) -> float:
    """The weight of the heaviest tree over the block's coordinates (Prim)."""
    weight, outside = 0.0, list(block[1:])
    reach = {k: pairs[block[0], k] for k in outside}
    while outside:
        nearest = max(outside, key=reach.__getitem__)
        weight += reach[nearest]
        outside.remove(nearest)
        reach = {k: max(reach[k], pairs[nearest, k]) for k in outside}
    return float(weight)


def best_partition(sizes: Sequence[int], values: Mapping[Block, float]) -> SizedGroups:
    """The partition into blocks of `sizes` with the largest sum of `values`, by integer programming where that ends."""
    several = [block for block in values if len(block) > 1]
    chosen = _solved(sizes, several, values) if several and len(several) <= MAX_EXACT else None
    exact = chosen is not None or not several
    groups = _in_order(chosen or [], sizes) if exact else _exchanged(sizes, values)
    return SizedGroups(groups, float(sum(values[group] for group in groups)), exact)


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
        now = values[groups[a]] + values[groups[b]]
        for i in groups[a]:
            for j in groups[b]:
                first = tuple(sorted({*groups[a], j} - {i}))
                second = tuple(sorted({*groups[b], i} - {j}))
                yield values[first] + values[second] - now, a, b, first, second
