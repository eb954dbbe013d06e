"""Moments of a batch of posteriors, against numpy."""

import numpy as np
import pytest
import torch

from partita.distributions import STANDARD_NORMAL, DiagonalNormal, EquicorrelatedNormal
from partita.measures.moments import covariance_of_means, covariance_of_samples, posterior_variance
from partita.trace import Batch, Trace


def trace_of(q):
    return Trace(Batch(q.mean, 100), {}, {}, {}, q, q.mean, STANDARD_NORMAL)


def posteriors(log_sd=-0.5):
    generator = torch.Generator().manual_seed(0)
    mean, spread = torch.randn(2, 12, 4, generator=generator, dtype=torch.float64)
    return DiagonalNormal(mean @ torch.randn(4, 4, generator=generator, dtype=torch.float64), spread + 2 * log_sd)


def distance(covariance):
    off = covariance - np.diag(np.diag(covariance))
    return {"off_diagonal": (off**2).sum(), "diagonal": ((np.diag(covariance) - 1) ** 2).sum()}


def test_dip_covariances_are_numpys():
    q = posteriors()
    of_means = np.cov(q.mean.numpy().T, bias=True)
    of_samples = of_means + np.diag(q.log_variance.exp().mean(0).numpy())
    for measure, covariance in ((covariance_of_means, of_means), (covariance_of_samples, of_samples)):
        found = {name: value.item() for name, value in measure(trace_of(q)).items()}
        assert found == pytest.approx(distance(covariance), rel=1e-12)


def test_a_correlated_posterior_adds_its_whole_covariance():
    plain = posteriors()
    q = EquicorrelatedNormal(plain.mean, plain.log_variance, 0.6)
    covariance = np.cov(q.mean.numpy().T, bias=True) + q.covariance.mean(0).numpy()
    found = {name: value.item() for name, value in covariance_of_samples(trace_of(q)).items()}
    assert found == pytest.approx(distance(covariance), rel=1e-12)


def test_x21_narrow_posteriors_make_the_two_kinds_one():
    trace = trace_of(posteriors(log_sd=-20.0))
    one, two = covariance_of_means(trace), covariance_of_samples(trace)
    for name in one:
        torch.testing.assert_close(one[name], two[name], rtol=1e-12, atol=0)


def test_x15_the_variance_penalty_and_its_gradient():
    q = posteriors()
    log_variance = q.log_variance.clone().requires_grad_()
    found = posterior_variance(trace_of(DiagonalNormal(q.mean, log_variance)))["posterior_variance"]
    assert found.item() == pytest.approx(q.log_variance.exp().sum(1).mean().item())
    (gradient,) = torch.autograd.grad(found, log_variance)
    torch.testing.assert_close(gradient * len(log_variance), log_variance.exp())


@pytest.mark.parametrize("eta", [0.0, 10.0, 50.0])
def test_x15_a_latent_nobody_decodes_settles_at_the_ceiling(eta):
    """KL + eta * variance is least at variance 1 / (1 + 2 eta), for log(1 + 2 eta) / 2 nats in all."""
    log_variance = torch.linspace(-6, 1, 70001, dtype=torch.float64).unsqueeze(1)
    q = DiagonalNormal(torch.zeros_like(log_variance), log_variance)
    price = q.kl_to() + eta * log_variance.exp().squeeze(1)
    least = price.argmin()
    assert log_variance[least].exp().item() == pytest.approx(1 / (1 + 2 * eta), rel=1e-4)
    assert price[least].item() == pytest.approx(0.5 * np.log1p(2 * eta), abs=1e-8)
