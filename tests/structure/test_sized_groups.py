from itertools import combinations

import numpy as np
import pytest

from partita.data.shapes import SHAPES
from partita.measures._regrouping import _partitions
from partita.structure import sized_groups
from partita.structure.sized_groups import best_partition, block_values, groups_of_sizes, spanning_tree


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


def test_a_spanning_tree_is_the_heaviest():
    pairs = np.zeros((4, 4))
    for (i, j), weight in {(0, 1): 3.0, (1, 2): 2.0, (0, 2): 2.5, (2, 3): 1.0, (0, 3): 0.5}.items():
        pairs[i, j] = pairs[j, i] = weight
    assert spanning_tree(pairs, (0, 1, 2, 3)) == 3.0 + 2.5 + 1.0
    assert spanning_tree(pairs, (1, 3)) == 0.0


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


def test_too_many_blocks_and_wrong_sizes_are_refused():
    codes = np.random.default_rng(8).standard_normal((50, 32))
    with pytest.raises(ValueError, match="more than 200000"):
        block_values(codes, {8})
    with pytest.raises(ValueError, match="31"):
        groups_of_sizes(codes, (31,))
