"""The ELBO of models with labels against log p(x) in closed form: linear Gaussian models with exact encoders."""

from typing import NamedTuple

import numpy as np
import pytest
import torch
from scipy.stats import norm

from partita.recipes import RECIPES
from partita.training import Model
from partita.training.ensemble import initial_parameters

# x = W z + C + noise; iVAE's prior is z = A u + B + S noise; IDVAE's labels are u = l z + 1/2 + noise of variance v.
W, C, A, B, S = 0.8, -0.3, 2.5, -1.0, 0.6
WIDE, NARROW = (0.3, 0.02), (0.05, 0.001)  # (l, v)
NOISE = 0.25
DRAWS = 40000
SLOPE = 1.2  # leaky(u) - leaky(-u) = (1 + 0.2) u


class Truth(NamedTuple):
    model: Model
    log_px: float
    log_posterior: np.ndarray  # log p(u|x) on U


Y = np.linspace(-14, 14, 20001)
U = 1 / (1 + np.exp(-Y))
HERE = 0.7


def predicted(location, width):
    """The predictor as a line through HERE in x, and log q(u|x) on U."""
    log_q = norm.logpdf(Y, location, width) - np.log(U * (1 - U))
    raw = np.log(np.expm1(2 * np.log(width) + 6)) - 6  # the network adds softplus(raw + 6) to -6
    return {"weight": [[0.0], [0.0]], "bias": [location, raw]}, log_q


def linear_prior(slope, at_zero, variance):
    return {
        "prior.body.0.weight": [[1.0], [-1.0]],
        "prior.body.0.bias": [0.0, 0.0],
        "prior.body.2.weight": [[slope / SLOPE, -slope / SLOPE], [0.0, 0.0]],
        "prior.body.2.bias": [at_zero, np.log(variance)],
    }


def made(method, prior, predictor, others, options):
    """The model with an exact encoder: q(z|x,u) = p(z|x,u) of the prior (slope, at_zero, variance)."""
    slope, at_zero, variance = prior
    precision = 1 / variance + W**2 / NOISE
    numbers = {
        "encoder.body.1.weight": [[W / NOISE / precision, slope / variance / precision], [0.0, 0.0]],
        "encoder.body.1.bias": [(at_zero / variance - W * C / NOISE) / precision, -np.log(precision)],
        "decoder.body.0.weight": [[W]],
        "decoder.body.0.bias": [C],
        **linear_prior(*prior),
        **{f"predictor.body.1.{name}": value for name, value in predictor.items()},
        **others,
    }
    recipe = RECIPES[method](
        latents=1, shape=(1,), network="linear", likelihood=f"gaussian:{NOISE}", labels=1, prior_width=2, prior_depth=1,
        **options,
    )  # fmt: skip
    initial = initial_parameters(recipe, 0)
    assert set(numbers) == set(initial)
    parameters = {name: torch.tensor(numbers[name]).view_as(value) for name, value in initial.items()}
    return Model(recipe, parameters, dtype=torch.float64)


def with_uniform_labels(method, predictor):
    model = made(method, (A, B, S**2), predictor, {}, {})
    deviation = np.sqrt(W**2 * S**2 + NOISE)
    likelihood = norm.logpdf(HERE, W * (A * U + B) + C, deviation)
    low, high = ((HERE - C - W * (A * u + B)) / deviation for u in (1, 0))
    log_px = np.log((norm.cdf(high) - norm.cdf(low)) / (W * A))
    return Truth(model, log_px, likelihood - log_px)


def with_decoded_labels(method, predictor, labels=WIDE):
    slope, variance = labels
    precision = 1 + slope**2 / variance
    prior = (slope / variance / precision, -0.5 * slope / variance / precision, 1 / precision)
    decoder = {
        "label_decoder.body.0.weight": [[1.0], [-1.0]],
        "label_decoder.body.0.bias": [0.0, 0.0],
        "label_decoder.body.2.weight": [[slope / SLOPE, -slope / SLOPE]],
        "label_decoder.body.2.bias": [0.5],
    }
    model = made(method, prior, predictor, decoder, {"u_decoder_var": variance})
    mean, deviation = labels_given_x(labels)
    return Truth(model, norm.logpdf(HERE, C, np.sqrt(W**2 + NOISE)), norm.logpdf(U, mean, deviation))


