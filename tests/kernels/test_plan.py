"""The Triton path without a GPU: what runs where, and that its arithmetic gives the right sums."""

import importlib.util
import math
import sys
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from partita.kernels import plan as planning
from partita.kernels import streaming
from partita.kernels.plan import plan, shares
from partita.kernels.standardise import standardise


def _emulation():
    path = Path(__file__).with_name("emulation.py")
    spec = importlib.util.spec_from_file_location("kernel_emulation", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["kernel_emulation"] = module
    spec.loader.exec_module(module)
    return module


emulation = _emulation()


def standardised(n=40, size=1300, latents=7, seed=0, sd=0.3):
    generator = torch.Generator().manual_seed(seed)
    mean, noise, widths = torch.randn(3, size, latents, generator=generator)
    log_variance = 2 * math.log(sd) + 0.5 * widths
    z = (mean + torch.exp(log_variance / 2) * noise)[:n]
    return standardise(z.double(), mean.double(), log_variance.double())[0]  # exact in float32 as well


def with_singles(*blocks):
    return [*blocks, *((k,) for k in range(7))]


def test_small_groups_bring_their_latents_along():
    blocks = with_singles(tuple(range(7)), (0, 1), (2, 3, 4), (5, 6))
    chosen = plan(blocks, [True] * len(blocks))
    assert chosen.small == {2: [(0, 1), (5, 6)], 3: [(2, 3, 4)]}
    assert chosen.direct == {7: [tuple(range(7))]}


def test_overlapping_unasked_and_crowded_blocks_go_alone():
    blocks = [(0, 1), (1, 2), (3, 4), (0,), (1,), (2,), (3,)]
    chosen = plan(blocks, [True] * len(blocks))
    assert chosen.small == {2: [(0, 1)], 1: [(2,), (3,)]}  # (1, 2) shares a latent, (3, 4) lacks latent 4
    assert chosen.direct == {2: [(1, 2), (3, 4)]}
    no_room = plan(blocks, [False] * len(blocks))
    assert no_room.small == {1: [(0,), (1,), (2,), (3,)]}
    assert no_room.direct == {2: [(0, 1), (1, 2), (3, 4)]}


@given(blocks=st.lists(st.sets(st.integers(0, 9), min_size=1).map(lambda b: tuple(sorted(b))), min_size=1, unique=True))
@settings(deadline=None, max_examples=50)
def test_every_block_is_summed_once(blocks):
    chosen = plan(blocks, [True] * len(blocks))
    small = [block for same in chosen.small.values() for block in same]
    brought = [(k,) for block in small if len(block) > 1 for k in block]
    direct = [block for same in chosen.direct.values() for block in same]
    assert sorted([*small, *brought, *direct]) == sorted(blocks)
    assert all(len(block) == h for kind in (chosen.small, chosen.direct) for h, same in kind.items() for block in same)


@given(length=st.integers(1, 10**6), programs=st.integers(1, 10**5), tile=st.sampled_from([32, 64]))
@settings(deadline=None, max_examples=100)
def test_shares_cover_the_axis_in_whole_tiles(length, programs, tile):
    splits, share = shares(length, programs, tile)
    assert share % tile == 0
    assert (splits - 1) * share < length <= splits * share
    assert splits == 1 or share >= planning.LEAST / 2
    assert splits <= -(-planning.PROGRAMS // programs)


def test_few_queries_are_split_over_components():
    assert shares(737280, 10, 32)[0] > 200
    assert shares(737280, 11520, 32) == (1, 737280)


@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize("sd", [0.03, 0.3, 2.0])
def test_the_kernels_arithmetic_is_right(fused, sd):
    s = standardised(sd=sd)
    own = torch.arange(40)
    blocks = with_singles(tuple(range(7)), (0, 1), (2, 3, 4), (0, 2, 3, 5, 6))
    single = s.to(torch.float32)
    found, pieces = emulation.log_sums(single, blocks, own, fused=fused)
    assert set(pieces.values()) == {2}  # every sum came from two shares
    wanted = streaming.log_sums(s, blocks, own=own)
    limit = 1e-5 if not fused else 1e-4
    assert (found - wanted).abs().max() * math.log(2) < limit
    same = streaming.log_sums(single, blocks, own=own)
    assert (found - same).abs().max() * math.log(2) < limit


def test_shares_of_one_sum_combine_exactly(monkeypatch):
    s = standardised().to(torch.float32)
    blocks = [tuple(range(7))]
    whole, pieces = emulation.log_sums(s, blocks, torch.arange(40))
    monkeypatch.setattr(planning, "LEAST", 10**9)
    alone, one = emulation.log_sums(s, blocks, torch.arange(40))
    assert (pieces[blocks[0]], one[blocks[0]]) == (2, 1)
    torch.testing.assert_close(whole, alone, rtol=0, atol=1e-6)


def test_the_kernels_gradients_are_right():
    s = standardised(n=12, size=60)
    blocks = with_singles(tuple(range(7)), (0, 1), (2, 3, 4))
    weights = torch.randn(12, len(blocks), generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    z = s.z.clone().requires_grad_()
    logs = streaming.log_sums(type(s)(z, s.mean, s.log_scale), blocks)
    wanted = torch.autograd.grad((logs * weights).sum(), z)[0]
    found = emulation.query_gradients(s.to(torch.float32), blocks, logs.detach(), weights)
    torch.testing.assert_close(found.double(), wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("fused", "limit"), [(False, 1e-6), (True, 5e-6)])
def test_queries_that_are_no_draws_lose_digits_only_relative_to_their_log(fused, limit):
    s = standardised(n=300, size=300, latents=7, sd=0.2)
    s = type(s)(s.z, s.mean[:, :70].contiguous(), s.log_scale[:, :70].contiguous()).to(torch.float32)
    blocks = with_singles(tuple(range(7)), (0, 1), (2, 3, 4))
    wanted = streaming.log_sums(s.to(torch.float64), blocks)
    found = emulation.log_sums(s, blocks, None, fused=fused)[0]
    trusted = wanted > -80  # below, the sum is done again in float64
    assert wanted.min() < -150
    assert (trusted & (wanted < -40)).any()
    assert (((found - wanted).abs() / (1 + wanted.abs()))[trusted]).max() * math.log(2) < limit
