from itertools import combinations

import numpy as np
import pytest

from partita.data.shapes import SHAPES
from partita.measures._regrouping import _partitions
from partita.structure import sized_groups
from partita.structure.free_groups import Tie, free_groups, grouped, ties
from partita.structure.sized_groups import (
    LEAST_TIE,
    best_partition,
    block_values,
    groups_of_sizes,
    packed,
    partitions_of_sizes,
    weakest_split,
)


def random_values(latents, sizes, seed):
    rng = np.random.default_rng(seed)
    blocks = [block for size in sorted(set(sizes)) for block in combinations(range(latents), size)]
    return {block: float(rng.normal()) if len(block) > 1 else 0.0 for block in blocks}


@pytest.mark.parametrize("sizes", [(2, 2, 2), (3, 2, 1), (1, 3, 1, 2), (4, 4), (2, 2, 2, 2), (1, 1, 1), (5,)])
@pytest.mark.parametrize("seed", range(3))
def test_no_partition_holds_more(sizes, seed):
    """Against every partition there is."""
    values = random_values(sum(sizes), sizes, seed)
    most = max(
        sum(values[block] for block in partition) for partition in _partitions(tuple(range(sum(sizes))), tuple(sizes))
    )
    found = best_partition(sizes, values)
    assert found.exact
    assert found.value == pytest.approx(most, abs=1e-9)
    assert tuple(map(len, found.groups)) == sizes
    assert sorted(k for group in found.groups for k in group) == list(range(sum(sizes)))


def dynamic_program(latents, values):
    """Most information in `latents` / 2 pairs: over subsets, lowest free coordinate first."""
    best = {0: 0.0}
    for mask in range(1, 2**latents):
        members = [k for k in range(latents) if mask >> k & 1]
        if len(members) % 2 == 0:
            low = members[0]
            best[mask] = max(best[mask & ~(1 << low) & ~(1 << k)] + values[low, k] for k in members[1:])
    return best[2**latents - 1]


def test_sixteen_latents_in_pairs_against_a_dynamic_program():
    values = random_values(16, (2,), 4)
    found = best_partition((2,) * 8, values)
    assert found.exact
    assert found.value == pytest.approx(dynamic_program(16, values), abs=1e-9)


def test_exchanges_where_blocks_are_too_many(monkeypatch):
    """Planted groups are found by exchanges alone; then nobody claims that nothing is better."""
    monkeypatch.setattr(sized_groups, "MAX_EXACT", 0)
    values = random_values(12, (3, 2, 1), 5)
    true = ((0, 1, 2), (3, 4, 5), (6, 7), (8, 9), (10,), (11,))
    for block in true[:4]:
        values[block] = 6.0
    found = best_partition((3, 3, 2, 2, 1, 1), values)
    assert not found.exact
    assert found.groups == true


TIES = [Tie((0, 1), 6.0), Tie((0, 1, 2), 5.0), Tie((1, 2, 3, 5), 4.0), Tie((3, 4), 2.0)]


def by_hand(block, rows):
    """Half the squared mean of each tie inside the block, and three times that of those which its weakest split cuts; a
    mean is its deviations over the root of the rows."""
    held = {tie.members: (tie.strength / np.sqrt(rows)) ** 2 / 2 for tie in TIES if set(tie.members) <= set(block)}
    sides = [set(side) for size in range(1, len(block)) for side in combinations(block, size)]
    cuts = [
        sum(nats for members, nats in held.items() if side & set(members) and set(members) - side) for side in sides
    ]
    return sum(held.values()) + 3 * min(cuts, default=0.0)


def test_the_dependence_of_blocks_is_that_of_the_ties_in_them():
    values = block_values(TIES, {1, 2, 4}, (200, 6))
    assert set(values) == {block for size in (1, 2, 4) for block in combinations(range(6), size)}
    for block, value in values.items():
        assert value == pytest.approx(by_hand(block, 200), abs=1e-12)
    assert values[0, 1] == pytest.approx(4 * 36 / 400)
    assert values[0, 1, 2, 3] == pytest.approx((36 + 25) / 400)  # 3 is tied to nobody: its split cuts nothing
    assert values[1, 2, 3, 5] == pytest.approx(4 * 16 / 400)


