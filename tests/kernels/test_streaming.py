import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from partita.kernels import log_mixture, mixture, streaming
from partita.kernels.guard import careful_log_sum
from partita.kernels.standardise import standardise

BLOCKS = [(0, 1, 2, 3), (0, 1), (2, 3), (0,), (1,), (2,), (3,)]


def posteriors(n=50, latents=4, seed=0, sd=0.3, spread=0.5, shift=0.0):
    generator = torch.Generator().manual_seed(seed)
    mean, noise, widths = torch.randn(3, n, latents, generator=generator, dtype=torch.float64)
    log_variance = 2 * math.log(sd) + spread * widths
    return mean + shift + torch.exp(log_variance / 2) * noise, mean + shift, log_variance


def brute(z, mean, log_variance, block):
    columns = list(block)
    each = torch.distributions.Normal(mean[:, columns], (log_variance[:, columns] / 2).exp()).log_prob(
        z[:, None, columns]
    )
    return torch.logsumexp(each.sum(-1), 1) - math.log(len(mean))


def brute_all(arrays, blocks):
    return torch.stack([brute(*arrays, block) for block in blocks], 1)


@given(
    n=st.integers(1, 60),
    size=st.integers(1, 60),
    sd=st.sampled_from([1e-3, 0.1, 3.0]),
    spread=st.sampled_from([0.0, 1.0]),
    seed=st.integers(0, 99),
)
@settings(deadline=None, max_examples=30)
def test_streams_what_the_whole_matrix_gives(n, size, sd, spread, seed):
    z, mean, log_variance = posteriors(max(n, size), seed=seed, sd=sd, spread=spread)
    z, mean, log_variance = z[:n], mean[:size], log_variance[:size]
    own = torch.arange(n) if n <= size else None
    found = log_mixture(z, mean, log_variance, BLOCKS, own=own)
    torch.testing.assert_close(found, brute_all((z, mean, log_variance), BLOCKS), rtol=1e-12, atol=1e-9)


@pytest.mark.parametrize("tile", [(1, 1), (3, 7), (64, 13)])
@pytest.mark.parametrize("form", ["dense", "matrix"])
def test_tiles_of_any_size_add_up(monkeypatch, tile, form):
    monkeypatch.setattr(streaming, "CPU_TILE", tile)
    arrays = posteriors(n=31)
    blocks = [(0, 1, 2, 3), (0, 2), (1,)]  # no products: the joint and the pair need exponents of their own
    found = log_mixture(*arrays, blocks, own=torch.arange(31), dtype=torch.float64, form=form)
    torch.testing.assert_close(found, brute_all(arrays, blocks), rtol=1e-12, atol=1e-10)


@pytest.mark.parametrize(("form", "error"), [("dense", 1e-5), ("matrix", 1e-3)])
@pytest.mark.parametrize("blocks", [BLOCKS, BLOCKS[:1], BLOCKS[1:3]])
def test_single_precision(form, error, blocks):
    arrays = posteriors(n=300, sd=0.2)
    found = log_mixture(*arrays, blocks, own=torch.arange(300), dtype=torch.float32, form=form)
    assert found.dtype == torch.float64
    assert (found - brute_all(arrays, blocks)).abs().max() < error


def test_far_from_the_origin_nothing_is_lost():
    arrays = posteriors(n=100, shift=1000.0)
    for dtype, error in ((torch.float64, 1e-9), (torch.float32, 1e-5)):
        found = log_mixture(*arrays, BLOCKS, own=torch.arange(100), dtype=dtype, form="dense")
        assert (found - brute_all(arrays, BLOCKS)).abs().max() < error


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("own", [True, False])
def test_queries_out_of_range_are_summed_carefully(dtype, own):
    """Narrow components, broad ones, queries from neither: sums under- and overflow unless they are done again."""
    z, mean, log_variance = posteriors(n=40, latents=4, spread=0.0)
    log_variance[:10] = -30.0
    log_variance[10:20] = 20.0
    z = mean + torch.exp(log_variance / 2) * torch.randn(40, 4, generator=torch.Generator().manual_seed(1)).double()
    z[30:35] += 300.0
    arrays = (z, mean, log_variance)
    found = log_mixture(*arrays, BLOCKS, own=torch.arange(40) if own else None, dtype=dtype, form="dense")
    wanted = brute_all(arrays, BLOCKS)
    assert torch.isfinite(found).all()
    if dtype == torch.float64:
        torch.testing.assert_close(found, wanted, rtol=1e-9, atol=1e-7)
    else:  # a query's distance in standard deviations is known to 7 digits only
        assert ((found - wanted).abs() / (1 + wanted.abs())).max() < 0.05


def test_many_latents_do_not_overflow():
    arrays = posteriors(n=30, latents=80, sd=0.01, spread=2.0)
    blocks = [tuple(range(80)), tuple(range(40)), (0,), (79,)]
    for dtype in (torch.float32, torch.float64):
        found = log_mixture(*arrays, blocks, own=torch.arange(30), dtype=dtype, form="dense")
        wanted = brute_all(arrays, blocks)
        assert (found - wanted).abs().max() < (1e-9 if dtype == torch.float64 else 2e-3)


