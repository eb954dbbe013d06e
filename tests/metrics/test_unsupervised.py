"""Scores without factors: closed forms, nulls, agreement between models, posteriors."""

import numpy as np
import pytest
from scipy.linalg import sqrtm

from partita import metrics as m


def equicorrelated(n=20_000, latents=4, correlation=0.5, seed=0):
    rng = np.random.default_rng(seed)
    covariance = (1 - correlation) * np.eye(latents) + correlation
    return rng.multivariate_normal(np.zeros(latents), covariance, n)


def test_gaussian_tc_of_the_equicorrelated_gaussian():
    codes = equicorrelated()
    assert m.gaussian_tc(codes).value == pytest.approx(0.5816, abs=0.02)
    assert m.gaussian_tc(codes, groups=(2, 2)).value == pytest.approx(0.2939, abs=0.02)


def test_gaussian_tc_against_its_null_and_with_a_dead_latent():
    codes = np.concatenate([np.random.default_rng(1).standard_normal((5000, 10)), np.zeros((5000, 1))], 1)
    score = m.gaussian_tc(codes, draws=20)
    floor = 10 * 9 / (4 * 5000)
    assert score.parts["dropped"] == 1
    assert score.parts["null"] == pytest.approx(floor, rel=0.3)
    assert abs(score.parts["excess"]) < 5 * score.parts["null_sd"]
    assert m.gaussian_tc(codes[:, -1:]).value == 0.0


@pytest.mark.parametrize("groups", [None, (2, 2)])
def test_wasserstein_correlation_is_the_distance_to_the_independent_gaussian(groups):
    codes = equicorrelated(1000) * np.array([1.0, 2.0, 0.5, 1.0])
    covariance = np.cov(codes, rowvar=False)
    blocks = [[0], [1], [2], [3]] if groups is None else [[0, 1], [2, 3]]
    apart = np.zeros_like(covariance)
    for block in blocks:
        apart[np.ix_(block, block)] = covariance[np.ix_(block, block)]
    root = sqrtm(covariance)
    expected = np.trace(covariance + apart - 2 * sqrtm(root @ apart @ root)).real
    score = m.wasserstein_correlation(codes, groups=groups)
    assert score.value == pytest.approx(expected, abs=1e-8)
    assert score.parts["null"] < 0.1 * score.value


@pytest.mark.parametrize("by", ["lasso", "spearman"])
def test_udr_rewards_models_that_agree_up_to_order_and_sign(by):
    rng = np.random.default_rng(2)
    truth = rng.uniform(-1, 1, (1000, 4))
    same = [truth[:, rng.permutation(4)] * rng.choice([-1, 1], 4) for _ in range(4)]
    mixed = [truth @ np.linalg.qr(rng.standard_normal((4, 4)))[0] for _ in range(4)]
    agreeing, rotated = m.udr(same, by=by), m.udr(mixed, by=by)
    assert agreeing.value > 0.8
    assert rotated.value < agreeing.value - 0.2
    assert agreeing.parts["null"] < 0.1
    assert agreeing.parts["models"].shape == (4,)


def test_udr_drops_latents_without_kl_and_refuses_one_model():
    rng = np.random.default_rng(3)
    truth = rng.uniform(-1, 1, (500, 2))
    models = [np.concatenate([truth, rng.standard_normal((500, 2))], 1) for _ in range(3)]
    everything = m.udr(models)
    informed = m.udr(models, kl=np.tile([1.0, 1.0, 0.0, 0.0], (3, 1)))
    assert informed.value > everything.value
    for wrong in (models[0], [models[0]]):
        with pytest.raises(ValueError, match="at least two"):
            m.udr(wrong)
    with pytest.raises(ValueError, match="same rows"):
        m.udr([models[0], models[1][:-1]])
    with pytest.raises(ValueError, match="one number a latent"):
        m.udr(models, kl=[1.0, 2.0, 3.0])


def test_monte_carlo_tc_of_separate_components_is_its_upper_limit():
    mean = np.arange(64)[:, None] * np.ones(3) * 100.0
    score = m.monte_carlo_tc(mean, np.zeros((64, 3)), draws=2)
    assert score.value == pytest.approx(2 * np.log(64), abs=1e-6)
    # components stay apart after permuting, so the null is as large: nothing is known beyond it
    assert score.parts["excess"] == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize(("deviation", "expected"), [(0.1, 17.6), (0.3, 7.5), (0.7, 0.64)])
