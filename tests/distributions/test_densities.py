import numpy as np
import pytest
import scipy.stats
import torch

from partita.distributions import DiagonalNormal, StandardNormal
from partita.distributions._columns import columns


@pytest.fixture
def q():
    generator = torch.Generator().manual_seed(0)
    mean = torch.randn(9, 4, generator=generator, dtype=torch.float64)
    return DiagonalNormal(mean, 0.5 * torch.randn(9, 4, generator=generator, dtype=torch.float64) - 1)


def test_log_prob_is_scipys(q):
    z = q.sample(torch.ones_like(q.mean))
    expected = scipy.stats.norm.logpdf(z, q.mean, torch.exp(0.5 * q.log_variance))
    np.testing.assert_allclose(q.log_prob_each(z), expected, rtol=1e-12)
    np.testing.assert_allclose(q.log_prob_blocks(z, ((0, 2), (1,)))[:, 0], expected[:, [0, 2]].sum(1), rtol=1e-12)


def test_kl_by_quadrature(q):
    grid = torch.linspace(-12, 12, 200001, dtype=torch.float64)
    one = DiagonalNormal(q.mean[:1, :1].expand(len(grid), 1), q.log_variance[:1, :1].expand(len(grid), 1))
    other = DiagonalNormal(q.mean[1:2, :1].expand(len(grid), 1), q.log_variance[1:2, :1].expand(len(grid), 1))
    density = one.log_prob(grid[:, None])
    first = DiagonalNormal(q.mean[:1, :1], q.log_variance[:1, :1])
    cases = (
        (StandardNormal().log_prob_each(grid[:, None])[:, 0], StandardNormal().kl(first, first.mean)),
        (other.log_prob(grid[:, None]), one.kl_each(other)[:1, 0]),
    )
    for target, closed in cases:
        quadrature = torch.trapezoid(density.exp() * (density - target), grid)
        assert quadrature.item() == pytest.approx(closed.item(), abs=1e-8)


def test_the_pairwise_matrix_is_scipys(q):
    z = q.sample(torch.linspace(-2, 2, 36, dtype=torch.float64).reshape(9, 4))
    expected = scipy.stats.norm.logpdf(z[:, None], q.mean[None], torch.exp(0.5 * q.log_variance)[None])
    blocks = ((0, 1, 2, 3), (1, 3), (2,))
    for found, block in zip(q.pairwise(z, blocks), blocks):
        np.testing.assert_allclose(found, expected[..., list(block)].sum(-1), atol=1e-11)


def test_float32_stays_finite_however_narrow_the_posteriors():
    generator = torch.Generator().manual_seed(2)
    mean = torch.randn(64, 6, generator=generator)
    for log_variance in (-10.0, -30.0, -300.0):
        narrow = DiagonalNormal(mean, torch.full_like(mean, log_variance))
        z = narrow.sample(torch.randn(64, 6, generator=generator))
        assert torch.isfinite(narrow.resolved.pairwise(z, [(0, 1), (2, 3), (4, 5)])).all()
        assert torch.isfinite(narrow.resolved.log_prob(z)).all()


def test_columns_are_those_of_a_list_of_indices():
    values = torch.arange(24.0).reshape(2, 2, 6)
    for chosen in ((0, 1, 2, 3, 4, 5), (3,), (5, 0, 1), (2, 1, 4), (0, 2, 3, 5)):
        assert torch.equal(columns(values, chosen), values[..., list(chosen)])
