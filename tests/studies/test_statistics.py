"""Every statistic of a comparison against brute force, or a published value."""

from itertools import combinations, product

import numpy as np
import pytest
from scipy import stats

from partita.studies._statistics import (
    bootstrapped,
    critical_difference,
    equivalence,
    holm,
    interquartile_mean,
    ranked,
    share,
    signed_ranks,
    smallest_p,
)

RNG = np.random.default_rng(0)

# Demšar 2006, table 6: AUC of C4.5, C4.5+m, C4.5+cf and C4.5+m+cf on 14 data sets. (Two of "voting", the row before
# the last, are printed as 0.975 and ranked 2 and 3.)
DEMSAR = np.array([
    [0.763, 0.768, 0.771, 0.798], [0.599, 0.591, 0.590, 0.569], [0.954, 0.971, 0.968, 0.967],
    [0.628, 0.661, 0.654, 0.657], [0.882, 0.888, 0.886, 0.898], [0.936, 0.931, 0.916, 0.931],
    [0.661, 0.668, 0.609, 0.685], [0.583, 0.583, 0.563, 0.625], [0.775, 0.838, 0.866, 0.875],
    [1.000, 1.000, 1.000, 1.000], [0.940, 0.962, 0.965, 0.962], [0.619, 0.666, 0.614, 0.669],
    [0.972, 0.981, 0.9751, 0.975], [0.957, 0.978, 0.946, 0.970],
])  # fmt: skip


def test_holm_as_by_hand():
    # sorted: 0.005 x 4, 0.01 x 3, 0.03 x 2, then 0.04 x 1, which may not fall below the one before
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.6, 0.7]) == [1.0, 1.0]
    assert holm([0.02]) == [0.02]


def test_holm_rejects_what_its_definition_does():
    for _ in range(20):
        p = RNG.random(6) ** 3
        order, rejected = np.argsort(p), set()
        for place, i in enumerate(order):
            if p[i] > 0.05 / (6 - place):
                break
            rejected.add(int(i))
        assert {i for i, adjusted in enumerate(holm(p)) if adjusted <= 0.05} == rejected


@pytest.mark.parametrize("d", [
    RNG.normal(0.3, 1, 8), RNG.normal(0, 1, 5), np.array([1.0, 1.0, -1.0, 2.0, 3.0, 3.0]),
    np.array([0.0, 0.5, 0.5, -0.2, 0.0, 0.9, 1.1]), np.array([0.4, 0.1]), np.array([0.7]),
], ids=["plain", "few", "ties", "zeros", "two", "one"])  # fmt: skip
def test_signed_ranks_by_all_signs(d):
    kept = d[d != 0]
    ranks = stats.rankdata(np.abs(kept))
    centre = ranks.sum() / 2
    observed = abs(ranks[kept > 0].sum() - centre)
    sums = [abs(ranks[np.array(signs)].sum() - centre) for signs in product([False, True], repeat=len(kept))]
    assert signed_ranks(d) == pytest.approx(np.mean(np.array(sums) >= observed - 1e-12))


def test_signed_ranks_by_permutation():
    a, b = RNG.normal(0.5, 1, 9), RNG.normal(0, 1, 9)

    def statistic(x, y):
        d = x - y
        return (np.sign(d) * stats.rankdata(np.abs(d))).sum()

    exact = stats.permutation_test((a, b), statistic, permutation_type="samples", n_resamples=np.inf, vectorized=False)
    assert signed_ranks(a - b) == pytest.approx(exact.pvalue)


def test_signed_ranks_of_nothing_and_of_many():
    assert signed_ranks([0.0, 0.0, 0.0]) == 1.0
    many = np.round(RNG.normal(0.2, 1, 60), 1)
    assert signed_ranks(many) == pytest.approx(stats.wilcoxon(many, method="asymptotic").pvalue)
    assert signed_ranks([0.1, 0.2, 0.3, 0.4, 0.5, 0.6]) == smallest_p(6) == 0.03125


def test_equivalence_is_the_90_percent_interval_within_the_margin():
    for _ in range(30):
        d = RNG.normal(RNG.normal(0, 0.05), 0.1, RNG.integers(3, 12))
        half = stats.t.ppf(0.95, len(d) - 1) * d.std(ddof=1) / np.sqrt(len(d))
        within = d.mean() - half > -0.1 and d.mean() + half < 0.1
        assert (equivalence(d, 0.1) < 0.05) == within


