"""The Triton kernels against their torch twin, on a CUDA device."""

import math

import pytest
import torch
from torch.func import vmap

from partita.distributions import DiagonalNormal
from partita.kernels import Mixture, log_mixture, streaming
from partita.kernels.bank import bank_log_sums
from partita.kernels.batch import by_kernel
from partita.kernels.standardise import Standardised, standardise
from partita.measures import correlation, log_weights

pytestmark = pytest.mark.gpu
if not torch.cuda.is_available():
    pytest.skip("needs a CUDA device", allow_module_level=True)
pytest.importorskip("triton")

from partita.kernels import triton_lse  # noqa: E402


def arrays(n, size, latents, seed=0, sd=0.2, spread=0.5):
    generator = torch.Generator("cuda").manual_seed(seed)
    mean, noise, widths = torch.randn(3, size, latents, generator=generator, device="cuda", dtype=torch.float64)
    log_variance = 2 * math.log(sd) + spread * widths
    return (mean + torch.exp(log_variance / 2) * noise)[:n], mean, log_variance


def partition(latents, group):
    blocks = [tuple(range(latents))]
    blocks += [tuple(range(k, min(k + group, latents))) for k in range(0, latents, group)]
    return list(dict.fromkeys(blocks + [(k,) for k in range(latents)]))


@pytest.mark.parametrize("latents", [1, 2, 5, 10, 13, 20])
@pytest.mark.parametrize("group", [1, 2, 3, 4, 5])
@pytest.mark.parametrize(("n", "size"), [(1, 3), (70, 1000), (1000, 70), (64, 40000)])
def test_sums_match_the_twin(latents, group, n, size):
    z, mean, log_variance = arrays(max(n, size), max(n, size), latents)
    s = standardise(z[:n], mean[:size], log_variance[:size])[0]
    blocks, single = partition(latents, group), s.to(torch.float32)
    if n <= size:
        own, wanted = torch.arange(n, device="cuda"), streaming.log_sums(s, blocks, own=torch.arange(n, device="cuda"))
        limits = torch.tensor([1e-5, 5e-5], device="cuda")
    else:
        # Not draws from these components: the sums go down to 2^-800, and float32 has its digits relative to that.
        own, wanted = None, streaming.log_sums(single.to(torch.float64), blocks)
        limits = torch.tensor([[[1e-6]], [[5e-6]]], device="cuda") * (1 + wanted.abs())
    for form, limit in zip(("dense", "matrix"), limits):
        found = triton_lse.log_sums(single, blocks, own=own, form=form)
        assert ((found - wanted).abs() * math.log(2) / limit).max().item() < 1, form


@pytest.mark.parametrize(
    "blocks", [[(0, 1, 2, 3)], [(0, 2), (1, 3)], [(0, 2), (2, 3), (0,)], [(3,), (3,), (0, 1, 2, 3)]]
)
def test_any_blocks(blocks):
    s = standardise(*arrays(200, 500, 4))[0]
    own = torch.arange(200, device="cuda")
    found = triton_lse.log_sums(s.to(torch.float32), blocks, own=own)
    assert (found - streaming.log_sums(s, blocks, own=own)).abs().max() < 1e-5


@pytest.mark.parametrize(("latents", "group"), [(1, 1), (4, 2), (6, 3), (10, 2), (14, 4)])
def test_gradients_match_the_twin(latents, group):
    s = standardise(*arrays(50, 1500, latents))[0]
    blocks, own = partition(latents, group), torch.arange(50, device="cuda")
    weights = torch.randn(50, len(blocks), device="cuda", dtype=torch.float64)

    def gradients(dtype, log_sums):
        leaves = [t.to(dtype).requires_grad_() for t in (s.z, s.mean, s.log_scale)]
        logs = log_sums(Standardised(*leaves), blocks, own=own)
        return torch.autograd.grad((logs * weights).sum(), leaves)

    for one, other in zip(gradients(torch.float32, triton_lse.log_sums), gradients(torch.float64, streaming.log_sums)):
        assert (one - other).abs().max() < 1e-4 * other.abs().max()


def test_queries_out_of_range_are_mended():
    z, mean, log_variance = arrays(100, 100, 4)
    log_variance[:10], log_variance[10:20] = -30.0, 20.0
    z[30:35] += 300.0
    blocks = partition(4, 2)
    found = log_mixture(z, mean, log_variance, blocks, dtype=torch.float32, form="dense")
    wanted = log_mixture(z, mean, log_variance, blocks, dtype=torch.float64, form="dense")
    assert torch.isfinite(found).all()
    assert ((found - wanted).abs() / (1 + wanted.abs())).max() < 0.05


def test_correlation_runs_on_the_device_and_agrees_with_the_cpu():
    inputs = arrays(3000, 3000, 6)
    on_device = correlation(*inputs, groups=(2, 2, 2))
    on_cpu = correlation(*(t.cpu() for t in inputs), groups=(2, 2, 2))
    assert on_device.pc == pytest.approx(on_cpu.pc, abs=1e-9)


def banks(models, n, size, latents):
    """z, own log densities by block, and banks in which every seventh point is unknown; float64."""
    each = [arrays(n + size, n + size, latents, seed=seed) for seed in range(models)]
    z, mean, log_variance = (torch.stack(parts) for parts in zip(*each))
    bank = torch.cat([mean[:, n:], log_variance[:, n:]], -1).mT.contiguous()
    bank[:, latents:, ::7] = math.inf
    return z[:, :n], DiagonalNormal(mean[:, :n], log_variance[:, :n]), bank


