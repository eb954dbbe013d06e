"""Sums over a bank of posteriors and their slopes, against the plain sum in float64; the GPU's are in test_triton."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.func import vmap

from partita.distributions import DiagonalNormal
from partita.kernels import bank
from partita.kernels.bank import bank_log_sums

BLOCKS = [(0, 1, 2), (2, 0), (1,)]


def inputs(queries, size, latents, seed=0, models=(), sd=0.5):
    generator = torch.Generator().manual_seed(seed)
    shape = (*models, queries + size, latents)
    mean, noise, wobble = (torch.randn(shape, generator=generator, dtype=torch.float64) for _ in range(3))
    log_variance = 2 * math.log(sd) + 0.5 * wobble
    z = mean + torch.exp(0.5 * log_variance) * noise
    kept = torch.cat([mean, log_variance], -1)[..., queries:, :].mT.contiguous()
    drawn_from = DiagonalNormal(mean[..., :queries, :], log_variance[..., :queries, :])
    return z[..., :queries, :], drawn_from, kept


def by_brute_force(z, kept, blocks):
    mean, log_variance = kept.mT.chunk(2, -1)
    each = DiagonalNormal(mean, log_variance)
    return torch.logsumexp(each.pairwise(z, blocks), -1).mT


@given(
    queries=st.integers(1, 9),
    size=st.integers(1, 60),
    latents=st.integers(1, 6),
    sd=st.sampled_from([0.05, 0.5, 3.0]),
    piece=st.integers(1, 500),
    data=st.data(),
)
@settings(max_examples=60, deadline=None)
def test_value_and_gradient_are_those_of_the_sum(queries, size, latents, sd, piece, data):
    some = st.lists(st.integers(0, latents - 1), min_size=1, max_size=latents, unique=True)
    blocks = [tuple(block) for block in data.draw(st.lists(some, min_size=1, max_size=4))]
    z, q, kept = inputs(queries, size, latents, sd=sd)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(bank.PAIRS_AT_ONCE, "cpu", piece)
        ours = z.clone().requires_grad_()
        found = bank_log_sums(ours, q.log_prob_each(z), kept, blocks)
    theirs = z.clone().requires_grad_()
    wanted = by_brute_force(theirs, kept, blocks)
    reached = wanted.detach() - q.log_prob_blocks(z, blocks) > -600  # less, next to the query's own, is nothing at all
    torch.testing.assert_close(found[reached], wanted[reached], atol=1e-10, rtol=1e-10)
    assert (found[~reached] < wanted[~reached] + 1).all()
    pull = torch.randn(found.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(1)) * reached
    gradients = (torch.autograd.grad((logs.nan_to_num(neginf=0.0) * pull).sum(), of)[0] for logs, of in
                 ((found, ours), (wanted, theirs)))  # fmt: skip
    torch.testing.assert_close(*gradients, atol=1e-9, rtol=1e-9)


def test_float32_is_as_good_as_float32_can_be():
    z, q, kept = inputs(64, 3000, 3, sd=0.1)
    found = bank_log_sums(z.float(), q.log_prob_each(z).float(), kept.float(), BLOCKS)
    torch.testing.assert_close(found.double(), by_brute_force(z, kept, BLOCKS), atol=1e-4, rtol=1e-5)


def test_who_was_never_seen_adds_nothing():
    z, q, kept = inputs(5, 20, 3)
    own, fewer = q.log_prob_each(z), kept[:, 7:].clone()
    kept[3:, :7] = math.inf
    torch.testing.assert_close(bank_log_sums(z, own, kept, BLOCKS), bank_log_sums(z, own, fewer, BLOCKS))


def test_a_bank_that_knows_nobody_pulls_nowhere():
    z, q, kept = inputs(5, 20, 3)
    kept[3:] = math.inf
    z = z.requires_grad_()
    logs = bank_log_sums(z, q.log_prob_each(z), kept, BLOCKS)
    assert (logs == -math.inf).all()
    together = torch.logaddexp(logs, torch.ones_like(logs))
    assert (torch.autograd.grad(together.sum(), z)[0] == 0).all()


def test_many_models_at_once_are_the_single_ones():
    z, q, kept = inputs(6, 30, 3, models=(4,))
    own, pull = q.log_prob_each(z), torch.randn(6, 3, dtype=torch.float64)

    def loss(z, own, kept):
        return (bank_log_sums(z, own, kept, BLOCKS) * pull).sum()

    together = z.clone().requires_grad_()
    (slopes,) = torch.autograd.grad(vmap(loss)(together, own, kept).sum(), together)
    for e in range(4):
        alone = z[e].clone().requires_grad_()
        torch.testing.assert_close(slopes[e], torch.autograd.grad(loss(alone, own[e], kept[e]), alone)[0])


def test_the_operation_keeps_the_promises_of_an_operation():
    z, q, kept = inputs(4, 10, 3)
    own = q.log_prob_each(z)
    arguments = (z[None].requires_grad_(), own[None], kept[None], [0, 1, 2, 2, 0, 1], [3, 2, 1])
    torch.library.opcheck(bank._sums_and_slopes, arguments, test_utils=("test_schema", "test_faketensor"))
