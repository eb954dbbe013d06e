from itertools import combinations

import numpy as np
import pytest

from partita.data.shapes import SHAPES
from partita.structure.free_groups import (
    DEGREES,
    DEGREES_OF_THREE,
    LEVEL,
    Tie,
    _means,
    added_noise,
    free_groups,
    grouped,
    pairs_of,
    threshold,
    ties,
)


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


def polynomials(codes):
    """Of ranks, written out: Legendre's of degrees 1 to 4 times sqrt(2 d + 1), (n, K, degrees)."""
    n = len(codes)
    t = np.array([[(2 * sum(other < value for other in column) + 1) / n - 1 for column in codes.T for value in column]])
    t = t.reshape(codes.shape[1], n).T
    plain = [t, (3 * t**2 - 1) / 2, (5 * t**3 - 3 * t) / 2, (35 * t**4 - 30 * t**2 + 3) / 8]
    return np.stack([np.sqrt(2 * d + 1) * p for d, p in enumerate(plain, 1)], 2)


def test_means_are_those_of_plain_sums():
    """Every product of two coordinates' polynomials, of three and of four, by loops."""
    codes = np.random.default_rng(2).standard_normal((40, 5))
    f = polynomials(codes)
    two, three, four = _means(codes)
    pairs = list(combinations(range(5), 2))
    for p, (i, j) in enumerate(pairs):
        degrees = np.ndindex(DEGREES, DEGREES)
        assert two[i, j] == pytest.approx(max(abs(np.mean(f[:, i, a] * f[:, j, b])) for a, b in degrees), abs=1e-12)
        for k in set(range(5)) - {i, j}:
            degrees = np.ndindex(*[DEGREES_OF_THREE] * 3)
            expected = max(abs(np.mean(f[:, i, a] * f[:, j, b] * f[:, k, c])) for a, b, c in degrees)
            assert three[p, k] == pytest.approx(expected, abs=1e-12)
        for q, (k, m) in enumerate(pairs):
            if not {i, j} & {k, m}:
                expected = abs(np.mean(f[:, i, 0] * f[:, j, 0] * f[:, k, 0] * f[:, m, 0]))
                assert four[p, q] == pytest.approx(expected, abs=1e-12)


def test_polynomials_are_orthonormal_so_that_a_mean_counts_in_deviations():
    """A coordinate beside itself: the largest mean is that of a square, 1, and only of a square."""
    n = 4000
    codes = np.random.default_rng(3).exponential(size=(n, 1))
    f = polynomials(codes[:400])[:, 0]
    np.testing.assert_allclose(f.T @ f / 400, np.eye(DEGREES), atol=1e-3)
    np.testing.assert_allclose(_means(np.repeat(codes, 2, 1))[0], 1, atol=1e-4)
    means = [_means(np.random.default_rng(seed).standard_normal((n, 2)))[2][0, 0] for seed in range(200)]
    assert np.mean(means) == pytest.approx(1, abs=0.02)  # E[P1(a)^2] E[P1(b)^2] of independent ones


def test_independent_coordinates_are_seldom_tied():
    """`LEVEL` is for each of two, three and four; Bonferroni and HEAVY leave less than that."""
    rng, tied = np.random.default_rng(4), np.zeros(5)
    for _ in range(400):
        found = {len(tie.members) for tie in ties(rng.standard_normal((200, 4)))}
        tied += np.isin(np.arange(5), list(found))
    assert (tied / 400 <= 2.5 * LEVEL).all()
    assert tied.sum() >= 1  # and no less careful than it has to be


def test_thresholds_are_those_of_two_sided_tests():
    from scipy.stats import norm

    assert 2 * norm.sf(threshold(2, 6)) * 15 * 16 == pytest.approx(LEVEL)
    assert 2 * norm.sf(threshold(3, 6) / 1.25) * 20 * 8 == pytest.approx(LEVEL)
    assert 2 * norm.sf(threshold(4, 6) / 1.25) * 15 == pytest.approx(LEVEL)


