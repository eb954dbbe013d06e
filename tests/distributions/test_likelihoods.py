import numpy as np
import pytest
import scipy.stats
import torch

import partita as pt
from partita.distributions import LIKELIHOODS, as_likelihood


@pytest.mark.parametrize("log_dispersion", [3.0, 0.0, -4.0, -4.7, -9.0, -25.0])
def test_a_negative_binomial_stays_exact_on_its_way_to_poisson(log_dispersion):
    """Where the dispersion goes to 0, float32 would subtract logarithms of huge gamma functions."""
    log_mean, x = torch.meshgrid(torch.linspace(-3, 5, 9), torch.arange(0.0, 300, 7), indexing="ij")
    family = LIKELIHOODS["negative_binomial"]
    found = family.log_density(x, log_mean, torch.tensor(log_dispersion))
    mean, dispersion = log_mean.double().exp().numpy(), np.exp(log_dispersion)
    expected = scipy.stats.nbinom.logpmf(x, 1 / dispersion, 1 / (1 + dispersion * mean))
    if log_dispersion < -20:
        expected = scipy.stats.poisson.logpmf(x, mean)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=2e-4)
    exact = family.log_density(x.double(), log_mean.double(), torch.tensor(log_dispersion, dtype=torch.float64))
    np.testing.assert_allclose(exact, expected, rtol=1e-5 if log_dispersion < -20 else 1e-10)


def test_the_dispersion_of_counts_is_learned():
    """A rate of 5 that nothing explains, with a dispersion of 0.5: a variance of 17.5."""
    x = np.random.default_rng(0).negative_binomial(2, 2 / 7, (1000, 3)).astype(np.float32)
    settings = {"latents": 1, "network": "linear", "steps": 300, "learning_rate": 3e-2, "device": "cpu"}
    models = {
        name: pt.Disentangler("vae", likelihood=name, **settings).fit(x) for name in ("poisson", "negative_binomial")
    }
    learned = models["negative_binomial"].parameters_["decoder.log_dispersion"].exp()
    np.testing.assert_allclose(learned.flatten(), 0.5, rtol=0.25)
    assert models["negative_binomial"].score(x) > models["poisson"].score(x) + 0.5
    assert models["negative_binomial"].sample(500).mean() == pytest.approx(5, rel=0.2)


def test_names_mean_families():
    assert as_likelihood("gaussian:learned") is LIKELIHOODS["gaussian"]
    assert as_likelihood("gaussian:0.25").name == "gaussian:0.25"
    assert as_likelihood(LIKELIHOODS["poisson"]) is LIKELIHOODS["poisson"]
    for unknown in ("cauchy", "gaussian:", "gaussian:-1", "gaussian:inf", "poisson:2", "bernoulli:", ""):
        with pytest.raises(ValueError, match=f"unknown likelihood '{unknown}': give bernoulli"):
            as_likelihood(unknown)


def test_bytes_are_no_counts_and_the_message_says_what_to_do():
    x = np.random.default_rng(0).integers(0, 9, (50, 4)).astype(np.uint8)
    with pytest.raises(ValueError, match="bytes, which are scaled .* as numbers of another type"):
        pt.Disentangler("vae", latents=2, likelihood="poisson").fit(x)


@pytest.mark.parametrize("name", ["poisson", "negative_binomial"])
def test_counts_that_span_decades_are_learned_as_they_are(name):
    """From 0 to more than 1,000: an encoder shown them raw would end in no numbers, or fit the largest alone."""
    rng = np.random.default_rng(1)
    log_mean = rng.normal(size=(500, 2)) @ rng.normal(size=(2, 12)) + 2
    x = rng.poisson(np.exp(log_mean)).astype(np.float32)
    model = pt.Disentangler("vae", latents=2, likelihood=name, steps=300, network="mlp", device="cpu").fit(x)
    decoded = np.log(model.inverse_transform(model.transform(x)))
    assert x.max() > 1000
    assert np.corrcoef(decoded.ravel(), log_mean.ravel())[0, 1] > 0.9
