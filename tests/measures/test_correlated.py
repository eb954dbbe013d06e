"""The split of the KL when latents are correlated given x: nothing may assume that a block's density is a product."""

import numpy as np
import pytest
import scipy.stats
import torch

from partita.distributions import STANDARD_NORMAL, EquicorrelatedNormal, FullNormal
from partita.measures import decompose, log_weights
from partita.measures.parts import Parts
from partita.trace import Batch, Trace

GROUPS = ((0, 3), (1,), (2, 4))


def draws(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def equicorrelated(rho=0.8, batch=12, latents=5, log_sd=-0.5):
    return EquicorrelatedNormal(draws(batch, latents), 0.3 * draws(batch, latents, seed=1) + 2 * log_sd, rho)


def full(batch=12, latents=5):
    lower = draws(batch, latents, latents, seed=2).tril(-1)
    return FullNormal(draws(batch, latents), 0.3 * draws(batch, latents, seed=1) - 1, lower)


families = pytest.mark.parametrize("q", [equicorrelated(), full()], ids=lambda q: type(q).__name__)


def brute_log_q(q, z, block, by, size):
    """log sum_j w_ij N(z_{i,S}; mean_{j,S}, covariance_{j,SS})."""
    columns = list(block)
    densities = [
        scipy.stats.multivariate_normal(m[columns], c[np.ix_(columns, columns)]).pdf(z[:, columns].numpy())
        for m, c in zip(q.mean.numpy(), q.covariance.numpy())
    ]
    weights = log_weights(by, len(z), size, dtype=torch.float64).exp().numpy()
    return np.log((weights * np.stack(densities, 1)).sum(1))


@families
@pytest.mark.parametrize("by", ["importance", "mss", "naive"])
def test_the_split_is_the_brute_sum(q, by):
    z = q.sample(draws(12, 5, seed=3))
    found = decompose(q, z, GROUPS, by=by, size=40)
    joint = brute_log_q(q, z, range(5), by, 40)
    groups = np.stack([brute_log_q(q, z, g, by, 40) for g in GROUPS], 1)
    each = np.stack([brute_log_q(q, z, (k,), by, 40) for k in range(5)], 1)
    assert found["pc"].item() == pytest.approx((joint - groups.sum(1)).mean(), abs=1e-9)
    assert found["tc"].item() == pytest.approx((joint - each.sum(1)).mean(), abs=1e-9)
    own = np.array([
        scipy.stats.multivariate_normal(m, c).logpdf(row) for m, c, row in zip(q.mean, q.covariance, z)
    ])  # fmt: skip
    assert found["mi"].item() == pytest.approx((own - joint).mean(), abs=1e-9)


@families
def test_x5_the_parts_are_the_sampled_kl(q):
    z = q.sample(draws(12, 5, seed=3))
    found = decompose(q, z, GROUPS, by="importance", size=40)
    whole = (q.log_prob(z) - STANDARD_NORMAL.log_prob(z)).mean()
    total = found["mi"] + found["pc"] + found["within_tc"] + found["dim_kl"]
    assert total.item() == pytest.approx(whole.item(), abs=1e-10)


@families
def test_x4_redundancy_has_the_conditional_term(q):
    """PC = sum_g I_g - I + cPC (Theorem 1 of the mutual-information paper; docs/glossary.md)."""
    z = q.sample(draws(12, 5, seed=3))
    found = decompose(q, z, GROUPS, by="importance", size=40)
    conditional = (q.log_prob(z) - q.log_prob_blocks(z, GROUPS).sum(-1)).mean()
    assert conditional.abs() > 0.05
    redundancy = found["group_mi"].sum() - found["mi"] + conditional
    assert found["pc"].item() == pytest.approx(redundancy.item(), abs=1e-9)


def quantities(q, density, latents=10, batch=64):
    z = q.sample(draws(batch, latents, seed=3))
    trace = Trace(Batch(z, batch), {}, {}, {}, q, z, STANDARD_NORMAL)
    singles = tuple((k,) for k in range(latents))
    return Parts(singles, "naive", ("tc",), density)(trace)["tc"].item()


def test_the_factorised_density_misses_most_of_the_tc():
    """A mixture of 64 components in 10 latents, sd 0.4, correlation 0.9: 5 nats instead of 14 (docs/glossary.md)."""
    q = EquicorrelatedNormal(draws(64, 10), torch.full((64, 10), 2 * np.log(0.4), dtype=torch.float64), 0.9)
    assert quantities(q, "exact") == pytest.approx(14.1, abs=1.0)
    assert quantities(q, "factorised") == pytest.approx(5.2, abs=1.0)


def test_both_densities_agree_without_correlation():
    q = equicorrelated(0.0, 64, 10)
    assert quantities(q, "exact") == pytest.approx(quantities(q, "factorised"), abs=1e-12)
