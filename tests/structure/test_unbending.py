import numpy as np
import pytest
import torch

from partita.structure import _unbending, align
from partita.structure._unbending import Bend, Start, _Flow, held_out_rows, unbend

PAIRS, WRONG = ((0, 1), (2, 3)), ((0, 2), (1, 3))
EYE = np.eye(4)


def ring(n, rng):
    angle = rng.uniform(0, 2 * np.pi, n)
    return np.sqrt(2) * np.stack([np.cos(angle), np.sin(angle)], 1) * (1 + 0.1 * rng.standard_normal((n, 1)))


def two_rings(n=1500, seed=0):
    rng = np.random.default_rng(seed)
    return np.concatenate([ring(n, rng), ring(n, rng)], 1)


def bent(z):
    """Each coordinate pushed by one of the other group: no linear map takes that back."""
    return z + 0.5 * np.tanh(1.5 * z[:, [2, 3, 0, 1]])


def random_bend(seed=0, latents=4, hidden=7):
    rng = np.random.default_rng(seed)
    shapes = ((latents, latents), (hidden, latents), (hidden,), (latents, hidden), (latents,))
    return Bend(*(rng.standard_normal(shape) for shape in shapes))


def test_log_density_is_that_of_mixtures_and_a_jacobian_in_float64():
    """Written out row by row: scipy's Gaussians, weighted, and the determinant of the Jacobian by small steps."""
    from scipy.stats import multivariate_normal

    y = two_rings(400)
    groups = ((0, 3), (1,), (2,))
    starts = [Start(np.linalg.qr(np.random.default_rng(s).standard_normal((4, 4)))[0], groups) for s in (0, 1)]
    flow = _Flow(starts, y, seed=0)
    generator = torch.Generator().manual_seed(2)
    flow.network = [p.detach() + 0.1 * torch.randn(p.shape, generator=generator) for p in flow.network]
    rows = y[:6]
    with torch.no_grad():
        found = flow.log_density(torch.tensor(rows, dtype=torch.float32)).numpy()
    flow.best = flow.network  # `codes` are those of the best network
    columns = [0, 3, 1, 2]
    blocks = (slice(0, 2), slice(2, 3), slice(3, 4))
    for c in range(2):
        bend = flow.codes(c)
        z = bend(rows)[:, columns]
        slope = np.stack([(bend(rows + 1e-5 * e) - bend(rows - 1e-5 * e)) / 2e-5 for e in EYE], 2)
        expected = np.log(np.abs(np.linalg.det(slope)))
        for number, block in enumerate(blocks):
            logits, centre, diagonal, lower = (p[c].detach().double().numpy() for p in flow.mixtures[4 * number :][:4])
            weights = np.exp(logits) / np.exp(logits).sum()
            density = 0.0
            for w, m, d, low in zip(weights, centre, np.exp(diagonal), lower):
                factor = np.tril(low, -1) + np.diag(d)
                covariance = np.linalg.inv(factor.T @ factor)
                density = density + w * multivariate_normal(m, covariance).pdf(z[:, block])
            expected = expected + np.log(density)
        np.testing.assert_allclose(found[c], expected, rtol=1e-4, atol=1e-3)


def test_a_flow_begins_at_its_start():
    y = two_rings(300)
    rotation = np.linalg.qr(np.random.default_rng(3).standard_normal((4, 4)))[0]
    flow = _Flow([Start(rotation, ((2, 0), (1, 3)))], y, seed=0)
    np.testing.assert_allclose(flow.codes(0)(y), y @ rotation, atol=1e-5)


def test_rows_held_out_are_others():
    fitted, judging = held_out_rows(500)
    assert sorted([*fitted, *judging]) == list(range(500))
    assert len(judging) == 100


@pytest.fixture(scope="module")
def unbent():
    """A bent pair of rings, from a partition that is right and one that is wrong."""
    z = two_rings()
    y = bent(z)
    y = (y - y.mean(0)) @ np.linalg.inv(np.linalg.cholesky(np.cov(y.T))).T
    starts = [Start(EYE, groups) for groups in (WRONG, PAIRS, ((0, 3), (1, 2)))]
    return z, y, unbend(y, starts, steps=400)


def test_bent_groups_are_unbent(unbent):
    z, y, (_, best) = unbent
    assert best.start.groups == PAIRS
    assert best.likelihood > best.linear_likelihood + 0.3
    before, after = (align(codes, z, PAIRS, PAIRS).r2 for codes in (y, best.codes(y)))
    assert after > before + 0.1
    assert after > 0.95


def test_the_first_goes_on_and_of_the_others_the_better_half(unbent):
    """Of three starts, the first and the best of the others; these likeliest first."""
    _, y, found = unbent
    assert [each.start.groups for each in found] == [WRONG, PAIRS]
    assert found[1].likelihood > found[0].likelihood
    several = unbend(y, [Start(EYE, WRONG), Start(EYE, ((0, 3), (1, 2))), Start(EYE, PAIRS)], steps=50)
    assert [each.start.groups for each in several] == [WRONG, PAIRS, ((0, 3), (1, 2))]


def test_likelihoods_are_those_of_rows_held_out(unbent):
    """What is said of the network that is kept: by its log-density with the mixtures of before a step is taken."""
    y = two_rings(600)
    (found,) = unbend(y, [Start(EYE, PAIRS)], steps=0)
    fitted, judging = held_out_rows(600)
    flow = _Flow([Start(EYE, PAIRS)], y[fitted], seed=0)
    with torch.no_grad():
        expected = flow.log_density(torch.tensor(y[judging], dtype=torch.float32)).double().mean()
    assert found.likelihood == found.linear_likelihood == pytest.approx(float(expected), abs=1e-5)


def test_nothing_is_gained_where_nothing_is_bent():
    (found,) = unbend(two_rings(3000), [Start(EYE, PAIRS)], steps=300)
    z = two_rings(1000, seed=1)
    assert found.likelihood - found.linear_likelihood < 0.1  # mixtures go on learning
    assert align(found.codes(z), z, PAIRS, PAIRS).r2 > 0.99


def test_a_seed_decides_and_generators_are_left_alone():
    y, states = bent(two_rings(300)), []
    for seed in (1, 2):
        torch.manual_seed(seed)
        before = torch.get_rng_state()
        states.append(unbend(y, [Start(EYE, PAIRS)] * 3, steps=160)[0].codes(y))
        assert torch.equal(torch.get_rng_state(), before)
    np.testing.assert_array_equal(*states)
    assert not np.array_equal(states[0], unbend(y, [Start(EYE, PAIRS)] * 3, seed=1, steps=160)[0].codes(y))


def test_moments_go_on_after_halving(monkeypatch):
    """Of three starts one is given up: the others go on as if all had."""
    y, starts = bent(two_rings(300)), [Start(EYE, groups) for groups in (WRONG, PAIRS, PAIRS)]
    ended = []
    for halved in ((50,), ()):
        monkeypatch.setattr(_unbending, "HALVED_AT", halved)
        ended.append(unbend(y, starts, steps=100))
    assert [len(each) for each in ended] == [2, 3]
    for found in ended[0]:
        assert np.abs(found.codes(y) - y).max() > 0.05
        assert min(np.abs(each.codes(y) - found.codes(y)).max() for each in ended[1]) < 1e-5
