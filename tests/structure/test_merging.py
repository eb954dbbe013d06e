import numpy as np
import pytest
from scipy.stats import gamma, kstest, norm, pearson3, t

from partita.structure import discover_groups
from partita.structure.merging import Splitter, exceedance

NULLS = {
    "gaussian": lambda rng, shape: rng.standard_normal(shape),
    "skewed": lambda rng, shape: rng.exponential(1, shape),
    "two values, a little blurred": lambda rng, shape: (
        rng.choice([-1.0, 1.0], shape) + 0.05 * rng.standard_normal(shape)
    ),
}


@pytest.mark.parametrize("kind", NULLS)
def test_p_values_of_independent_latents_are_uniform(kind):
    """One pair is one test; refused or, one time in a hundred, accepted."""
    p_values = []
    for seed in range(200):
        found = discover_groups(NULLS[kind](np.random.default_rng([11, seed]), (150, 2)), unmix=False)
        p_values += [merge.p_value for merge in (*found.merges, found.refused) if merge is not None]
    assert len(p_values) == 200
    assert kstest(p_values, "uniform").pvalue > 0.05
    assert np.mean(np.array(p_values) < 0.01) <= 0.03


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("members", [((0,), (1,)), ((0, 1), (2,)), ((0,), (1,), (2,))])
def test_p_values_are_right_in_the_tail_too(members):
    """With a normal null from eight draws 0.008 of all p-values were below 0.0017."""
    p_values = []
    for seed in range(4500):
        rng = np.random.default_rng([12, seed])
        x = list(NULLS.values())[seed % 3](rng, (150, 3))
        p_values.append(Splitter(x, x, rng, 0.01, 0.02).test(members, members, 1).p_value)
    assert kstest(p_values, "uniform").statistic < 0.03
    for level in (0.01, 0.0017):
        assert np.mean(np.array(p_values) < level) < 2 * level


@pytest.mark.parametrize("shape", [44.0, 16.0])
def test_rounds_of_draws_keep_the_level(shape):
    """Any null of skewness 2 / sqrt(shape): nearest neighbours have 0.3. Eight draws and a normal null were wrong by a
    factor of 2.5 and of 5 at the level of six pairs."""
    rng = np.random.default_rng(13)
    rows, members = np.zeros((1, 2)), ((0,), (1,))
    p_values = np.array(
        [
            Splitter(rows, rows, rng, 0.01, 0.02, lambda y, members: rng.gamma(shape)).test(members, members, 6).p_value
            for _ in range(5000)
        ]
    )
    assert kstest(p_values, "uniform").statistic < 0.03
    for level in (0.01, 0.01 / 6):
        assert np.mean(p_values < level) < 1.6 * level


def test_many_draws_of_a_skewed_null_give_its_own_tail():
    null = gamma(4).rvs(200_000, random_state=np.random.default_rng(0))  # skewness 1
    for value in (4.0, 8.0, 12.0, 16.0):
        assert exceedance(value, null) == pytest.approx(gamma(4).sf(value), rel=0.25)
    assert norm.sf((16.0 - 4) / 2) < 0.01 * gamma(4).sf(16.0)


def test_few_draws_are_paid_for():
    """Draws symmetric about 0 count as of skewness 0.2: the normal score of a Pearson III tail, predicted by t."""
    null = np.array([-1.5, -1.0, -0.5, 0.5, 1.0, 1.5])
    for value in (-1.0, 1.0, 3.0, 5.0):
        score = norm.isf(pearson3(0.2).sf(value / null.std(ddof=1)))
        assert exceedance(value, null) == pytest.approx(t(5).sf(score / np.sqrt(1 + 1 / 6)), rel=0.01)
    assert exceedance(0.0, np.zeros(12)) == pytest.approx(0.5, abs=0.03)
    assert exceedance(1.0, np.zeros(12)) < 1e-10
    assert exceedance(-1.0, np.zeros(12)) > 0.9