def test_monte_carlo_tc_of_independent_codes_is_far_from_zero(deviation, expected):
    rng = np.random.default_rng(4)
    width = np.sqrt(1 - deviation**2)  # so that every code has unit variance
    values = [
        m.monte_carlo_tc(
            width * rng.standard_normal((64, 10)), np.full((64, 10), 2 * np.log(deviation)), seed=s, draws=2
        )
        for s in range(3)
    ]
    assert np.mean([score.value for score in values]) == pytest.approx(expected, rel=0.15)
    assert abs(np.mean([score.parts["excess"] for score in values])) < 0.1 * expected + 0.1


def test_activity_and_kl_of_latents():
    rng = np.random.default_rng(5)
    mean = np.stack([rng.standard_normal(5000), np.zeros(5000)], 1)
    log_variance = np.stack([np.full(5000, -2.0), np.zeros(5000)], 1)
    score = m.latent_activity(mean, log_variance)
    rng_of_rows = np.random.default_rng(5)
    orders = [rng_of_rows.permutation(len(mean)) for _ in range(mean.shape[1])]
    moved = [np.stack([part[order, k] for k, order in enumerate(orders)], 1) for part in (mean, log_variance)]
    assert m.latent_activity(*moved).value == score.parts["null"] == score.value
    assert score.value == 1
    assert score.parts["active"].tolist() == [True, False]
    expected = 0.5 * ((mean[:, 0] ** 2).mean() + np.exp(-2.0) - 1 + 2.0)
    assert score.parts["kl"] == pytest.approx([expected, 0.0])


def test_exact_tc_and_its_null():
    rng = np.random.default_rng(6)
    shared = rng.standard_normal((600, 1))
    mean = np.concatenate([shared, shared, rng.standard_normal((600, 1))], 1)
    log_variance = np.full(mean.shape, 2 * np.log(0.5))
    score = m.exact_tc(mean, log_variance)
    # a Gaussian pair with correlation 1 / (1 + 0.25)
    assert score.parts["excess"] == pytest.approx(-0.5 * np.log(1 - 0.8**2), abs=0.1)
    apart = m.exact_tc(rng.standard_normal((600, 3)), log_variance)
    assert abs(apart.parts["excess"]) < 0.15
    grouped = m.exact_tc(mean, log_variance, groups=((0, 1), (2,)))
    assert abs(grouped.parts["excess"]) < 0.15
    with pytest.raises(ValueError, match="they must agree"):
        m.exact_tc(mean, log_variance[:, :2])


def test_mig_of_posteriors_separates_the_informative_latent():
    rng = np.random.default_rng(7)
    labels = rng.integers(0, 4, (400, 1))
    mean = np.concatenate([2.0 * labels, np.zeros((400, 1))], 1)
    log_variance = np.array([[2 * np.log(0.1), 0.0]]).repeat(400, 0)
    score = m.mig(mean, labels, protocol="chen-2018", log_variance=log_variance)
    assert score.value == pytest.approx(1, abs=0.02)
    with pytest.raises(ValueError, match="needs log_variance"):
        m.mig(mean, labels, protocol="chen-2018")
    with pytest.raises(ValueError, match="they must agree"):
        m.mig(mean, labels, protocol="chen-2018", log_variance=log_variance[:, :1])


def test_evaluate_adds_posterior_scores():
    rng = np.random.default_rng(8)
    labels = rng.integers(0, 3, (200, 2))
    codes = labels + 0.1 * rng.standard_normal((200, 2))
    names = set(m.evaluate(codes, None, log_variance=np.full((200, 2), -3.0)))
    assert names == {"gaussian_tc", "wasserstein_correlation", "exact_tc", "monte_carlo_tc", "latent_activity"}


@pytest.mark.parametrize(("metric", "n"), [(m.exact_tc, 300), (m.monte_carlo_tc, 64)])
def test_scores_of_posteriors_have_intervals_too(metric, n):
    rng = np.random.default_rng(7)
    mean, log_variance = rng.standard_normal((300, 2)), np.full((300, 2), -1.0)
    score = metric(mean, log_variance, interval=0.9, draws=0)
    assert score.interval[0] < score.value < score.interval[1]
    assert score.settings["level"] == 0.9
    assert score.n == n
