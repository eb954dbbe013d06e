"""Posteriors from very narrow to very wide: every path gives the sum in float64, forward and backward, and no NaN."""

import math

import numpy as np
import pytest
import torch
from torch.func import vmap

from partita.distributions import DiagonalNormal, EquicorrelatedNormal, FullNormal
from partita.kernels import dispatch, log_mixture
from partita.measures import WEIGHTS, aggregate, correlation, decompose, log_weights, null_correlation
from partita.measures.aggregate import aggregate_with_bank
from partita.training.device import compiled as by_compiler

LATENTS, BATCH, SIZE = 10, 128, 2000
BLOCKS = [tuple(range(LATENTS)), (0, 1), (4, 2, 3), (5,), (6,)]
WIDTHS = [10.0, 4.0, 0.0, -8.0, -14.0, -16.0, -20.0, -30.0]
RHO = 0.9

on_gpu = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")]
paths = pytest.mark.parametrize("path", ["kernel", "torch", pytest.param("cuda", marks=on_gpu)])
families = pytest.mark.parametrize("family", ["diagonal", "correlated", "full"])


@pytest.fixture
def device(path, monkeypatch):
    """Where this path computes; without the kernel, a CPU goes by plain torch."""
    if path == "kernel" and not dispatch.found_batch():
        pytest.skip("no C compiler on this machine")
    if path == "torch":
        monkeypatch.setattr(dispatch, "found_batch", lambda: False)
    return torch.device("cuda" if path == "cuda" else "cpu")


def made(family, mean, log_variance, lower):
    if family == "diagonal":
        return DiagonalNormal(mean, log_variance)
    return EquicorrelatedNormal(mean, log_variance, RHO) if family == "correlated" else FullNormal(
        mean, log_variance, lower
    )  # fmt: skip


def parameters(width, spread=3.0, seed=0):
    """Means of sd `spread`, the last 16 doubles of the first ones; widths around `width`, or anywhere for None."""
    generator = torch.Generator().manual_seed(seed)
    mean, wobble = (torch.randn(BATCH, LATENTS, generator=generator) for _ in range(2))
    mean[-16:] = mean[:16]
    anywhere = 40 * torch.rand(BATCH, LATENTS, generator=generator) - 30
    log_variance = anywhere if width is None else (width + 0.5 * wobble).clamp(-30, 10)
    lower = 0.3 * torch.randn(BATCH, LATENTS, LATENTS, generator=generator).tril(-1)
    return spread * mean, log_variance, lower, torch.randn(BATCH, LATENTS, generator=generator)


def covariances(family, log_variance, lower):
    """(B, K, K) and the exact inverse and log-determinant of every block, in float64 numpy."""
    sd = np.exp(0.5 * log_variance)
    if family == "full":
        root = sd[:, :, None] * (lower + np.eye(LATENTS))
        return root @ root.transpose(0, 2, 1)
    rho = RHO if family == "correlated" else 0.0
    return sd[:, :, None] * sd[:, None, :] * (rho + (1 - rho) * np.eye(LATENTS))


def by_brute_force(family, leaves, z, weights):
    """logsumexp_j [log w_ij + log N(z_i; mean_j, covariance_j)], dense in float64: nothing of the library's."""
    mean, log_variance, lower = (np.asarray(leaf.detach().cpu(), np.float64) for leaf in leaves)
    points, covariance = np.asarray(z.detach().cpu(), np.float64), covariances(family, log_variance, lower)
    columns = []
    for block in map(list, BLOCKS):
        sub = covariance[np.ix_(range(BATCH), block, block)]
        unit = np.sqrt(np.diagonal(sub, axis1=1, axis2=2))
        root = np.linalg.cholesky(sub / (unit[:, :, None] * unit[:, None, :]))
        d = (points[None][:, :, block] - mean[:, None, block]) / unit[:, None]  # (j, i, block)
        white = np.linalg.solve(root, d.transpose(0, 2, 1))
        log_det = 2 * (np.log(unit) + np.log(np.diagonal(root, axis1=1, axis2=2))).sum(1)
        pairs = -0.5 * ((white**2).sum(1) + log_det[:, None] + len(block) * math.log(2 * math.pi))
        columns.append(np.logaddexp.reduce(pairs.T + weights, axis=1))
    return np.stack(columns, 1)