def test_a_strong_pair_does_not_take_the_place_of_a_weak_four():
    """It would hold as much there, and leave two of the four strangers to their group."""
    found = [
        Tie((4, 5), 20.0),
        Tie((0, 1), 5.0),
        Tie((0, 2), 5.0),
        Tie((0, 3), 5.0),
        Tie((2, 3), 6.0),
        Tie((1, 4), 8.0),
    ]
    held = {
        groups: sum(tie.strength**2 for tie in found if any(set(tie.members) <= set(g) for g in groups))
        for groups in [((4, 5), (0, 1, 2, 3)), ((2, 3), (0, 1, 4, 5))]
    }
    assert held[(2, 3), (0, 1, 4, 5)] > held[(4, 5), (0, 1, 2, 3)]
    assert best_partition((2, 4), block_values(found, {2, 4}, (1000, 6))).groups == ((4, 5), (0, 1, 2, 3))


def test_of_large_groups_the_splits_of_one_from_the_others_are_looked_at():
    chain = [Tie((k, k + 1), 4.0) for k in range(9)]
    assert weakest_split(chain, tuple(range(10)), 100)[0] == pytest.approx(16 / 200)  # an end of the chain
    assert weakest_split(chain[:-1], tuple(range(10)), 100)[0] == 0.0
    assert (
        weakest_split([*chain[:3], *chain[4:7]], tuple(range(8)), 100)[0] == 0.0
    )  # two chains of four, in a group of eight
    assert weakest_split(chain, (3,), 100)[0] == 0.0
    many = [Tie((k, k + 1, k + 2), 4.0) for k in range(98)]
    assert weakest_split(many, tuple(range(100)), 100) == (pytest.approx(16 / 200), (0,), tuple(range(1, 100)))


def test_of_too_many_blocks_those_that_ties_connect(monkeypatch):
    """None that holds anything is missing, as long as what it grows from is among the best."""
    monkeypatch.setattr(sized_groups, "MAX_EXACT", 20)
    values = block_values(TIES, {2, 3}, (200, 6))
    assert all(value == pytest.approx(by_hand(block, 200), abs=1e-12) for block, value in values.items())
    assert {(k,) for k in range(6)} | {(0, 1), (3, 4), (0, 1, 2)} <= set(values)
    assert sum(len(block) > 1 for block in values) <= 20
    assert (0, 4) not in values


def test_one_tie_too_weak_for_free_groups_suffices_for_sizes():
    """Where something must be together, what shows at all decides."""
    rng = np.random.default_rng(9)
    codes = rng.uniform(-1, 1, (400, 6))
    codes[:, 4] = 0.98 * codes[:, 4] + 0.16 * codes[:, 1]
    found = groups_of_sizes(codes, (2, 1, 1, 1, 1))
    assert free_groups(codes) == tuple((k,) for k in range(6))
    assert found.groups[0] == (1, 4)


def test_shapes_are_put_together_again_also_those_no_pair_shows():
    rng = np.random.default_rng(6)
    parts = [("checkerboard", 3), ("moons", 2), ("ring", 4), ("clusters", 3), ("uniform", 1)]
    codes = np.concatenate([SHAPES[name].draw(2000, size, rng) for name, size in parts], 1)
    order = rng.permutation(13)
    found = groups_of_sizes(codes[:, order], (3, 2, 4, 3, 1))
    true = {(0, 1, 2), (3, 4), (5, 6, 7, 8), (9, 10, 11), (12,)}
    assert {tuple(sorted(order[list(group)].tolist())) for group in found.groups} == true
    assert found.exact
    assert tuple(map(len, found.groups)) == (3, 2, 4, 3, 1)


def test_thirty_two_latents_in_pairs():
    rng = np.random.default_rng(7)
    codes = np.concatenate([SHAPES[name].draw(1500, 2, rng) for name in ("ring", "moons", "bowtie", "spiral") * 4], 1)
    found = groups_of_sizes(codes, (2,) * 16)
    assert found.exact
    assert found.groups == tuple((k, k + 1) for k in range(0, 32, 2))


