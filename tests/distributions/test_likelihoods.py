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
    assert as_likelihood("student:4").name == "student:4"
    assert as_likelihood("categorical:3,4,2").name == "categorical:3,4,2"
    unknown_ones = ("cauchy", "gaussian:", "gaussian:-1", "gaussian:inf", "poisson:2", "bernoulli:", "")
    of_these = ("student:1", "student:x", "categorical:3,1", "categorical:", "categorical:a", "negative_binomial:0")
    for unknown in unknown_ones + of_these:
        with pytest.raises(ValueError, match=f"unknown likelihood '{unknown}': give bernoulli"):
            as_likelihood(unknown)


def test_images_in_bytes_are_no_counts_and_the_message_says_what_to_do():
    x = np.random.default_rng(0).integers(0, 9, (50, 1, 8, 8)).astype(np.uint8)
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


def test_counts_in_bytes_are_counts():
    x = np.random.default_rng(0).poisson(3.0, (60, 4)).astype(np.uint8)
    model = pt.Disentangler("vae", latents=2, steps=2, device="cpu").fit(x)
    assert model.likelihood_.startswith("negative_binomial")
    assert model.network_ == "nearly_linear"
    assert model.inverse_transform(model.transform(x)).mean() == pytest.approx(3, rel=0.2)


def test_a_student_model_does_not_follow_outliers():
    """One value in fifty is off by ten: a Gaussian of one variance goes after them."""
    rng = np.random.default_rng(0)
    clean = rng.normal(size=(500, 1)) @ rng.normal(size=(1, 10)) + 0.1 * rng.normal(size=(500, 10))
    x = clean + 10 * (rng.random(clean.shape) < 0.02)
    settings = {"latents": 1, "network": "linear", "steps": 600, "learning_rate": 1e-2, "device": "cpu"}
    error = {}
    for name in ("student", "gaussian"):
        model = pt.Disentangler("vae", likelihood=name, scale="none", **settings).fit(x)
        error[name] = np.square(model.inverse_transform(model.transform(clean)) - clean).mean() / clean.var()
    assert error["student"] < 0.2 * error["gaussian"]
    assert error["student"] < 0.02


def test_a_table_of_classes_is_learned():
    """Three questions that one thing decides."""
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 2, 400)
    answers = [np.where(rng.random(400) < 0.95, kind * (size - 1), rng.integers(0, size, 400)) for size in (3, 4, 2)]
    x = np.concatenate([np.eye(size)[answer] for size, answer in zip((3, 4, 2), answers)], 1)
    settings = {"latents": 1, "likelihood": "categorical:3,4,2", "device": "cpu"}
    model = pt.Disentangler("vae", steps=300, learning_rate=1e-2, **settings).fit(x)
    decoded = model.inverse_transform(model.transform(x))
    np.testing.assert_allclose(decoded[:, :3].sum(1), 1, rtol=1e-5)
    assert (decoded[:, 3:7].argmax(1) == answers[1]).mean() > 0.9
    with pytest.raises(ValueError, match="blocks of 3, 4, 2 are 9 columns, and the data have 8"):
        pt.Disentangler("vae", **settings).fit(x[:, 1:])
    x[7, :3] = 1
    with pytest.raises(ValueError, match="'categorical:3,4,2' takes one-hot blocks"):
        pt.Disentangler("vae", **settings).fit(x)