def test_equivalence_by_its_formula():
    d = np.array([0.02, -0.01, 0.03, 0.01, 0.0])
    error = d.std(ddof=1) / np.sqrt(5)
    expected = max(stats.t.sf((d.mean() + 0.05) / error, 4), stats.t.cdf((d.mean() - 0.05) / error, 4))
    assert equivalence(d, 0.05) == pytest.approx(expected)
    assert equivalence([0.01], 0.05) is None
    assert equivalence([0.01, 0.01], 0.05) == 0.0
    assert equivalence([0.05, 0.05], 0.05) == 1.0


def test_interquartile_mean_is_that_of_the_middle_half():
    assert interquartile_mean(np.array([9.0, 1, 2, 100, 3, 4, 5, -50])) == np.mean([2, 3, 4, 5])
    assert interquartile_mean(np.array([1.0, 2, 3, 100])) == 2.5


@pytest.mark.parametrize("statistic", [np.mean, interquartile_mean], ids=["mean", "iqm"])
def test_bootstrap_interval_as_by_its_formula(statistic):
    """Efron's BCa, written out: bias from the share of resamples below, acceleration from the jackknife."""
    x = RNG.gamma(2.0, 1.0, 12)
    found = bootstrapped(x, statistic)
    draws = statistic(x[np.random.default_rng(5).integers(12, size=(40_000, 12))], axis=1)
    value = statistic(x)
    bias = stats.norm.ppf(((draws < value).mean() + (draws <= value).mean()) / 2)
    jackknife = np.array([statistic(np.delete(x, i)) for i in range(12)])
    distance = jackknife.mean() - jackknife
    acceleration = (distance**3).sum() / (6 * (distance**2).sum() ** 1.5)
    ends = []
    for z in stats.norm.ppf([0.025, 0.975]):
        ends.append(np.quantile(draws, stats.norm.cdf(bias + (bias + z) / (1 - acceleration * (bias + z)))))
    assert found.value == value
    width = ends[1] - ends[0]
    assert [found.low, found.high] == pytest.approx(ends, abs=0.06 * width)


def test_bootstrap_of_one_and_of_equal_values():
    assert bootstrapped([0.4]).low is None
    alike = bootstrapped([0.4, 0.4, 0.4])
    assert alike.low == alike.high == alike.value == pytest.approx(0.4)
    two = bootstrapped([0.0, 1.0])
    assert 0 <= two.low < two.high <= 1


@pytest.mark.parametrize(("k", "n", "low", "high"), [
    (81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718),
])  # fmt: skip
def test_shares_as_newcombe_published_them(k, n, low, high):
    """Newcombe 1998, table I, method 3."""
    found = share(k, n)
    assert (found.low, found.high) == pytest.approx((low, high), abs=6e-5)


def test_critical_differences_as_demsar_published_them():
    """Demšar 2006, table 5: q at 0.05 for 2 to 10 classifiers; the critical difference of 4 on 14 data sets is 1.25."""
    q = [1.960, 2.343, 2.569, 2.728, 2.850, 2.949, 3.031, 3.102, 3.164]
    found = [critical_difference(k, 1) / np.sqrt(k * (k + 1) / 6) for k in range(2, 11)]
    assert found == pytest.approx(q, abs=1e-3)
    assert critical_difference(4, 14) == pytest.approx(1.25, abs=0.005)


def test_ranks_as_demsar_published_them():
    """Mean ranks 3.143, 2.000, 2.893 and 1.964 in table 6; the test says that they differ (chi2 9.28, p 0.026)."""
    found = ranked(DEMSAR)
    assert found.ranks == pytest.approx([3.143, 2.000, 2.893, 1.964], abs=5e-4)
    assert found.friedman is not None
    assert found.friedman < 0.026
    assert found.blocks == 14
    assert ranked(-DEMSAR, lower=True).ranks == found.ranks


def test_what_is_alike_by_looking_at_every_set():
    for _ in range(20):
        values = RNG.normal(0, 1, (5, 5)) + np.arange(5) * RNG.random() * 2
        found = ranked(values)
        within = [
            set(some)
            for size in range(2, 6)
            for some in combinations(range(5), size)
            if max(found.ranks[i] for i in some) - min(found.ranks[i] for i in some) < found.critical
        ]
        largest = [some for some in within if not any(some < other for other in within)]
        assert sorted(map(sorted, found.alike)) == sorted(map(sorted, largest))


def test_two_contenders_and_no_differences():
    assert ranked(np.array([[1.0, 2.0], [1.0, 3.0]])).friedman is None
    level = ranked(np.ones((4, 3)))
    assert level.ranks == (2.0, 2.0, 2.0)
    assert level.friedman == 1.0
