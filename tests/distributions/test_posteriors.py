"""Posteriors whose latents are correlated given x, against dense Gaussians."""

import numpy as np
import pytest
import scipy.stats
import torch

from partita.distributions import DiagonalNormal, EquicorrelatedNormal, FullNormal

BLOCKS = [((0, 1, 2, 3),), ((3, 1), (0, 2)), ((2,), (0,), (1,)), ((1, 2, 3),)]


def draws(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def equicorrelated(rho=0.7, batch=9, latents=4):
    return EquicorrelatedNormal(draws(batch, latents), 0.5 * draws(batch, latents, seed=1) - 1, rho)


def full(batch=9, latents=4):
    lower = draws(batch, latents, latents, seed=2).tril(-1)
    return FullNormal(draws(batch, latents), 0.5 * draws(batch, latents, seed=1) - 1, lower)


def diagonal(batch=9, latents=4):
    return DiagonalNormal(draws(batch, latents), 0.5 * draws(batch, latents, seed=1) - 1)


families = pytest.mark.parametrize("q", [equicorrelated(), full(), diagonal()], ids=lambda q: type(q).__name__)


def dense_log_prob(q, z, block):
    """log q(z_{i,S} | n_j) from the sub-covariance, pair by pair."""
    columns = list(block)
    mean, covariance = q.mean[:, columns].numpy(), q.covariance[:, columns][:, :, columns].numpy()
    points = z[:, columns].numpy()
    return np.stack([scipy.stats.multivariate_normal(m, c).logpdf(points) for m, c in zip(mean, covariance)], 1)


@families
def test_sampling_is_linear_with_the_right_covariance(q):
    root = torch.stack([torch.func.jacrev(lambda e, i=i: q.sample(e.expand_as(q.mean))[i])(draws(4)) for i in range(9)])
    torch.testing.assert_close(root @ root.mT, q.covariance)
    torch.testing.assert_close(q.sample(torch.zeros_like(q.mean)), q.mean)
    torch.testing.assert_close(q.covariance.diagonal(dim1=-2, dim2=-1).log(), q.log_variance)


@families
@pytest.mark.parametrize("blocks", BLOCKS)
def test_densities_of_blocks_are_those_of_sub_covariances(q, blocks):
    z = q.sample(draws(9, 4, seed=3))
    pairs = q.pairwise(z, blocks)
    each = q.log_prob_blocks(z, blocks)
    for i, block in enumerate(blocks):
        expected = dense_log_prob(q, z, block)
        np.testing.assert_allclose(pairs[i], expected, atol=1e-10)
        np.testing.assert_allclose(each[:, i], np.diagonal(expected), atol=1e-10)


@families
def test_log_prob_is_the_joint(q):
    z = q.sample(draws(9, 4, seed=3))
    np.testing.assert_allclose(q.log_prob(z), np.diagonal(dense_log_prob(q, z, (0, 1, 2, 3))), atol=1e-10)
    np.testing.assert_allclose(
        q.log_prob_each(z), np.stack([np.diagonal(dense_log_prob(q, z, (k,))) for k in range(4)], 1), atol=1e-10
    )


@families
def test_kl_is_the_dense_closed_form(q):
    covariance, mean = q.covariance.numpy(), q.mean.numpy()
    log_determinant = np.linalg.slogdet(covariance)[1]
    trace = np.trace(covariance, axis1=1, axis2=2)
    np.testing.assert_allclose(q.kl_to(), 0.5 * (trace + (mean**2).sum(1) - 4 - log_determinant), rtol=1e-10)
    other = DiagonalNormal(draws(9, 4, seed=5), draws(9, 4, seed=6))
    precision = np.exp(-other.log_variance.numpy())
    distance = ((mean - other.mean.numpy()) ** 2 * precision).sum(1)
    inside = (precision * np.diagonal(covariance, axis1=1, axis2=2)).sum(1)
    expected = 0.5 * (inside + distance - 4 - log_determinant + other.log_variance.numpy().sum(1))
    np.testing.assert_allclose(q.kl_to(other), expected, rtol=1e-10)


@families
def test_conditional_tc_is_that_of_the_correlation_matrix(q):
    sd = np.exp(0.5 * q.log_variance.numpy())
    correlation = q.covariance.numpy() / (sd[:, :, None] * sd[:, None, :])
    np.testing.assert_allclose(q.conditional_tc, -0.5 * np.linalg.slogdet(correlation)[1], atol=1e-12)
    joint, product = q.kl_to(), q.marginals.kl_to()
    torch.testing.assert_close(joint - product, q.conditional_tc)


@pytest.mark.parametrize(
    ("latents", "rho", "c"), [(2, 0.9, 0.8304), (10, 0.9, 9.2575), (20, 0.9, 20.4266), (10, 0.5, 2.2668)]
)
def test_x17_x18_the_constant(latents, rho, c):
    """Golden values; KL(rho) - KL(0) = cTC = c for every x, and no gradient of the KL depends on rho."""
    parameters = [draws(5, latents).requires_grad_(), draws(5, latents, seed=1).requires_grad_()]
    gradients = []
    for q in (EquicorrelatedNormal(*parameters, rho), EquicorrelatedNormal(*parameters, 0.0)):
        gradients.append(torch.autograd.grad(q.kl_to().sum(), parameters))
    q = EquicorrelatedNormal(*parameters, rho)
    np.testing.assert_allclose((q.kl_to() - q.marginals.kl_to()).detach(), c, atol=5e-5)
    np.testing.assert_allclose(q.conditional_tc, c, atol=5e-5)
    for one, other in zip(*gradients):
        assert torch.equal(one, other)


def test_x16_without_correlation_it_is_the_diagonal_posterior():
    plain, z = equicorrelated(0.0), draws(9, 4, seed=3)
    q, noise = diagonal(), draws(9, 4, seed=4)
    assert torch.equal(plain.sample(noise), q.sample(noise))
    assert torch.equal(plain.kl_to(), q.kl_to())
    torch.testing.assert_close(plain.log_prob(z), q.log_prob(z))
    torch.testing.assert_close(plain.pairwise(z, [(0, 1), (2, 3)]), q.pairwise(z, [(0, 1), (2, 3)]))


def test_one_latent_knows_nothing_of_correlation():
    q = EquicorrelatedNormal(draws(5, 1), draws(5, 1, seed=1), 0.9)
    assert torch.equal(q.conditional_tc, torch.zeros(5, dtype=torch.float64))
    np.testing.assert_allclose(q.sample(draws(5, 1, seed=2)), q.marginals.sample(draws(5, 1, seed=2)))


@pytest.mark.parametrize("family", [equicorrelated, full])
def test_float32_stays_close_and_finite(family):
    exact = family(batch=64, latents=4)
    z = exact.sample(draws(64, 4, seed=3))
    single = type(exact)(*(v.float() if isinstance(v, torch.Tensor) else v for v in vars(exact).values()))
    wanted, found = exact.pairwise(z, [(0, 1, 2, 3)]), single.pairwise(z.float(), [(0, 1, 2, 3)])
    near = wanted > -20  # what matters to a sum of exponentials
    torch.testing.assert_close(found[near].double(), wanted[near], atol=1e-4, rtol=0)
    assert torch.isfinite(found).all()
