import numpy as np
import pytest
import torch
from scipy.integrate import quad
from torch.distributions import Normal, kl_divergence

from partita.distributions import DiagonalNormal, EquicorrelatedNormal
from partita.distributions.conditional import ConditionalNormal, LogitNormal

MEANS, LOG_VARIANCES = (-1.5, 0.0, 2.0), (-3.0, 0.0, 1.0)


def single(mean, log_variance):
    return LogitNormal(torch.tensor([[mean]], dtype=torch.float64), torch.tensor([[log_variance]], dtype=torch.float64))


@pytest.mark.parametrize("mean", MEANS)
@pytest.mark.parametrize("log_variance", LOG_VARIANCES)
def test_logit_normal_density_and_entropy_by_quadrature(mean, log_variance):
    q = single(mean, log_variance)

    def density(u):
        return float(torch.exp(q.log_prob(torch.tensor([[u]], dtype=torch.float64))))

    def surprise(u):
        p = density(u)
        return -p * np.log(p) if p > 0 else 0.0

    peak = [float(torch.sigmoid(torch.tensor(mean)))]
    total, _ = quad(density, 1e-6, 1 - 1e-6, points=peak, limit=300)
    entropy, _ = quad(surprise, 1e-6, 1 - 1e-6, points=peak, limit=300)
    assert total == pytest.approx(1, abs=1e-3)
    noise = torch.randn(200_000, 1, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    assert q.entropy(noise).mean().item() == pytest.approx(entropy, abs=0.02)


def test_logit_normal_is_a_transformed_normal():
    """The density of torch's own transformed distribution."""
    mean, log_variance = torch.randn(5, 3, dtype=torch.float64), torch.randn(5, 3, dtype=torch.float64)
    theirs = torch.distributions.TransformedDistribution(
        Normal(mean, torch.exp(0.5 * log_variance)), [torch.distributions.SigmoidTransform()]
    )
    u = torch.rand(5, 3, dtype=torch.float64)
    torch.testing.assert_close(LogitNormal(mean, log_variance).log_prob(u), theirs.log_prob(u).sum(-1))


def test_labels_at_the_edge_have_finite_densities():
    q = single(0.0, 0.0)
    for edge in (0.0, 1.0):
        assert torch.isfinite(q.log_prob(torch.full((1, 1), edge, dtype=torch.float64))).all()


@pytest.mark.parametrize("rho", [0.0, 0.9])
def test_kl_to_a_conditional_prior(rho):
    """The closed form of X17 (docs/glossary.md) beside torch's own KL between Gaussians."""
    mean, log_variance, m, s = torch.randn(4, 6, 3, dtype=torch.float64).unbind(0)
    q = EquicorrelatedNormal(mean, log_variance, rho)
    found = ConditionalNormal(DiagonalNormal(m, s)).kl(q, mean)
    expected = kl_divergence(
        torch.distributions.MultivariateNormal(mean, q.covariance),
        torch.distributions.MultivariateNormal(m, torch.diag_embed(s.exp())),
    )
    torch.testing.assert_close(found, expected)


def test_draws_of_a_conditional_prior_use_every_row():
    prior = ConditionalNormal(DiagonalNormal(torch.tensor([[0.0], [10.0]]), torch.full((2, 1), -20.0)))
    assert prior.sample(4, 1, np.random.default_rng(0)).round().ravel().tolist() == [0, 10, 0, 10]
    torch.testing.assert_close(prior.log_prob(torch.tensor([[0.0], [10.0]])), torch.full((2,), 10 - 0.9189385))
