import numpy as np
import pytest
import torch
from scipy.stats import normaltest
from torch.distributions import Normal, kl_divergence

from partita.data.shapes import SHAPES
from partita.structure import dummies, effective_rank
from partita.structure.rank import _kl_along


def with_dummies(shapes, gaussian, seed, n=2000):
    rng = np.random.default_rng(seed)
    parts = [SHAPES[shape].draw(n, h, rng) for shape, h in shapes] + [rng.standard_normal((n, gaussian))]
    x = np.concatenate(parts, 1)
    x = (x - x.mean(0)) / x.std(0)
    return x @ np.linalg.qr(rng.standard_normal((x.shape[1], x.shape[1])))[0]


@pytest.mark.parametrize(
    ("shapes", "gaussian"), [([("uniform", 1)], 1), ([("two_peaks", 1)], 2), ([("bowtie", 2)], 1), ([("ring", 2)], 0)]
)
def test_rank_is_dimensions_minus_gaussian_directions(shapes, gaussian):
    rank = sum(h for _, h in shapes)
    found = [effective_rank(with_dummies(shapes, gaussian, seed), (rank + gaussian,)) for seed in range(4)]
    # the normality test rejects a true dummy at its own level, so one miss in four is allowed
    assert sum(ranks == (rank,) for ranks in found) >= 3


def test_a_bowtie_passes_the_normality_test_in_some_direction_and_keeps_its_rank():
    x = SHAPES["bowtie"].draw(2000, 2, np.random.default_rng(0))
    x = (x - x.mean(0)) / x.std(0)
    angles = np.deg2rad(np.arange(0, 180, 1))
    p_values = [normaltest(x @ [np.cos(a), np.sin(a)]).pvalue for a in angles]
    assert max(p_values) > 0.05
    assert effective_rank(x, (2,)) == (2,)


def test_groups_are_judged_one_by_one_and_dead_latents_are_dummies():
    rng = np.random.default_rng(1)
    codes = np.concatenate([SHAPES["moons"].draw(2000, 2, rng), np.zeros((2000, 1)), rng.uniform(-1, 1, (2000, 1))], 1)
    assert effective_rank(codes, (2, 1, 1)) == (2, 0, 1)
    assert effective_rank(codes, ((0, 1), (2, 3))) == (2, 1)
    only = dummies(codes, (2, 1, 1))
    assert [dummy.group for dummy in only] == [1]
    assert only[0].variance == 0.0


def test_a_dummy_says_which_direction_it_is():
    x = with_dummies([("uniform", 1)], 1, seed=1)
    (dummy,) = dummies(x, (2,))
    projection = x @ dummy.direction
    assert projection.std() == pytest.approx(1, abs=0.01)
    assert dummy.p_value > 0.05
    assert dummy.dependence < 0.05
    with pytest.raises(ValueError, match="at least 20 rows"):
        effective_rank(x[:10], (2,))


def posteriors(variance, n=2000, seed=0):
    """Means and log-variances of latents whose aggregated posterior is the standard normal, one variance a latent."""
    variance = np.asarray(variance, float)
    mean = np.sqrt(1 - variance) * np.random.default_rng(seed).standard_normal((n, len(variance)))
    return mean, np.broadcast_to(np.log(variance), mean.shape)


def test_informative_gaussian_latents_are_no_dummies():
    mean, log_variance = posteriors([0.05, 0.05])
    assert effective_rank(mean, (1, 1)) == (0, 0)  # codes alone cannot tell
    assert effective_rank(mean, (1, 1), log_variance=log_variance) == (1, 1)
    assert effective_rank(mean, (2,), log_variance=log_variance) == (2,)
    mean, log_variance = posteriors([0.99, 0.98])
    assert effective_rank(mean, (1, 1), log_variance=log_variance) == (0, 0)
    assert effective_rank(mean, (2,), log_variance=log_variance) == (0,)


@pytest.mark.parametrize("turn", [0.0, 0.3])
def test_an_empty_latent_beside_an_informative_one_in_a_group(turn):
    """Both are Gaussian, so any direction between them passes for a Gaussian; only the empty one is a dummy."""
    mean, log_variance = posteriors([0.05, 0.99, 0.99], seed=3)
    c, s = np.cos(turn), np.sin(turn)
    mean[:, :2] = mean[:, :2] @ np.array([[c, s], [-s, c]])
    assert effective_rank(mean, (3,), log_variance=log_variance, kl=0.3) == (1,)
    found = dummies(mean, (3,), log_variance=log_variance, kl=0.3)
    for dummy in found:
        unit = dummy.direction / np.linalg.norm(dummy.direction)
        assert abs(unit @ [c, s, 0]) < 0.05
        assert (mean @ dummy.direction).std() == pytest.approx(1, abs=1e-6)


def test_the_kl_of_a_direction_is_that_of_the_projected_posteriors():
    rng = np.random.default_rng(4)
    mean, log_variance = rng.normal(size=(30, 3)), rng.normal(size=(30, 3))
    direction = rng.normal(size=3)
    unit = direction / np.linalg.norm(direction)
    expected = [
        kl_divergence(Normal(m, v**0.5), Normal(0.0, 1.0)).item()
        for m, v in zip(
            torch.tensor(mean @ unit), torch.tensor([unit @ np.diag(np.exp(row)) @ unit for row in log_variance])
        )
    ]
    assert _kl_along(direction, mean, np.exp(log_variance)) == pytest.approx(np.mean(expected), rel=1e-12)


def test_a_matched_gaussian_latent_has_the_kl_of_its_channel():
    """Aggregated to the prior, KL is the information: -log(variance) / 2."""
    for variance in (0.9, 0.5, 0.05):
        mean, log_variance = posteriors([variance], n=200_000)
        assert _kl_along(np.ones(1), mean, np.exp(log_variance)) == pytest.approx(-0.5 * np.log(variance), abs=0.005)


def test_dead_latents_say_their_kl_and_shapes_must_agree():
    mean = np.concatenate([SHAPES["ring"].draw(500, 2, np.random.default_rng(5)), np.zeros((500, 1))], 1)
    log_variance = np.log(np.broadcast_to([0.1, 0.1, 1.0], mean.shape))
    (dead,) = dummies(mean, (2, 1), log_variance=log_variance)
    assert (dead.group, dead.kl) == (1, 0.0)
    assert dummies(mean, (2, 1))[0].kl is None
    with pytest.raises(ValueError, match="they must agree"):
        dummies(mean, (2, 1), log_variance=log_variance[:, :2])
