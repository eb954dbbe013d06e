"""Rows that count more than others: drawn so often, and summed up so."""

import numpy as np
import pytest
import torch

import partita as pt
from partita.distributions import DiagonalNormal
from partita.measures.aggregate import aggregate
from partita.training.draws import Draws
from partita.training.weighted import in_proportion

CPU = torch.device("cpu")


def drawn(weight, steps, size, batch=4, seeds=(0,)):
    return Draws(list(seeds), size, batch, 1, CPU, weight).index(0, steps)


def test_rows_are_drawn_in_proportion():
    weight = torch.tensor([0.0, 1.0, 3.0, 0.5, 2.0, 0.25, 4.0, 1.25], dtype=torch.float64)
    draws = Draws([0, 7], 8, 4, 1, CPU, weight)
    epochs = draws.index(0, 2 * draws.epochs_a_block).permute(1, 0, 2).reshape(2, -1, 8)
    share = weight / weight.sum()
    for own in epochs:
        counts = torch.stack([torch.bincount(epoch, minlength=8) for epoch in own]).double()
        assert (counts >= torch.floor(8 * share)).all()  # in every epoch
        assert (counts <= torch.ceil(8 * share)).all()
        torch.testing.assert_close(counts.mean(0) / 8, share, atol=0.005, rtol=0)
    assert not torch.equal(epochs[0], epochs[1])
    assert not (epochs == 0).any()


def test_equal_weights_draw_every_row_once_an_epoch():
    epochs = drawn(torch.full((12,), 3.0), 6, 12).reshape(-1, 12)
    assert all(sorted(epoch.tolist()) == list(range(12)) for epoch in epochs)
    assert len({tuple(epoch.tolist()) for epoch in epochs}) == len(epochs)


def test_places_are_whole_numbers_of_copies():
    weight = torch.tensor([2.0, 0.0, 1.0, 3.0, 0.0])
    assert in_proportion(weight, 6).tolist() == [0, 0, 2, 3, 3, 3]
    assert in_proportion(weight, 6, torch.tensor([0.999999])).tolist() == [0, 0, 2, 3, 3, 3]


def test_the_exact_estimator_takes_weights_as_copies():
    """In float64, against rows that are there so often; and against the definition, for weights that are not whole."""
    rng = np.random.default_rng(0)
    z, log_variance = rng.normal(size=(60, 3)), rng.normal(-2, 1, (60, 3))
    mean = z + 0.3 * rng.normal(size=z.shape)
    weight = rng.integers(0, 5, 60)
    weighted = pt.correlation(z, mean, log_variance, groups=(2, 1), sample_weight=weight)
    copies = pt.correlation(*(np.repeat(each, weight, 0) for each in (z, mean, log_variance)), groups=(2, 1))
    for name in ("mi", "tc", "pc", "within_tc", "dim_kl", "kl"):
        assert getattr(weighted, name) == pytest.approx(getattr(copies, name), abs=1e-12)
    np.testing.assert_allclose(np.repeat(weighted.log_qz, weight), copies.log_qz, atol=1e-12)
    share = rng.random(60)
    share /= share.sum()
    each = -0.5 * ((z[:, None] - mean) ** 2 / np.exp(log_variance) + log_variance + np.log(2 * np.pi))
    log_qz = np.log(np.exp(each.sum(2)) @ share)
    log_singles = np.log(np.einsum("ijk,j->ik", np.exp(each), share)).sum(1)
    found = pt.correlation(z, mean, log_variance, sample_weight=17 * share)
    np.testing.assert_allclose(found.log_qz, log_qz, atol=1e-12)
    assert found.tc == pytest.approx(share @ (log_qz - log_singles), abs=1e-12)


def test_minibatches_in_proportion_estimate_the_weighted_posterior():
    """Batches drawn by weight, with the weights of the estimator as ever: unbiased for q(z) = sum_j w_j q(z|n_j)."""
    rng = np.random.default_rng(1)
    size, batch = 64, 16
    mean = torch.as_tensor(rng.normal(size=(size, 1)))
    log_variance = torch.full_like(mean, -0.5)
    weight = torch.as_tensor(rng.integers(0, 4, size).astype(float))
    draws = Draws([3], size, batch, 1, CPU, weight)
    index = draws.index(0, 4000)[:, 0]
    query = 0.3  # where the density is asked for: the same for every anchor
    truth = float(
        (weight / weight.sum()) @ torch.exp(DiagonalNormal(mean, log_variance).log_prob(torch.full_like(mean, query)))
    )
    found = [
        torch.exp(
            aggregate(
                DiagonalNormal(mean[rows], log_variance[rows]), torch.full((batch, 1), query, dtype=torch.float64),
                [(0,)], by="importance", size=size,
            )
        ).mean()
        for rows in index
    ]  # fmt: skip
    assert float(torch.stack(found).mean()) == pytest.approx(truth, rel=0.01)
    plain = float(torch.exp(DiagonalNormal(mean, log_variance).log_prob(torch.full_like(mean, query))).mean())
    assert abs(plain - truth) > 0.03 * truth


def test_weights_that_cannot_be_are_refused():
    z = np.zeros((4, 2))
    with pytest.raises(ValueError, match=r"sample_weight.shape == \(3,\), expected \(4,\)"):
        pt.correlation(z, z, z, sample_weight=np.ones(3))
    with pytest.raises(ValueError, match="sample_weight is for by='exact'"):
        pt.correlation(z, z, z, by="mss", sample_weight=np.ones(4))
