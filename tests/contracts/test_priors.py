"""What every prior must do, whatever it is; a new row of PRIORS is tested here without a new line."""

import math

import numpy as np
import pytest
import scipy.stats
import torch

import partita as pt
from partita.distributions import PRIORS, DiagonalNormal, LpNested, parse_prior
from partita.distributions.conditional import ConditionalNormal
from partita.distributions.uniform import UNIFORM

TOLD = DiagonalNormal(
    torch.tensor([[0.5, -1.0]], dtype=torch.float64), torch.tensor([[-1.0, 0.4]], dtype=torch.float64)
)
# Two latents of each. Of those that say so, each latent has unit variance.
UNIT = {
    **PRIORS,
    "student:2.5": parse_prior("student:2.5"),
    "nested": LpNested(((0, 1),), 2.0, 2.1),
    "nested, sharp": LpNested(((0, 1),), 1.0, 2.0),
    "nested, flat": LpNested(((0, 1),), 3.0, 1.5),
}
EVERY = {
    **UNIT,
    "nested, heavy": LpNested(((0, 1),), 0.7, 1.3, 0.8),
    "uniform": UNIFORM,
    "conditional": ConditionalNormal(TOLD),
}
priors = pytest.mark.parametrize("name", EVERY)
# Midpoints, since densities have cusps and edges; they go far out, where tails are heavy.
EDGES = torch.linspace(-math.pi / 2, math.pi / 2, 1201, dtype=torch.float64)
SIDE = torch.tan(0.5 * (EDGES[1:] + EDGES[:-1]))
WIDTH = (1 + SIDE**2) * math.pi / 1200
GRID, AREA = torch.cartesian_prod(SIDE, SIDE), (WIDTH[:, None] * WIDTH).flatten()


@pytest.fixture(scope="module")
def mass():
    """name -> the probability of each cell of the grid."""
    return {name: prior.log_prob(GRID).exp() * AREA for name, prior in EVERY.items()}


def drawn(name: str, n: int = 20000) -> np.ndarray:
    return EVERY[name].sample(n, 2, np.random.default_rng(0))


@priors
def test_densities_integrate_to_one(name, mass):
    assert mass[name].sum().item() == pytest.approx(1, abs=2e-3)
    if name in UNIT and name != "student:2.5":  # whose tail converges too slowly
        assert (mass[name] * GRID[:, 0] ** 2).sum().item() == pytest.approx(1, abs=5e-3)


@priors
def test_draws_are_those_of_the_density(name, mass):
    """Latent by latent, and together: minus the mean of log p is the entropy."""
    z = drawn(name)
    assert z.shape == (20000, 2)
    assert z.dtype == np.float64
    table = mass[name].reshape(len(SIDE), -1)
    ends = torch.tan(EDGES[1:-1]).numpy()
    for column, marginal in zip(z.T, (table.sum(1), table.sum(0))):
        assert scipy.stats.kstest(column, lambda v, m=marginal: np.interp(v, ends, m.cumsum(0)[:-1])).pvalue > 1e-3
    logs, found = EVERY[name].log_prob(GRID), EVERY[name].log_prob(torch.tensor(z))
    entropy = -(mass[name] * torch.where(mass[name] > 0, logs, 0)).sum().item()
    assert -found.mean().item() == pytest.approx(entropy, abs=5 * found.std().item() / math.sqrt(len(z)) + 5e-3)


@pytest.mark.parametrize("name", [name for name in EVERY if name != "uniform"])  # infinite, of a Gaussian posterior
def test_the_kl_is_the_integral(name):
    """Closed forms, and means over many draws where there is none."""
    mean, log_variance = torch.tensor([0.7, -0.2]).double(), torch.tensor([-1.0, 0.1]).double()
    noise = torch.randn(100000, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    q = DiagonalNormal(mean.expand_as(noise), log_variance.expand_as(noise))
    found = EVERY[name].kl(q, q.sample(noise))
    one = DiagonalNormal(mean.expand_as(GRID), log_variance.expand_as(GRID))
    cells = one.log_prob(GRID).exp() * AREA
    exact = torch.where(cells > 0, cells * (one.log_prob(GRID) - EVERY[name].log_prob(GRID)), 0).sum().item()
    assert found.mean().item() == pytest.approx(exact, abs=5 * found.std().item() / math.sqrt(len(noise)) + 2e-3)


@priors
def test_the_same_generator_gives_the_same_draws_and_no_other_is_asked(name):
    before = repr(np.random.get_state())  # noqa: NPY002
    assert np.array_equal(drawn(name, 50), drawn(name, 50))
    assert repr(np.random.get_state()) == before  # noqa: NPY002


@priors
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_slopes_are_finite_and_the_type_is_kept(name, dtype):
    z = torch.tensor([[0.0, 0.0], [0.0, 1.0], [1e-20, 1e-30], [0.5, -0.5], [30.0, -30.0]], dtype=dtype)
    z.requires_grad_()
    value = EVERY[name].log_prob(z)
    assert value.shape == (5,)
    if name != "conditional":  # whose own numbers are float64
        assert value.dtype == dtype
    if name == "uniform":
        assert value.tolist() == pytest.approx([-2 * math.log(2)] * 4 + [-math.inf])
        return
    assert torch.isfinite(value).all()
    assert torch.isfinite(torch.autograd.grad(value.sum(), z)[0]).all()


@pytest.mark.parametrize("name", PRIORS)
def test_a_model_with_it_trains_saves_and_samples(name, tmp_path):
    x = np.random.default_rng(0).standard_normal((60, 5)).astype(np.float32)
    settings = {"latents": 2, "steps": 3, "network": "linear", "options": {"prior": name}, "device": "cpu"}
    model = pt.Disentangler("ica_vae", **settings).fit(x)
    model.save(tmp_path / "model.safetensors")
    assert np.array_equal(pt.load(tmp_path / "model.safetensors").sample(4), model.sample(4))
    assert np.isfinite(model.score(x))
