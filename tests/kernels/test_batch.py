"""The C kernel for minibatches: against sums in float64, and in all the ways training calls it."""

import math
import subprocess
import sys

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.func import vmap

from partita.kernels.batch import by_kernel
from partita.kernels.dispatch import found_batch
from partita.measures import log_weights

pytestmark = pytest.mark.skipif(not found_batch(), reason="no C compiler on this machine")


def inputs(size, latents, sd, seed, models=()):
    generator = torch.Generator().manual_seed(seed)
    mean, noise, wobble = (torch.randn(*models, size, latents, generator=generator) for _ in range(3))
    log_variance = 2 * math.log(sd) + 0.5 * wobble
    return mean + torch.exp(0.5 * log_variance) * noise, mean, log_variance


def by_brute_force(z, mean, log_variance, weights, blocks):
    each = -0.5 * (
        (z.unsqueeze(-2) - mean.unsqueeze(-3)).square() * torch.exp(-log_variance).unsqueeze(-3)
        + log_variance.unsqueeze(-3)
        + math.log(2 * math.pi)
    )
    logs = [torch.logsumexp(each[..., list(block)].sum(-1) + weights.log(), -1) for block in blocks]
    return torch.stack(logs, -2)


@given(
    size=st.integers(2, 70),
    latents=st.integers(1, 7),
    sd=st.sampled_from([0.01, 0.3, 1.0, 30.0]),
    seed=st.integers(0, 2**20),
    data=st.data(),
)
@settings(max_examples=60, deadline=None)
def test_value_and_gradient_are_those_of_the_sum_in_float64(size, latents, sd, seed, data):
    some = st.lists(st.integers(0, latents - 1), min_size=1, max_size=latents, unique=True)
    blocks = [tuple(block) for block in data.draw(st.lists(some, min_size=1, max_size=4))]
    single = [t.requires_grad_() for t in inputs(size, latents, sd, seed)]
    double = [t.detach().double().requires_grad_() for t in single]
    weights = log_weights("importance", size, 3 * size).exp()
    found = by_kernel(*single, weights, blocks)
    wanted = by_brute_force(*double, weights.double(), blocks)
    torch.testing.assert_close(found.double(), wanted, atol=2e-5, rtol=2e-6)
    pull = torch.randn(wanted.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    gradients = torch.autograd.grad((found * pull.float()).sum(), single)
    for gradient, exact in zip(gradients, torch.autograd.grad((wanted * pull).sum(), double)):
        torch.testing.assert_close(gradient.double(), exact, atol=1e-5 * max(1.0, exact.abs().max().item()), rtol=1e-4)


def test_narrow_posteriors_keep_the_self_term_to_rounding():
    """sd 1e-4 about means of size 1: only a point's own density reaches it, log q(z_i) = log w_ii + log q(z_i|n_i)."""
    z, mean, log_variance = inputs(128, 6, 1e-4, 0)
    weights = log_weights("importance", 128, 2000).exp()
    found = by_kernel(z, mean, log_variance, weights, [tuple(range(6))])[0]
    squares = (z.double() - mean.double()).square() * torch.exp(-log_variance.double())
    own = -0.5 * (squares + log_variance.double() + math.log(2 * math.pi)).sum(-1)
    torch.testing.assert_close(found.double(), own - math.log(2000), atol=1e-3, rtol=1e-5)


def test_many_models_at_once_are_the_single_ones_bit_for_bit():
    z, mean, log_variance = inputs(37, 5, 0.3, 1, models=(9,))
    weights = log_weights("mss", 37, 500).exp()
    blocks = [(0, 1, 2, 3, 4), (0, 4), (1,), (2, 3)]
    together = vmap(lambda *t: by_kernel(*t, weights, blocks))(z, mean, log_variance)
    for e in range(9):
        assert torch.equal(together[e], by_kernel(z[e], mean[e], log_variance[e], weights, blocks))


def test_vmap_takes_what_the_models_share():
    z, mean, log_variance = inputs(20, 3, 0.5, 2)
    weights = log_weights("naive", 20, 20).exp()
    points = torch.stack([z, z + 0.1])
    found = vmap(lambda p: by_kernel(p, mean, log_variance, weights, [(0, 1, 2)]))(points)
    assert torch.equal(found[1], by_kernel(z + 0.1, mean, log_variance, weights, [(0, 1, 2)]))


def test_a_model_of_nan_leaves_its_neighbours_alone():
    single = [t.requires_grad_() for t in inputs(16, 4, 0.3, 3, models=(3,))]
    weights = log_weights("importance", 16, 100).exp()
    broken = [t.detach().clone() for t in single]
    broken[1][1] = float("nan")
    broken = [t.requires_grad_() for t in broken]
    whole, partly = (by_kernel(*t, weights, [(0, 1), (2, 3)]) for t in (single, broken))
    assert torch.equal(whole[[0, 2]], partly[[0, 2]])
    assert partly[1].isnan().all()
    fine, odd = (torch.autograd.grad(t.sum(), leaves) for t, leaves in ((whole, single), (partly, broken)))
    for a, b in zip(fine, odd):
        assert torch.equal(a[[0, 2]], b[[0, 2]])
        assert b[1].isnan().all()


def test_a_machine_without_a_compiler_computes_with_torch():
    """In a process of its own: which kernel there is gets decided once."""
    code = """
import torch
from partita.distributions import DiagonalNormal
from partita.kernels.dispatch import found_batch
from partita.measures import aggregate
z = torch.linspace(-1, 1, 12).reshape(4, 3)
assert not found_batch()
print(aggregate(DiagonalNormal(z, torch.zeros(4, 3)), z, [(0, 1, 2)], by="naive", size=4).sum().item())
"""
    environment = {"CC": "no-such-compiler", "PATH": "/nowhere"}
    run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr
    z = torch.linspace(-1, 1, 12).reshape(4, 3)
    weights = torch.full((4, 4), 0.25)
    expected = by_kernel(z, z, torch.zeros(4, 3), weights, [(0, 1, 2)]).sum().item()
    assert float(run.stdout) == pytest.approx(expected, abs=1e-5)
