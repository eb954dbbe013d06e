import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from partita.data import FactorGrid

GRID = FactorGrid(("shape", "scale", "place"), (3, 2, 4))


@settings(deadline=None, max_examples=30)
@given(st.lists(st.integers(1, 5), min_size=1, max_size=4))
def test_numbering_is_the_order_of_the_product(sizes):
    grid = FactorGrid(tuple(f"f{k}" for k in range(len(sizes))), tuple(sizes))
    expected = np.array(list(itertools.product(*(range(size) for size in sizes))))
    np.testing.assert_array_equal(grid.all_classes(), expected)
    np.testing.assert_array_equal(grid.to_index(expected), np.arange(grid.size))
    np.testing.assert_array_equal(grid.to_classes(np.arange(grid.size)), expected)


def test_any_leading_shape():
    assert GRID.to_index([2, 1, 3]) == 23
    assert GRID.to_classes(23).tolist() == [2, 1, 3]
    assert GRID.to_classes(np.zeros((2, 5), int)).shape == (2, 5, 3)


@pytest.mark.parametrize("fixed", [1, "scale", -2])
def test_a_fixed_factor_is_shared_and_the_others_are_uniform(fixed):
    rng = np.random.default_rng(0)
    seen = set()
    for _ in range(20):
        draws = GRID.draw(fixed, 50, rng)
        assert len(set(draws[:, 1])) == 1
        seen.add(int(draws[0, 1]))
    assert seen == {0, 1}
    draws = GRID.draw({"scale": 1}, 6000, rng)
    assert (draws[:, 1] == 1).all()
    counts = np.bincount(draws[:, 0] * 4 + draws[:, 2], minlength=12)
    assert ((counts - 500) ** 2 / 500).sum() < 31.3  # chi-square, 11 degrees of freedom, p = 0.001


def test_draws_with_nothing_fixed():
    assert GRID.draw(None, 7, np.random.default_rng(0)).shape == (7, 3)
    assert GRID.draw(None, 0, np.random.default_rng(0)).shape == (0, 3)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: FactorGrid(("a",), (1, 2)), "one size a name"),
        (lambda: FactorGrid((), ()), "one size a name"),
        (lambda: FactorGrid(("a", "a"), (1, 2)), "differ"),
        (lambda: FactorGrid(("a",), (0,)), "at least one class"),
        (lambda: FactorGrid(("a", "b"), (2**40, 2**40)), "can be numbered"),
        (lambda: GRID.to_index([0, 0]), "expected integer classes"),
        (lambda: GRID.to_index([0.0, 0.0, 0.0]), "expected integer classes"),
        (lambda: GRID.to_index([0, 2, 0]), "out of range"),
        (lambda: GRID.to_index([0, -1, 0]), "out of range"),
        (lambda: GRID.to_classes(24), "0 to 23"),
        (lambda: GRID.to_classes([-1]), "0 to 23"),
        (lambda: GRID.draw("colour", 1, np.random.default_rng(0)), "no factor 'colour'"),
        (lambda: GRID.draw(3, 1, np.random.default_rng(0)), "no factor 3"),
        (lambda: GRID.draw({"scale": 2}, 1, np.random.default_rng(0)), "classes 0 to 1"),
        (lambda: GRID.draw(0, -1, np.random.default_rng(0)), "-1"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()
