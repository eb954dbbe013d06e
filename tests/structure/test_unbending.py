import numpy as np
import pytest
import torch

from partita.structure import _unbending, align
from partita.structure._bent_judges import cross_validated, of_rows_held_out
from partita.structure._unbending import Bend, Start, _Flow, held_out_rows, unbend

PAIRS, WRONG = ((0, 1), (2, 3)), ((0, 2), (1, 3))
EYE = np.eye(4)
STRAIGHT = Bend.straight(EYE)


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
    turned = [np.linalg.qr(np.random.default_rng(s).standard_normal((4, 4)))[0] for s in (0, 1)]
    starts = [Start(Bend.straight(rotation), groups) for rotation in turned]
    flow = _Flow(starts, y, seed=0)
    generator = torch.Generator().manual_seed(2)
    flow.network = [p.detach() + 0.1 * torch.randn(p.shape, generator=generator) for p in flow.network]
    rows = y[:6]
    with torch.no_grad():
        found = flow.log_density(torch.tensor(rows, dtype=torch.float32)).numpy()
    flow.best = flow.network  # `codes` are those of the best network
    columns = [0, 3, 1, 2]
    places = [(4 * number, place, block) for number, same in enumerate(flow.blocks) for place, block in enumerate(same)]
    assert [block for _, _, block in places] == [slice(2, 3), slice(3, 4), slice(0, 2)]
    for c in range(2):
        bend = flow.codes(c)
        z = bend(rows)[:, columns]
        slope = np.stack([(bend(rows + 1e-5 * e) - bend(rows - 1e-5 * e)) / 2e-5 for e in EYE], 2)
        expected = np.log(np.abs(np.linalg.det(slope)))
        for first, place, block in places:
            mixture = (p[c, place].detach().double().numpy() for p in flow.mixtures[first : first + 4])
            logits, centre, diagonal, lower = mixture
            weights = np.exp(logits) / np.exp(logits).sum()
            density = 0.0
            for w, m, d, low in zip(weights, centre, np.exp(diagonal), lower):
                factor = np.tril(low, -1) + np.diag(d)
                covariance = np.linalg.inv(factor.T @ factor)
                density = density + w * multivariate_normal(m, covariance).pdf(z[:, block])
            expected = expected + np.log(density)
        np.testing.assert_allclose(found[c], expected, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("peaks", [0.15, 0.5], ids=["no row in the fold", "rows in the fold"])
def test_no_fold_is_taken_for_a_likely_map(peaks):
    """Two peaks laid over each other have half the room, and so up to log 2 more density than there is. Against the
    density that the rows were drawn from."""
    rng = np.random.default_rng(0)
    side, n = rng.choice([-1.0, 1.0], 1200), 1200
    y = np.stack([side + peaks * rng.standard_normal(n), rng.uniform(-1, 1, n)], 1)
    halves = [np.exp(-0.5 * ((y[:, 0] - at) / peaks) ** 2) / (peaks * np.sqrt(2 * np.pi)) for at in (-1, 1)]
    truth = (np.log(0.5 * (halves[0] + halves[1])) - np.log(2))[held_out_rows(n)[1]].mean()
    # z = y - 1.25 tanh(2 y): rises through both peaks, and falls in the gap between them
    straight = Bend.straight(np.eye(2))
    enter, leave = straight.enter.copy(), straight.leave.copy()
    enter[0], leave[0, 0] = (2.0, 0.0), -1.25
    folded = Bend(np.eye(2), enter, straight.offset, leave, straight.shift)
    grid = np.stack([np.linspace(-1.5, 1.5, 7), np.zeros(7)], 1)
    assert (np.diff(folded(grid)[:, 0]) < 0).any()
    ended = unbend(y, [Start(folded, ((0,), (1,))), Start(straight, ((0,), (1,)))], steps=150)
    for each in ended:
        assert each.likelihood < truth + 0.05
    assert max(each.likelihood for each in ended) > truth - 0.15


def test_a_flow_begins_at_its_start():
    y = two_rings(300)
    rotation = np.linalg.qr(np.random.default_rng(3).standard_normal((4, 4)))[0]
    flow = _Flow([Start(Bend.straight(rotation), ((2, 0), (1, 3)))], y, seed=0)
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
    starts = [Start(STRAIGHT, groups) for groups in (WRONG, PAIRS, ((0, 3), (1, 2)))]
    return z, y, unbend(y, [*starts, Start(STRAIGHT, PAIRS, bends=False)], steps=300)


def test_bent_groups_are_unbent(unbent):
    z, y, (_, best, _, straight) = unbent
    assert best.start.groups == PAIRS
    assert best.likelihood > straight.likelihood + 0.3
    before, after = (align(codes, z, PAIRS, PAIRS).r2 for codes in (y, best.codes(y)))
    assert after > before + 0.1
    assert after > 0.95


def test_the_first_comes_first_then_the_likeliest_and_last_what_does_not_bend(unbent):
    _, y, found = unbent
    assert [each.start.groups for each in found] == [WRONG, PAIRS, ((0, 3), (1, 2)), PAIRS]
    assert [each.start.bends for each in found] == [True, True, True, False]
    assert found[1].likelihood > found[2].likelihood
    np.testing.assert_allclose(found[3].codes(y), y, atol=1e-5)


def test_on_the_way_the_first_goes_on_and_of_the_others_the_better_half():
    y = bent(two_rings(600))
    starts = [Start(STRAIGHT, groups) for groups in (WRONG, ((0, 3), (1, 2)), PAIRS)]
    assert [each.start.groups for each in unbend(y, starts, steps=100, settle=False)] == [WRONG, PAIRS]
    assert len(unbend(y, starts, steps=50, settle=False)) == 3


def test_a_fit_goes_on_from_where_another_ended():
    y = bent(two_rings(600))
    (one,) = unbend(y, [Start(STRAIGHT, PAIRS)], steps=100)
    (same,) = unbend(y, [one.on], steps=0)
    np.testing.assert_allclose(same.codes(y), one.codes(y), atol=1e-5)


def test_a_mapped_bend_is_the_map_of_its_coordinates():
    rng, bend = np.random.default_rng(1), random_bend()
    y, matrix, centre = rng.standard_normal((50, 4)), rng.standard_normal((4, 4)), rng.standard_normal(4)
    np.testing.assert_allclose(bend.mapped(matrix, centre)(y), (bend(y) - centre) @ matrix, atol=1e-9)


def test_the_volume_of_a_bend_is_that_of_its_jacobian():
    bend, y = random_bend(), np.random.default_rng(2).standard_normal((20, 4))
    slope = np.stack([(bend(y + 1e-5 * e) - bend(y - 1e-5 * e)) / 2e-5 for e in EYE], 2)
    np.testing.assert_allclose(bend.log_volume(y), np.log(np.abs(np.linalg.det(slope))), atol=1e-5)


def test_cross_validated_density_is_that_of_the_rows():
    """Against the density that rows were drawn from, seen through a bend: two coordinates and one, of Gaussians."""
    rng = np.random.default_rng(0)
    z = rng.standard_normal((3000, 3)) @ np.diag([1.0, 2.0, 0.5])
    scale = np.diag([2.0, 1.0, 0.5])
    y = z @ np.linalg.inv(scale)  # z = y @ scale
    truth = (-0.5 * (z / [1, 2, 0.5]) ** 2 - np.log([1, 2, 0.5]) - 0.5 * np.log(2 * np.pi)).sum(1).mean()
    expected = pytest.approx(truth + np.log(np.diag(scale)).sum(), abs=0.06)
    assert cross_validated(y, Bend.straight(scale), ((0, 2), (1,))) == expected
    _, judging = held_out_rows(3000, seed=1)
    own = (-0.5 * (z / [1, 2, 0.5]) ** 2 - np.log([1, 2, 0.5]) - 0.5 * np.log(2 * np.pi)).sum(1)[judging].mean()
    held = of_rows_held_out(y, Bend.straight(scale), ((0, 2), (1,)), seed=1)
    assert held == pytest.approx(own + np.log(np.diag(scale)).sum(), abs=0.06)


def test_likelihoods_are_those_of_rows_held_out(unbent):
    """What is said of the network that is kept: by its log-density with the mixtures of before a step is taken."""
    y = two_rings(600)
    (found,) = unbend(y, [Start(STRAIGHT, PAIRS)], steps=0)
    fitted, judging = held_out_rows(600)
    flow = _Flow([Start(STRAIGHT, PAIRS)], y[fitted], seed=0)
    with torch.no_grad():
        expected = flow.log_density(torch.tensor(y[judging], dtype=torch.float32)).double().mean()
    assert found.likelihood == pytest.approx(float(expected), abs=1e-5)


def test_nothing_is_gained_where_nothing_is_bent():
    found, straight = unbend(two_rings(3000), [Start(STRAIGHT, PAIRS), Start(STRAIGHT, PAIRS, bends=False)], steps=300)
    z = two_rings(1000, seed=1)
    assert abs(found.likelihood - straight.likelihood) < 0.02
    assert align(found.codes(z), z, PAIRS, PAIRS).r2 > 0.99


def test_a_seed_decides_and_generators_are_left_alone():
    y, states = bent(two_rings(300)), []
    for seed in (1, 2):
        torch.manual_seed(seed)
        before = torch.get_rng_state()
        states.append(unbend(y, [Start(STRAIGHT, PAIRS)] * 3, steps=160)[0].codes(y))
        assert torch.equal(torch.get_rng_state(), before)
    np.testing.assert_array_equal(*states)
    assert not np.array_equal(states[0], unbend(y, [Start(STRAIGHT, PAIRS)] * 3, seed=1, steps=160)[0].codes(y))


def test_moments_go_on_after_halving(monkeypatch):
    """Of three starts one is given up: the others go on as if all had."""
    y, starts = bent(two_rings(300)), [Start(STRAIGHT, groups) for groups in (WRONG, PAIRS, PAIRS)]
    ended = []
    for halved in ((50,), ()):
        monkeypatch.setattr(_unbending, "HALVED_AT", halved)
        ended.append(unbend(y, starts, steps=100, settle=False))
    assert [len(each) for each in ended] == [2, 3]
    for found in ended[0]:
        assert np.abs(found.codes(y) - y).max() > 0.05
        assert min(np.abs(each.codes(y) - found.codes(y)).max() for each in ended[1]) < 1e-5