def bank_and_slopes(z, q, bank, blocks, weights, dtype):
    own, beside = q.log_prob_each(z).to(dtype), q.log_prob_blocks(z, blocks).to(dtype) - 20
    z = z.to(dtype).requires_grad_()
    logs = vmap(lambda *each: bank_log_sums(*each, blocks))(z, own, bank.to(dtype))
    felt = torch.logaddexp(logs, beside)  # as in training, where a query's own posterior is never far
    return felt.detach(), torch.autograd.grad((felt * weights.to(dtype)).sum(), z)[0]


@pytest.mark.parametrize(("latents", "group"), [(1, 1), (4, 2), (10, 2), (10, 5), (13, 1), (27, 3)])
@pytest.mark.parametrize(("models", "n", "size"), [(1, 3, 5), (3, 70, 1000), (1, 64, 40000)])
def test_a_bank_matches_its_twin(latents, group, models, n, size):
    z, q, bank = banks(models, n, size, latents)
    blocks = [block[::-1] for block in partition(latents, group)]
    weights = torch.randn(models, n, len(blocks), device="cuda", dtype=torch.float64)
    logs, slopes = bank_and_slopes(z, q, bank, blocks, weights, torch.float32)
    wanted, wanted_slopes = bank_and_slopes(z, q, bank, blocks, weights, torch.float64)
    assert (logs - wanted).abs().max() < 5e-5 + 2e-6 * wanted.abs().max()
    assert (slopes - wanted_slopes).abs().max() < 1e-4 * wanted_slopes.abs().max()


def test_a_bank_can_be_captured():
    z, q, bank = banks(2, 64, 5000, 10)
    blocks = partition(10, 2)
    own, z, bank = q.log_prob_each(z).float(), z.float().requires_grad_(), bank.float()

    def step():
        logs = vmap(lambda *each: bank_log_sums(*each, blocks))(z, own, bank)
        return torch.autograd.grad((logs[..., 0] - logs[..., 1:6].sum(-1)).mean(), z)[0]

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            wanted = step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        found = step()
    graph.replay()
    torch.testing.assert_close(found, wanted, rtol=0, atol=0)


def test_as_many_points_as_dsprites_has():
    size, latents = 737280, 10
    inputs = [t.float() for t in arrays(size, size, latents, sd=0.1)]
    blocks, own = partition(latents, 2), torch.arange(size, device="cuda")
    found = log_mixture(*inputs, blocks, own=own, dtype=torch.float32, form="dense")
    rows = torch.linspace(0, size - 1, 256, device="cuda").long()
    exact = Mixture.of(*(t.double() for t in inputs[1:])).log_density(
        inputs[0][rows].double(), blocks, own=rows, dtype=torch.float64, form="dense"
    )
    error = (found[rows] - exact).abs().max().item()
    assert error < 1e-5


@pytest.mark.parametrize(("size", "latents", "models"), [(2, 1, 1), (33, 3, 2), (64, 6, 5), (128, 10, 3), (300, 6, 2)])
@pytest.mark.parametrize("sd", [1e-4, 0.05, 1.0, 30.0])
def test_sums_over_a_batch_and_their_gradient(size, latents, models, sd):
    """Against sums written out in float64, of every model at once, as training calls them."""
    generator = torch.Generator("cuda").manual_seed(size + latents)
    mean, noise, wobble = torch.randn(3, models, size, latents, generator=generator, device="cuda")
    log_variance = 2 * math.log(sd) + 0.5 * wobble
    single = [t.requires_grad_() for t in (mean + torch.exp(0.5 * log_variance) * noise, mean, log_variance)]
    double = [t.detach().double().requires_grad_() for t in single]
    blocks, weights = partition(latents, 2), log_weights("importance", size, 3 * size, torch.device("cuda")).exp()
    sums = vmap(lambda *one: by_kernel(*one, weights, blocks))
    found = sums(*single)
    z, centre, width = double
    each = -0.5 * (
        (z.unsqueeze(-2) - centre.unsqueeze(-3)).square() * torch.exp(-width).unsqueeze(-3)
        + width.unsqueeze(-3)
        + math.log(2 * math.pi)
    )
    wanted = torch.stack([torch.logsumexp(each[..., list(b)].sum(-1) + weights.double().log(), -1) for b in blocks], -2)
    torch.testing.assert_close(found.double(), wanted, atol=3e-5, rtol=3e-6)
    pull = torch.randn(wanted.shape, dtype=torch.float64, generator=generator, device="cuda")
    gradients = torch.autograd.grad((found * pull.float()).sum(), single)
    for gradient, exact in zip(gradients, torch.autograd.grad((wanted * pull).sum(), double)):
        torch.testing.assert_close(gradient.double(), exact, atol=2e-5 * max(1.0, exact.abs().max().item()), rtol=2e-4)
    again = torch.autograd.grad(
        (vmap(lambda *one: by_kernel(*one, weights, blocks))(*single) * pull.float()).sum(), single
    )
    assert all(torch.equal(a, b) for a, b in zip(gradients, again))


def test_one_model_that_is_not_finite_stays_alone_and_is_seen():
    z, mean, log_variance = (t.float() for t in arrays(40, 40, 3))
    many = [torch.stack([t, t]) for t in (z, mean, log_variance)]
    many[1][1, 7, 0] = math.nan
    weights = log_weights("importance", 40, 400, torch.device("cuda")).exp()
    found = by_kernel(*many, weights, [(0, 1, 2), (1,)])
    assert torch.isfinite(found[0]).all()
    assert torch.isnan(found[1, 0]).all()
    assert torch.isfinite(found[1, 1]).all()
