"""Disintegration and omniscience."""

import numpy as np
import pytest

from partita.structure import disintegration, latent_report, omniscient


def test_a_factor_split_over_independent_latents_is_disintegrated():
    rng = np.random.default_rng(0)
    high, low, other = (rng.integers(0, 4, 4000) for _ in range(3))
    factors = np.stack([4 * high + low, other], 1)
    codes = np.stack([high, low, other, rng.standard_normal(4000)], 1) + 0.1 * rng.standard_normal((4000, 4))
    split, whole = disintegration(codes, factors)
    assert split.disintegrated
    assert set(split.latents) == {0, 1}
    assert split.information[:2] == pytest.approx([0.5, 0.5], abs=0.05)
    assert not whole.disintegrated
    assert whole.latents == (2,)
    assert whole.gap > 0.9


def test_copies_of_one_latent_are_not_disintegration():
    rng = np.random.default_rng(1)
    factor = rng.integers(0, 6, 3000)
    copy = factor + 0.05 * rng.standard_normal(3000)
    (found,) = disintegration(np.stack([copy, copy + 0.01 * rng.standard_normal(3000)], 1), factor[:, None])
    assert found.dependence > 1
    assert not found.disintegrated


def test_real_factors_one_latent_and_constant_factors():
    rng = np.random.default_rng(2)
    real = rng.uniform(size=(500, 1))
    (found,) = disintegration(real, real)
    assert found.latents == (0,)
    assert np.isnan(found.dependence)
    (nothing,) = disintegration(rng.standard_normal((500, 2)), np.ones((500, 1)))
    assert nothing.latents == ()
    assert not nothing.disintegrated


def test_entropy_of_latents_is_that_of_their_gaussian_marginals():
    rng = np.random.default_rng(3)
    n = 3000
    mean = np.stack([np.sqrt(0.75) * rng.standard_normal(n), np.zeros(n), np.zeros(n)], 1)
    log_variance = np.log(np.array([[0.25, 1.0, 0.01]]).repeat(n, 0))
    report = latent_report(mean, log_variance)
    expected = 0.5 * np.log(2 * np.pi * np.e * np.array([1.0, 1.0, 0.01]))
    assert report.entropy == pytest.approx(expected, abs=0.05)
    assert report.variance == pytest.approx([1.0, 1.0, 0.01], abs=0.05)
    assert report.information == pytest.approx([0.5 * np.log(4), 0, 0], abs=0.05)
    assert report.kl[1] == pytest.approx(0)
    assert omniscient(mean, log_variance).tolist() == [2]


def test_several_models_must_agree_on_an_omniscient_latent():
    narrow, wide = np.full((50, 1), np.log(1e-4)), np.zeros((50, 1))
    mean = np.zeros((50, 1))
    assert omniscient([mean] * 3, [narrow] * 3).tolist() == [0]
    assert omniscient([mean] * 3, [narrow, narrow, wide]).tolist() == []
    assert omniscient(np.zeros((3, 50, 1)), np.stack([narrow, narrow, wide]), delta=0.4).tolist() == [0]
    with pytest.raises(ValueError, match="they must agree"):
        omniscient(mean, np.zeros((50, 2)))
