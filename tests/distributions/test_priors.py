"""Priors: densities against scipy, quadrature and public golden values; samplers against densities."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
import scipy.stats
import torch

from partita.distributions import STANDARD_NORMAL, LpNested, parse_prior

GOLDEN = Path(__file__).parents[1] / "golden"
SCIPY = {
    "normal": scipy.stats.norm(),
    "logistic": scipy.stats.logistic(scale=math.sqrt(3) / math.pi),
    "laplace": scipy.stats.laplace(scale=math.sqrt(0.5)),
    "student": scipy.stats.t(5, scale=math.sqrt(3 / 5)),
    "student:2.5": scipy.stats.t(2.5, scale=math.sqrt(0.2)),
}
names = pytest.mark.parametrize("name", SCIPY)


@names
def test_densities_are_scipys(name):
    z = torch.linspace(-30, 30, 603, dtype=torch.float64).reshape(-1, 3)
    np.testing.assert_allclose(parse_prior(name).log_prob(z), SCIPY[name].logpdf(z).sum(1), rtol=1e-12)


def test_x23_the_logistic_prior():
    prior = parse_prior("logistic")
    z = torch.zeros(1, 1, dtype=torch.float64)
    assert prior.log_prob(z).item() == pytest.approx(-0.790871, abs=1e-6)
    assert SCIPY["logistic"].stats("v") == pytest.approx(1)
    assert SCIPY["logistic"].stats("k") == pytest.approx(1.2)
    assert torch.isfinite(prior.log_prob(torch.tensor([[1e4]]))).all()


@pytest.mark.parametrize("bad", ["gauss", "student:2", "student:x", "laplace:1", "student:inf", 3])
def test_unknown_priors_are_named(bad):
    with pytest.raises(ValueError, match="unknown prior"):
        parse_prior(bad)


def golden_cases():
    """The two-level trees of the public ISA-VAE code's outputs; a leaf under the root is a group of one."""
    cases = json.loads((GOLDEN / "golden.json").read_text())["isa_vae"]
    for name, case in cases.items():
        outer, children = case["tree"]
        if any(len(leaf) > 1 for child in children if len(child) > 1 for leaf in child[1]):
            continue  # three levels: not a partition
        sizes = [len(child[1]) if len(child) > 1 else 1 for child in children]
        ends = np.cumsum(sizes)
        groups = tuple(tuple(range(end - size, end)) for size, end in zip(sizes, ends))
        yield pytest.param(
            name,
            LpNested(groups, outer, torch.tensor([child[0] for child in children]).double(), case["scale"]),
            case,
            id=name,
        )


golden = pytest.mark.parametrize(("name", "prior", "case"), list(golden_cases()))


@golden
def test_nested_densities_are_the_public_codes(name, prior, case):
    points = np.load(GOLDEN / "lpnested_points.npz")[name].astype(np.float64)
    np.testing.assert_allclose(prior.log_prob(torch.tensor(points)), case["log_prob"], atol=1e-6)


@golden
def test_the_nested_sampler_is_exact(name, prior, case):
    """E f^p0 = s K / p0, and -E log p is the entropy."""
    z = prior.sample(40000, case["n"], np.random.default_rng(1))
    norms = sum(
        (np.abs(z[:, list(group)]) ** p.item()).sum(1) ** (prior.outer / p.item())
        for group, p in zip(prior.groups, prior.inner)
    )
    expected = prior.scale * case["n"] / prior.outer
    assert norms.mean() == pytest.approx(expected, abs=5 * norms.std() / 200)
    information = -prior.log_prob(torch.tensor(z))
    assert information.mean().item() == pytest.approx(
        case["sampler"]["entropy_analytic"], abs=5 * information.std().item() / 200
    )


def test_x22_the_nested_prior_contains_the_others():
    z = torch.randn(50, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    groups = ((0, 3), (1,), (2,))
    normal = STANDARD_NORMAL.log_prob(z)
    torch.testing.assert_close(LpNested(groups, 2.0, 2.0, 2.0).log_prob(z), normal)
    torch.testing.assert_close(LpNested(groups, 2.0, 2.0).log_prob(z), normal)  # unit variance is s = 2
    scale, p = 1.7, 1.4
    generalised = scipy.stats.gennorm(p, scale=scale ** (1 / p)).logpdf(z).sum(1)
    np.testing.assert_allclose(LpNested(groups, p, p, scale).log_prob(z), generalised, rtol=1e-10)
    prior = LpNested(groups, 1.3, 2.4)
    alone = [LpNested((tuple(range(len(g))),), 1.3, 2.4).log_prob(z[:, list(g)]) for g in groups]
    torch.testing.assert_close(prior.log_prob(z), sum(alone))
    torch.testing.assert_close(
        LpNested(((0, 1, 2, 3),), 1.0, 1.0, math.sqrt(0.5)).log_prob(z), parse_prior("laplace").log_prob(z)
    )


@pytest.mark.parametrize("p0", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("p", [0.5, 1.0, 2.1, 6.0])
def test_nested_gradients_are_finite_everywhere(p0, p):
    z = torch.tensor([[0.0, 0.0], [0.0, 1.0], [1e-20, 1e-30], [1e6, -1e6], [3.0, 0.0]], requires_grad=True)
    exponents = torch.tensor([p0, p], requires_grad=True)
    value = LpNested(((0, 1),), exponents[0], exponents[1]).log_prob(z)
    assert torch.isfinite(value).all()
    for gradient in torch.autograd.grad(value.sum(), [z, exponents]):
        assert torch.isfinite(gradient).all()