@families
@paths
@pytest.mark.parametrize("by", sorted(WEIGHTS))
@pytest.mark.parametrize("width", [*WIDTHS, None])
def test_every_path_is_the_sum_in_float64(family, device, by, width):
    *leaves, noise = (t.to(device) for t in parameters(width))
    q = made(family, *leaves)
    z = q.sample(noise)
    found = aggregate(q, z, BLOCKS, by=by, size=SIZE)
    wanted = by_brute_force(family, leaves, z, log_weights(by, BATCH, SIZE, dtype=torch.float64).numpy())
    assert np.abs(found.cpu().numpy() - wanted).max() < 1e-4


@families
@paths
@pytest.mark.parametrize(
    ("width", "spread"), [(-14.0, 5.0), (-16.0, 3.0), (-30.0, 3.0), (-30.0, 300.0), (None, 3.0), (None, 1e4)]
)
def test_values_and_gradients_are_finite(family, device, width, spread):
    """Wide spreads: float32 then rounds z away from a narrow posterior, and others may find it likelier by e^1000."""
    for seed in range(3):
        *leaves, noise = (t.to(device) for t in parameters(width, spread, seed))
        leaves = [leaf.requires_grad_() for leaf in leaves]
        q = made(family, *leaves)
        z = q.sample(noise)
        parts = decompose(q, z, (2, 3, 5), by="importance", size=SIZE)
        assert all(torch.isfinite(value).all() for value in parts.values())
        wanted = by_brute_force(family, leaves, z, log_weights("importance", BATCH, SIZE, dtype=torch.float64).numpy())
        found = aggregate(q, z, BLOCKS, by="importance", size=SIZE)
        np.testing.assert_allclose(found.detach().cpu(), wanted, rtol=1e-4, atol=1e-4)
        gradients = torch.autograd.grad(parts["tc"] + parts["mi"], leaves, allow_unused=True)
        assert all(torch.isfinite(gradient).all() for gradient in gradients if gradient is not None)


@families
@paths
@pytest.mark.parametrize("width", [-14.0, -30.0, 4.0])
def test_gradients_are_those_of_float64(family, device, width):
    *single, noise = (t.to(device) for t in parameters(width))
    z = made(family, *single).sample(noise)  # fixed: a gradient through a draw of sd 1e-7 is rounding alone
    found, wanted = ([], [])
    for kind, into in ((torch.float32, found), (torch.float64, wanted)):
        leaves = [leaf.to(kind).requires_grad_() for leaf in (*single, z)]
        logs = aggregate(made(family, *leaves[:3]), leaves[3], BLOCKS, by="importance", size=SIZE)
        pull = torch.linspace(-1, 1, logs.numel(), dtype=kind, device=device).view_as(logs)
        into += torch.autograd.grad((logs * pull).sum(), leaves, allow_unused=True)
    for one, other in zip(found, wanted):
        if other is not None:
            assert (one - other).abs().max() < 1e-3 * other.abs().max()


@families
@paths
def test_a_network_that_strays_is_finite_and_pulled_back_by_the_kl(family, device):
    """log-variances of -200 for a step: as wide as the narrowest, so that the step has a gradient and no NaN."""
    mean, log_variance, lower, noise = (t.to(device) for t in parameters(0.0))
    log_variance[::3] = -200.0
    leaves = [t.requires_grad_() for t in (mean, log_variance, lower)]
    q = made(family, *leaves)
    parts = decompose(q, q.sample(noise), (2, 3, 5), by="mss", size=SIZE)
    total = parts["tc"] + parts["mi"] + q.kl_to().mean()
    gradients = torch.autograd.grad(total, leaves, allow_unused=True)
    assert torch.isfinite(total)
    assert all(torch.isfinite(gradient).all() for gradient in gradients if gradient is not None)
    assert (gradients[1][::3] < 0).all()  # descending widens them again


@paths
@pytest.mark.parametrize(
    ("width", "spread"), [*((width, 3.0) for width in WIDTHS), (None, 3.0), (-30.0, 300.0), (None, 1e4)]
)
def test_a_bank_is_the_sum_in_float64(device, width, spread):
    """Half of the posteriors in the batch, half in the bank, all of them known: the exact sum over all."""
    half = BATCH // 2
    mean, log_variance, _, noise = (t.to(device) for t in parameters(width, spread))
    bank = torch.cat([mean[half:], log_variance[half:]], -1).mT.contiguous()
    leaves = [t[:half].clone().requires_grad_() for t in (mean, log_variance)]
    q = DiagonalNormal(*leaves)
    z = q.sample(noise[:half])
    found = aggregate_with_bank(q, z, BLOCKS, bank, size=BATCH)
    gradients = torch.autograd.grad(found.sum(), leaves)
    assert torch.isfinite(found).all()
    assert all(torch.isfinite(gradient).all() for gradient in gradients)
    if spread == 3.0:
        both = torch.zeros(BATCH, LATENTS)
        both[:half] = z.detach().cpu()
        weights = np.full((BATCH, BATCH), -math.log(BATCH))
        wanted = by_brute_force("diagonal", [mean, log_variance, torch.zeros(1)], both, weights)[:half]
        assert np.abs(found.detach().cpu().numpy() - wanted).max() < 1e-4