def test_products_and_exponents_and_running_maximum_agree():
    arrays = posteriors(n=20)
    s, _ = standardise(*arrays)
    products = streaming.log_sums(s, BLOCKS)
    exponents = torch.cat([streaming.log_sums(s, [block]) for block in BLOCKS], 1)
    careful = torch.stack([careful_log_sum(s, block) for block in BLOCKS], 1)
    assert streaming.split_blocks(s, BLOCKS) == (BLOCKS, [])
    assert streaming.split_blocks(s, BLOCKS[:1]) == ([], BLOCKS[:1])
    torch.testing.assert_close(products, exponents, rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(products, careful, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("blocks", [BLOCKS, [(0, 1, 2, 3), (1, 3)]])
def test_gradients_are_those_of_the_whole_matrix(monkeypatch, blocks):
    monkeypatch.setattr(streaming, "CPU_TILE", (4, 5))
    arrays = [array.requires_grad_() for array in posteriors(n=11)]
    cotangent = torch.randn(7, len(blocks), generator=torch.Generator().manual_seed(2), dtype=torch.float64)

    def gradients(logs):
        return torch.autograd.grad((logs * cotangent).sum(), arrays)

    z, mean, log_variance = arrays
    found = gradients(log_mixture(z[:7], mean, log_variance, blocks, own=torch.arange(7), dtype=torch.float64))
    wanted = gradients(brute_all((z[:7], mean, log_variance), blocks))
    torch.testing.assert_close(found, wanted, rtol=1e-9, atol=1e-11)


def test_gradients_in_single_precision_reach_single_precision_inputs():
    arrays = [array.float().requires_grad_() for array in posteriors(n=40)]
    found = torch.autograd.grad(log_mixture(*arrays, BLOCKS, dtype=torch.float32, form="dense").sum(), arrays)
    exact = [array.detach().double().requires_grad_() for array in arrays]
    wanted = torch.autograd.grad(brute_all(exact, BLOCKS).sum(), exact)
    for one, other in zip(found, wanted):
        assert one.dtype == torch.float32
        assert (one - other).abs().max() < 1e-4 * other.abs().max()


def test_precision_and_form_follow_the_measured_error(monkeypatch):
    joint = [(0, 1, 2, 3)]
    broad, narrow = posteriors(n=200, sd=0.3), posteriors(n=200, sd=1e-5, spread=0.0)

    def chosen(arrays, blocks):
        s, _ = standardise(*arrays)
        dtype, form, _ = mixture.choose(s, blocks, torch.arange(200), None, None)
        return dtype, form

    assert chosen(broad, BLOCKS) == (torch.float64, "dense")  # products: the form is not used
    assert chosen(broad, joint) == (torch.float64, "matrix")
    assert chosen(narrow, joint) == (torch.float64, "dense")
    monkeypatch.setattr(mixture, "AFFORDABLE", {"cpu": 0.0})
    assert chosen(broad, joint)[0] == torch.float32
    assert chosen(narrow, joint) == (torch.float64, "dense")
    found = log_mixture(*narrow, joint, own=torch.arange(200))
    torch.testing.assert_close(found, brute_all(narrow, joint), rtol=1e-10, atol=1e-8)
    found = log_mixture(*broad, BLOCKS, own=torch.arange(200))
    assert 1e-12 < (found - brute_all(broad, BLOCKS)).abs().max() < 1e-5


def test_units_follow_the_data_and_round_nothing():
    for shift in (0.0, 0.3, 50.0, -1e4):
        z, mean, log_variance = (t.float() for t in posteriors(n=500, sd=0.01, shift=shift))
        s, units = standardise(z, mean, log_variance)
        assert s.log_scale.mean(1).abs().max() <= 0.51
        exact = (z.double() - mean.double()) * torch.exp2(units.log_inverse.double())
        assert torch.equal((s.z.double() - s.mean.double()).T, exact)
        own = units.log_density[:, None] + s.log_scale - ((s.z - s.mean) * torch.exp2(s.log_scale)).square()
        wanted = torch.distributions.Normal(mean.double(), (log_variance.double() / 2).exp()).log_prob(z.double()).T
        np.testing.assert_allclose(own, wanted / math.log(2), rtol=1e-5, atol=1e-5)


def test_one_component_and_constant_means_have_units_too():
    z = torch.tensor([[3.0, -2.0], [1.0, 1.0]], dtype=torch.float64)
    mean, log_variance = torch.full((1, 2), 2.0, dtype=torch.float64), torch.zeros(1, 2, dtype=torch.float64)
    found = log_mixture(z, mean, log_variance, [(0, 1), (0,)])
    torch.testing.assert_close(found, brute_all((z, mean, log_variance), [(0, 1), (0,)]))


def test_single_precision_posteriors_may_be_very_narrow():
    arrays = [t.float() for t in posteriors(n=400, sd=1e-3)]
    found = log_mixture(*arrays, BLOCKS, own=torch.arange(400), dtype=torch.float32, form="dense")
    assert (found - brute_all([t.double() for t in arrays], BLOCKS)).abs().max() < 1e-5
