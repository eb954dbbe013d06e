import numpy as np
import pytest

from partita.structure._background import background_of, rows_that_count, shared_by_pairs, shuffled


def test_gaussian_pairs_share_what_their_correlation_says():
    """-log(1 - r^2) / 2, less what eight bins lose."""
    rng = np.random.default_rng(0)
    a, b, c = rng.standard_normal((3, 20_000))
    found = shared_by_pairs(np.stack([a, 0.6 * a + 0.8 * b, c], 1), np.random.default_rng(0))
    exact = -0.5 * np.log(1 - 0.36)
    assert 0.85 * exact < found.shared[0, 1] < exact
    assert abs(found.shared[0, 2]) < 4 * found.sd[0, 2]
    assert found.null[0, 1] == pytest.approx(49 / 40_000, rel=0.15)  # (bins - 1)^2 / 2n


def test_equal_values_tie_nothing():
    """Ranks of equal values are an accident, which must not be the same one in two columns."""
    flags = np.random.default_rng(1).integers(0, 2, (2000, 2)).astype(float)
    constant = np.zeros((2000, 1))
    found = shared_by_pairs(np.concatenate([flags, constant], 1), np.random.default_rng(0))
    assert np.abs(found.shared).max() < 0.01


def test_a_shift_keeps_neighbours_and_moves_everything():
    y = np.arange(100)[:, None]
    moved = shuffled(y, np.random.default_rng(0), time=True)
    assert np.sum(np.diff(moved[:, 0]) != 1) == 1
    assert not np.any(moved == y)
    assert np.sum(np.diff(shuffled(y, np.random.default_rng(0), time=False)[:, 0]) == 1) < 10


def test_rows_that_count_of_a_series_that_remembers():
    """An AR(1) series with memory m counts for n (1 - m) / (1 + m) rows."""
    rng = np.random.default_rng(2)
    y = rng.standard_normal((20_000, 3))
    assert rows_that_count(y) == pytest.approx(20_000, rel=0.1)
    for t in range(1, len(y)):
        y[t] += 0.9 * y[t - 1]
    assert rows_that_count(y) == pytest.approx(20_000 * 0.1 / 1.9, rel=0.2)


def test_the_background_is_what_coordinates_share_with_all_others():
    rng = np.random.default_rng(3)
    load = np.linspace(0.4, 0.8, 10)
    y = load * rng.standard_normal((8000, 1)) + np.sqrt(1 - load**2) * rng.standard_normal((8000, 10))
    pairs = shared_by_pairs(y, rng)
    found = background_of(pairs, 8000)
    assert found is not None
    some = np.triu_indices(10, 1)
    assert np.corrcoef(found.expected[some], pairs.shared[some])[0, 1] > 0.9
    strongest = np.unravel_index(pairs.shared.argmax(), (10, 10))
    assert found.p_value([strongest], float(pairs.shared.max())) * 45 > 0.05
    assert found.p_value([(0, 1)], 0.3) * 45 < 0.01
    assert background_of(shared_by_pairs(y[:, :5], rng), 8000) is None  # too few
