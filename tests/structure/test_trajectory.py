from itertools import product

import numpy as np
import pytest

from partita.structure import best_elbo_trajectory, grouping_coefficient, grouping_factors


def runs(best_of_capacity, noise=0.0, seeds=5):
    """ELBOs that peak at a given group size for each capacity, K = 12."""
    rng = np.random.default_rng(0)
    rows = []
    for (c, best), size, seed in product(enumerate(best_of_capacity), grouping_factors(12), range(seeds)):
        rows.append((100 * (c + 1), 12, size, seed, -abs(size - best) + noise * rng.standard_normal()))
    return [list(column) for column in zip(*rows)]


def test_factors_and_coefficients_of_the_paper():
    assert grouping_factors(12) == (1, 2, 3, 4, 6)
    assert grouping_coefficient(12, 3) == 0.5
    assert np.mean([grouping_coefficient(k, 1) for k in range(6, 21, 2)]) == pytest.approx(0.1786, abs=5e-5)
    with pytest.raises(ValueError, match="not a grouping factor"):
        grouping_coefficient(12, 5)
    with pytest.raises(ValueError, match="at least 2 latents"):
        grouping_factors(1)


def test_a_v_is_found_with_its_vertex():
    found = best_elbo_trajectory(*runs([6, 3, 1, 3, 6]))
    assert found.coefficients == pytest.approx([1, 0.5, 1 / 6, 0.5, 1])
    assert found.v_shaped
    assert found.vertex == pytest.approx(2)
    assert found.v_share == 1.0
    a, b, d = found.fit
    assert np.polyval([d, b, a], found.vertex) == pytest.approx(a - b * b / (4 * d))


def test_a_rising_line_is_no_v():
    found = best_elbo_trajectory(*runs([1, 2, 3, 4, 6]))
    assert not found.v_shaped or found.vertex < 1
    falling = best_elbo_trajectory(*runs([1, 3, 6, 3, 1]))
    assert not falling.v_shaped
    assert falling.vertex_interval is None


def test_noise_shows_in_the_share_of_resamples():
    found = best_elbo_trajectory(*runs([6, 4, 3, 4, 6], noise=3.0, seeds=4), resamples=100)
    assert 0 < found.v_share < 1


def test_bad_input():
    with pytest.raises(ValueError, match="at least 3 capacities"):
        best_elbo_trajectory(*runs([1, 2]))
    with pytest.raises(ValueError, match="one entry a model"):
        best_elbo_trajectory([1, 2], [12], [1], [0], [0.0])
    columns = runs([6, 3, 6])
    columns[4][0] = float("nan")
    with pytest.raises(ValueError, match="must be finite"):
        best_elbo_trajectory(*columns)
