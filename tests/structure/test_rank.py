import numpy as np
import pytest
from scipy.stats import normaltest

from partita.data.shapes import SHAPES
from partita.structure import dummies, effective_rank


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