@pytest.mark.parametrize("path", ["torch", pytest.param("cuda", marks=on_gpu)])
@pytest.mark.parametrize("kind", [torch.float32, torch.float64])
@pytest.mark.parametrize("width", [*WIDTHS, None])
def test_the_exact_mixture_is_the_sum_in_float64(device, kind, width):
    """On a GPU, float32 is Triton's; float64 is torch's everywhere."""
    mean, log_variance, _, noise = (t.to(device) for t in parameters(width))
    leaves = [mean.requires_grad_(), log_variance.requires_grad_()]
    z = DiagonalNormal(*leaves).sample(noise)
    own = torch.arange(BATCH, device=device)
    found = log_mixture(z, *leaves, BLOCKS, own=own, dtype=kind, form="dense")
    weights = np.full((BATCH, BATCH), -math.log(BATCH))
    wanted = by_brute_force("diagonal", [*leaves, torch.zeros(1)], z, weights)
    assert np.abs(found.detach().cpu().numpy() - wanted).max() < 1e-4
    gradients = torch.autograd.grad(found.sum(), leaves)
    assert all(torch.isfinite(gradient).all() for gradient in gradients)


@pytest.mark.slow
@families
@pytest.mark.parametrize("path", ["torch", pytest.param("cuda", marks=on_gpu)])
def test_compiled_for_an_ensemble_it_is_the_same(family, device, caplog):
    def loss(mean, log_variance, lower, noise):
        q = made(family, mean, log_variance, lower)
        parts = decompose(q, q.sample(noise), (2, 2), by="importance", size=SIZE)
        return parts["tc"] + parts["mi"]

    stacked = [torch.stack(each).to(device) for each in zip(*(parameters(width) for width in (-30.0, -14.0, None)))]
    stacked = [t[..., :4, :4] if t.ndim == 4 else t[..., :4] for t in stacked]  # compiles in seconds
    moved = [t.requires_grad_() for t in stacked[:2]]  # gradients as an ensemble takes them, outside of vmap
    values = by_compiler(vmap(loss))(*stacked)
    gradients = torch.autograd.grad(values.sum(), moved)
    assert "cannot be compiled" not in caplog.text
    assert all(torch.isfinite(gradient).all() for gradient in gradients)
    stacked = [t.detach() for t in stacked]
    double = [t.double() for t in stacked]
    for e in range(3):
        q = made(family, *(t[e] for t in double[:3]))
        z = made(family, *(t[e] for t in stacked[:3])).sample(stacked[3][e])
        parts = decompose(q, z.double(), (2, 2), by="importance", size=SIZE)
        assert values[e].item() == pytest.approx((parts["tc"] + parts["mi"]).item(), abs=2e-3)


@pytest.mark.parametrize("by", ["exact", *sorted(WEIGHTS)])
@pytest.mark.parametrize("width", [*WIDTHS, None])
def test_arrays_give_the_sum_in_float64(by, width):
    mean, log_variance, _, noise = (t.double() for t in parameters(width))
    z = DiagonalNormal(mean, log_variance).sample(noise)
    found = correlation(z, mean, log_variance, groups=(2, 3, 5), by=by)
    weights = log_weights("naive" if by == "exact" else by, BATCH, BATCH, dtype=torch.float64).numpy()
    wanted = by_brute_force("diagonal", [mean, log_variance, torch.zeros(1)], z, weights)
    np.testing.assert_allclose(found.log_qz, wanted[:, 0], atol=1e-6)


@pytest.mark.parametrize(("value", "row"), [(-30.5, 3), (10.5, 0), (700.0, 5)])
def test_widths_outside_the_range_are_refused_in_words(value, row):
    mean = np.random.default_rng(0).normal(size=(8, 2))
    log_variance = np.zeros((8, 2))
    log_variance[row, 1] = value
    for ask in (correlation, null_correlation):
        with pytest.raises(ValueError, match=f"log_variance is {value:g} at row {row}, column 1, outside -30 to 10"):
            ask(mean, mean, log_variance)