def test_the_next_best_partitions_lack_a_group_of_the_best():
    rng = np.random.default_rng(10)
    codes = np.concatenate([SHAPES[name].draw(800, 2, rng) for name in ("ring", "moons", "bowtie")], 1)
    first, *others = partitions_of_sizes(codes, (2, 2, 2), None, 3)
    assert first == groups_of_sizes(codes, (2, 2, 2)).groups == ((0, 1), (2, 3), (4, 5))
    assert len(others) == 2
    assert len({first, *others}) == 3
    for other in others:
        assert sorted(k for group in other for k in group) == list(range(6))
        assert set(other) != set(first)
    assert partitions_of_sizes(codes, (2, 2, 2), None, 1) == [first]
    assert partitions_of_sizes(codes, (6,), None, 5) == [((0, 1, 2, 3, 4, 5),)]
    assert partitions_of_sizes(codes, (1,) * 6, None, 5) == [tuple((k,) for k in range(6))]


def test_partitions_come_best_first():
    """Against every partition there is: all but two of those asked for are the best ones."""
    rng = np.random.default_rng(12)
    codes = np.concatenate([SHAPES["bowtie"].draw(1500, 3, rng), SHAPES["moons"].draw(1500, 2, rng)], 1)
    codes = np.c_[codes, rng.uniform(size=1500)] @ np.linalg.qr(np.eye(6) + 0.2 * rng.standard_normal((6, 6)))[0]
    values = block_values(ties(codes, None, 0, LEAST_TIE), {1, 2, 3}, codes.shape)
    every = _partitions(tuple(range(6)), (3, 2, 1))
    ranked = sorted((sum(values[block] for block in partition) for partition in every), reverse=True)
    found = partitions_of_sizes(codes, (3, 2, 1), None, 7)
    worth = [sum(values[group] for group in groups) for groups in found]
    assert worth[:5] == pytest.approx(ranked[:5], abs=1e-9)
    assert len(set(found)) == 7


def test_noise_that_groups_share_is_taken_into_account():
    """Two rings with noise that pairs one coordinate of each: without it told, pairs of noise are found."""
    rng = np.random.default_rng(11)
    codes = np.concatenate([SHAPES["ring"].draw(2000, 2, rng) for _ in range(2)], 1)
    shared = 1.1 * np.array([[0, 1, 0, 1], [1, 0, 1, 0]]).T
    noise = shared @ shared.T + 0.01 * np.eye(4)
    seen = codes * 2 + rng.multivariate_normal(np.zeros(4), noise, len(codes))
    assert groups_of_sizes(seen, (2, 2)).groups == ((0, 2), (1, 3))
    assert groups_of_sizes(seen, (2, 2), noise).groups == ((0, 1), (2, 3))


def test_wrong_sizes_and_few_rows_are_refused():
    codes = np.random.default_rng(8).standard_normal((80, 32))
    with pytest.raises(ValueError, match="31"):
        groups_of_sizes(codes, (31,))
    with pytest.raises(ValueError, match="at least 60 rows"):
        groups_of_sizes(codes[:50], (16, 16))


@pytest.mark.parametrize("seed", range(5))
def test_no_packing_holds_more(seed):
    """Against every partition of six into groups of at most four."""
    rng = np.random.default_rng(seed)
    sets = [members for size in (2, 3, 4) for members in combinations(range(6), size)]
    found = [Tie(members, float(rng.uniform(3, 20))) for members in sets if rng.uniform() < 0.4]
    values = block_values(found, {2, 3, 4}, (500, 6))
    sizes = [(4, 2), (4, 1, 1), (3, 3), (3, 2, 1), (3, 1, 1, 1), (2, 2, 2), (2, 2, 1, 1), (2, 1, 1, 1, 1), (1,) * 6]
    every = [partition for each in sizes for partition in _partitions(tuple(range(6)), each)]
    most = max(sum(values[block] for block in partition) for partition in every)
    groups = packed(found, (500, 6))
    assert sorted(k for group in groups for k in group) == list(range(6))
    assert sum(values[group] for group in groups) == pytest.approx(most, abs=1e-9)


def test_a_chain_of_weak_ties_joins_no_packing():
    inside = [Tie(pair, 20.0) for each in ((0, 1, 2), (3, 4, 5)) for pair in combinations(each, 2)]
    found = [*inside, Tie((2, 3), 6.0)]
    assert grouped(found, 6) == ((0, 1, 2, 3, 4, 5),)
    assert packed(found, (1000, 6)) == ((0, 1, 2), (3, 4, 5))


def test_what_nothing_ties_is_packed_alone():
    assert packed([], (1000, 3)) == ((0,), (1,), (2,))
    assert packed([Tie((0, 2), 9.0)], (1000, 4)) == ((0, 2), (1,), (3,))
