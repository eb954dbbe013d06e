from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from partita.structure import align, best_grouping


def all_groupings(items, sizes):
    """Every partition of `items` into groups of the given sizes, written out naively (repeats included)."""
    if not sizes:
        yield ()
        return
    for group in combinations(items, sizes[0]):
        rest = [k for k in items if k not in group]
        for others in all_groupings(rest, sizes[1:]):
            yield (group, *others)


@settings(deadline=None, max_examples=15)
@given(
    st.integers(0, 10_000),
    st.sampled_from([(2, 2, 2), (3, 2, 1), (1, 1, 4), (2, 4), (3, 3)]),
    st.sampled_from([(2, 2, 2), (3, 3), (1, 2, 3), (1, 1, 1, 1, 2)]),
)
def test_branch_and_bound_finds_what_enumeration_finds(seed, sizes, truth_groups):
    rng = np.random.default_rng(seed)
    truth = rng.standard_normal((60, 6))
    codes = truth @ rng.standard_normal((6, 6)) + 0.5 * rng.standard_normal((60, 6))
    groups, found = best_grouping(codes, truth, sizes, truth_groups)
    best = max(align(codes, truth, grouping, truth_groups).r2 for grouping in all_groupings(range(6), sizes))
    assert found.r2 == pytest.approx(best, abs=1e-9)
    assert found.exact
    assert found.bound == found.r2
    assert sorted(map(len, groups)) == sorted(sizes)
    assert sorted(k for group in groups for k in group) == list(range(6))


def test_fifteen_groupings_of_six_in_pairs():
    assert len({frozenset(map(frozenset, g)) for g in all_groupings(range(6), (2, 2, 2))}) == 15


def test_shuffled_latents_are_put_back_at_twenty_latents():
    rng = np.random.default_rng(0)
    truth = rng.standard_normal((400, 20))
    order = rng.permutation(20)
    codes = truth[:, order] + 0.3 * rng.standard_normal((400, 20))
    groups, found = best_grouping(codes, truth, (2,) * 10, (2,) * 10)
    assert found.exact
    assert [sorted(order[list(group)].tolist()) for group in groups] == [[2 * a, 2 * a + 1] for a in range(10)]


def test_a_search_cut_short_says_so(monkeypatch):
    rng = np.random.default_rng(1)
    truth = rng.standard_normal((100, 8))
    codes = truth @ rng.standard_normal((8, 8))
    exact = best_grouping(codes, truth, (2,) * 4, (2,) * 4)[1]
    monkeypatch.setattr("partita.structure.grouping.MAX_NODES", 5)
    cut = best_grouping(codes, truth, (2,) * 4, (2,) * 4)[1]
    assert not cut.exact
    assert cut.r2 <= exact.r2 + 1e-12 <= cut.bound + 1e-9


def test_too_many_subsets_is_one_clear_line():
    with pytest.raises(ValueError, match="too many to compare"):
        best_grouping(np.zeros((3, 40)), np.zeros((3, 40)), (10,) * 4, (10,) * 4)
