import numpy as np
import pytest

from partita.data.shapes import SHAPES
from partita.structure import discrete_entropy
from partita.structure.free_groups import _between, free_groups, least_evidence, pair_evidence


def shapes(parts, n=2500, seed=0):
    rng = np.random.default_rng(seed)
    codes = np.concatenate([SHAPES[name].draw(n, size, rng) for name, size in parts], 1)
    ends = np.cumsum([size for _, size in parts])
    return codes, tuple(tuple(range(end - size, end)) for (_, size), end in zip(parts, ends))


@pytest.mark.parametrize(
    "parts",
    [
        [("ring", 2), ("moons", 2), ("bowtie", 2)],
        [("checkerboard", 3), ("spiral", 2), ("uniform", 1), ("exponential", 1)],
        [("bowtie", 4), ("clusters", 3), ("two_peaks", 1), ("clusters", 2)],
        [("checkerboard", 4), ("logistic", 1)],
        [("uniform", 1), ("two_peaks", 1), ("exponential", 1), ("logistic", 1)],
    ],
)
def test_number_and_sizes_are_found(parts):
    codes, true = shapes(parts)
    assert free_groups(codes) == true
    order = np.random.default_rng(1).permutation(codes.shape[1])
    assert {tuple(sorted(order[list(group)].tolist())) for group in free_groups(codes[:, order])} == set(true)


def test_twelve_independent_gaussians_are_twelve_groups():
    for seed in range(5):
        codes = np.random.default_rng(seed).standard_normal((1000, 12))
        assert free_groups(codes) == tuple((k,) for k in range(12))


def test_what_unmixing_left_behind_is_turned_away_and_a_true_tie_is_not():
    rng = np.random.default_rng(2)
    turn = np.deg2rad(9)
    matrix = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    left = rng.uniform(-1, 1, (2500, 2)) @ matrix
    assert pair_evidence(left)[0] > 5
    assert least_evidence(left)[0] < 4
    ring = SHAPES["ring"].draw(2500, 2, rng)
    assert least_evidence(ring)[0] > 0.9 * pair_evidence(ring)[0]
    assert free_groups(left) == ((0,), (1,))


def test_information_between_parts_is_that_of_the_tables():
    states = np.random.default_rng(3).integers(0, 3, (400, 4))
    h = discrete_entropy(states)
    expected = h((0, 1)) + h((2,)) + h((3,)) - h((0, 1, 2, 3))
    cells = [states[:, 0] * 3 + states[:, 1], states[:, 2], states[:, 3]]
    assert _between(cells) == pytest.approx(expected, abs=1e-12)


def test_few_rows_and_single_columns():
    with pytest.raises(ValueError, match="at least 60 rows"):
        free_groups(np.zeros((10, 2)))
    assert free_groups(np.zeros((100, 1))) == ((0,),)
    assert free_groups(np.zeros((100, 3))) == ((0,), (1,), (2,))