def test_ties_come_strongest_first_and_name_each_set_once():
    codes, _ = shapes([("checkerboard", 3), ("checkerboard", 4), ("ring", 2)])
    found = ties(codes)
    strengths = [tie.strength for tie in found]
    assert strengths == sorted(strengths, reverse=True)
    members = [tie.members for tie in found]
    assert len(set(members)) == len(members)
    assert all(tuple(sorted(each)) == each for each in members)
    assert {(0, 1, 2), (3, 4, 5, 6), (7, 8)} <= set(members)
    assert len(ties(codes, least=0.5)) >= len(found)


def test_what_ties_join():
    weak, strong = threshold(2, 5) + 0.1, 3 * threshold(2, 5)
    found = [Tie((1, 4), strong), Tie((0, 2), weak), Tie((2, 3), weak)]
    assert grouped(found, 5) == ((0, 2, 3), (1, 4))
    assert grouped(found, 5, 2.0) == ((0,), (1, 4), (2,), (3,))
    assert grouped([], 2) == ((0,), (1,))
    assert pairs_of(((0, 2), (1,), (3,))) == [(0, 1), (0, 3), (1, 2), (1, 3), (2, 3)]


@pytest.mark.parametrize("seed", range(6))
def test_added_noise_makes_noise_independent(seed):
    rng = np.random.default_rng(seed)
    factor = rng.standard_normal((5, 5 if seed % 2 else 2))
    noise = factor @ factor.T
    more = added_noise(noise)
    whole = noise + more @ more.T
    np.testing.assert_allclose(whole, np.diag(np.diag(whole)), atol=1e-9)
    assert (np.diag(whole) >= np.diag(noise) - 1e-12).all()
    assert np.trace(whole) <= np.abs(noise).sum() + 1e-9  # Gershgorin's is always possible
    np.testing.assert_allclose(added_noise(np.diag([1.0, 2.0, 0.5])), 0, atol=1e-7)


def test_noise_that_groups_share_ties_nothing_where_it_is_known():
    """Two rings and a square, seen with noise that all of them share."""
    codes, true = shapes([("ring", 2), ("ring", 2), ("uniform", 1)], n=4000)
    rng = np.random.default_rng(5)
    shared = 0.35 * np.array([[1.0, 0.3, 1.0, 0.3, 0.6]]).T
    noise = shared @ shared.T + 0.01 * np.eye(5)
    seen = codes / codes.std(0) + rng.multivariate_normal(np.zeros(5), noise, len(codes))
    assert free_groups(seen) != true
    assert free_groups(seen, noise) == true
    assert free_groups(seen, noise, seed=1) == true


def test_few_rows_and_single_columns():
    with pytest.raises(ValueError, match="at least 60 rows"):
        free_groups(np.zeros((10, 2)))
    assert free_groups(np.zeros((100, 1))) == ((0,),)
    assert free_groups(np.zeros((100, 3))) == ((0,), (1,), (2,))


def test_equal_values_tie_nothing_by_the_order_of_their_rows():
    rng = np.random.default_rng(6)
    coins = rng.integers(0, 2, (2000, 4)).astype(float)
    assert free_groups(coins) == ((0,), (1,), (2,), (3,))
    coins[:, 3] = (coins[:, 0] + coins[:, 1]) % 2  # what two do not show, three do
    assert free_groups(coins) == ((0, 1, 3), (2,))


def test_of_many_coordinates_four_at_a_time_are_not_looked_at():
    rng = np.random.default_rng(7)
    codes = rng.standard_normal((500, 26))
    assert _means(codes)[2].size == 0
    codes[:, 25] = np.square(codes[:, 3]) + 0.1 * codes[:, 25]
    assert free_groups(codes) == (*((k,) for k in range(3)), (3, 25), *((k,) for k in range(4, 25)))