def labels_given_x(labels):
    """Mean and deviation of p(u|x), a Gaussian."""
    slope, variance = labels
    explained = slope * W / (W**2 + NOISE)
    return 0.5 + explained * (HERE - C), np.sqrt(slope**2 + variance - explained * slope * W)


TRUTHS = {
    "ivae": with_uniform_labels,
    "ss_ivae": with_uniform_labels,
    "idvae": with_decoded_labels,
    "ss_idvae": with_decoded_labels,
}


def elbo(model):
    found = -np.add(*model.bound(np.full((DRAWS, 1), HERE)))
    return found.mean(), found.std() / np.sqrt(DRAWS)


@pytest.mark.parametrize("method", TRUTHS)
@pytest.mark.parametrize(("location", "width"), [(0.4, 0.8), (-2.0, 0.3), (1.5, 2.0)])
def test_the_elbo_misses_log_px_by_what_the_predictor_misses(method, location, width):
    """With q(z|x,u) exact, log p(x) - ELBO = KL(q(u|x) || p(u|x)), which is never negative."""
    predictor, log_q = predicted(location, width)
    model, log_px, log_posterior = TRUTHS[method](method, predictor)
    density = norm.pdf(Y, location, width)
    gap = np.trapezoid(density * (log_q - log_posterior), Y)
    assert gap > 0
    value, error = elbo(model)
    assert value == pytest.approx(log_px - gap, abs=5 * error)
    assert value < log_px


@pytest.mark.parametrize("method", ["idvae", "ss_idvae"])
def test_where_the_predictor_is_all_but_exact_the_elbo_is_log_px(method):
    """p(u|x) is narrow and far from 0 and 1 here, so that a logit-normal density is all but the same."""
    mean, deviation = labels_given_x(NARROW)
    predictor, _ = predicted(np.log(mean / (1 - mean)), deviation / (mean * (1 - mean)))
    truth = with_decoded_labels(method, predictor, NARROW)
    value, error = elbo(truth.model)
    assert value == pytest.approx(truth.log_px, abs=0.01 + 5 * error)


@pytest.mark.parametrize("method", TRUTHS)
def test_with_labels_given_the_bound_is_that_on_log_p_of_x_given_u(method):
    """Exact encoders: log p(x|u) itself, whatever the predictor says."""
    model = TRUTHS[method](method, predicted(5.0, 0.1)[0]).model
    (mean,), (log_variance,) = model.prior(np.array([[0.3]]))
    deviation = np.sqrt(W**2 * np.exp(log_variance) + NOISE)
    recon, kl = model.bound(np.full((DRAWS, 1), HERE), u=np.full((DRAWS, 1), 0.3))
    found = -(recon + kl)
    wanted = norm.logpdf(HERE, W * mean + C, deviation).item()
    assert found.mean() == pytest.approx(wanted, abs=5 * found.std() / np.sqrt(DRAWS))


def test_the_prior_at_labels_is_the_network():
    model = TRUTHS["ivae"]("ivae", predicted(0.0, 1.0)[0]).model
    u = np.linspace(0, 1, 5000)[:, None]  # more than one pass
    mean, log_variance = model.prior(u)
    np.testing.assert_allclose(mean, A * u + B, atol=1e-6)
    np.testing.assert_allclose(log_variance, 2 * np.log(S), atol=1e-6)
    plain = RECIPES["vae"](latents=1, shape=(1,), network="linear", likelihood="gaussian")
    with pytest.raises(ValueError, match=r"there is no p\(z\|u\)"):
        Model(plain, initial_parameters(plain, 0)).prior(u)
