import numpy as np
import pytest

from partita.data.shapes import SHAPES
from partita.data.synthetic import whitened
from partita.measures._neighbours import multi_information
from partita.structure import min_total_correlation


def draw(shape, dimensions=2, n=2000, seed=0):
    return whitened(SHAPES[shape].draw(n, dimensions, np.random.default_rng(seed)))


@pytest.mark.parametrize(("shape", "nats"), [("ring", 0.70), ("moons", 0.49), ("bowtie", 0.28)])
def test_the_three_irreducible_pairs(shape, nats):
    found = min_total_correlation(draw(shape))
    assert found.value == pytest.approx(nats, abs=0.05)
    assert found.null < 0.03


@pytest.mark.parametrize("shape", ["moons", "checkerboard"])
def test_a_grid_over_two_directions_finds_no_less(shape):
    """The search itself, written out: every pair of directions 6 degrees apart, nearest neighbours on each."""
    x = draw(shape, n=500)
    angles = np.deg2rad(np.arange(0, 180, 6))
    directions = np.stack([np.cos(angles), np.sin(angles)])
    least = min(
        multi_information(x @ directions[:, [i, j]], ((0,), (1,)))
        for i in range(len(angles))
        for j in range(i + 1, len(angles))
        if abs(np.cos(angles[i] - angles[j])) < 0.98
    )
    assert min_total_correlation(x).value == pytest.approx(max(least, 0), abs=0.06)


@pytest.mark.parametrize("dimensions", [2, 3, 4])
def test_mixed_independent_coordinates_are_untied(dimensions):
    rng = np.random.default_rng(1)
    truth = rng.uniform(-1, 1, (2000, dimensions))
    codes = truth @ rng.standard_normal((dimensions, dimensions)) + 3
    found = min_total_correlation(codes)
    assert found.value < 0.03
    recovered = np.abs(np.corrcoef((codes @ found.transform).T, truth.T)[:dimensions, dimensions:])
    assert recovered.max(0).min() > 0.98


@pytest.mark.parametrize(("shape", "dimensions"), [("moons", 2), ("ring", 3)])
def test_linear_maps_do_not_matter(shape, dimensions):
    x = draw(shape, dimensions)
    mixed = x @ (np.random.default_rng(2).standard_normal((dimensions, dimensions)) + 2 * np.eye(dimensions))
    assert min_total_correlation(mixed).value == pytest.approx(min_total_correlation(x).value, abs=0.04)


def test_a_shell_in_three_dimensions_is_irreducible():
    assert min_total_correlation(draw("ring", 3)).value > 0.5


def test_one_coordinate_and_repeated_ones_have_nothing_to_tie():
    x = np.random.default_rng(3).standard_normal((200, 1))
    assert min_total_correlation(x).value == 0.0
    assert min_total_correlation(np.concatenate([x, 2 * x], 1)).value == 0.0
    with pytest.raises(ValueError, match="more than 5 rows"):
        min_total_correlation(x[:5])
