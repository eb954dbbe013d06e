import numpy as np
import pytest

from partita import metrics as m

SIZES = (3, 4, 2)
GRID = np.stack([column.ravel() for column in np.indices(SIZES)], 1)


def draw(fixed, n, rng):
    factors = np.stack([rng.integers(size, size=n) for size in SIZES], 1)
    for factor, values in fixed.items():
        factors[:, factor] = values
    return factors + 0.01 * rng.standard_normal(factors.shape)


@pytest.mark.parametrize("metric", [m.beta_vae, m.factor_vae])
def test_a_generator_replaces_the_grid(metric):
    by_draw = metric(None, GRID, draw=draw, train=2000, test=1000)
    by_grid = metric(GRID.astype(float), GRID, train=2000, test=1000)
    assert by_draw.value > 0.98
    assert by_grid.value > 0.98


@pytest.mark.parametrize("metric", [m.beta_vae, m.factor_vae])
def test_an_incomplete_grid_is_one_clear_line(metric):
    with pytest.raises(ValueError, match="23 of 3 x 4 x 2 are present") as caught:
        metric(GRID[:-1].astype(float), GRID[:-1])
    assert "\n" not in str(caught.value)


def test_repeated_rows_of_a_grid_are_drawn_alike():
    rng = np.random.default_rng(0)
    factors = np.tile(GRID, (3, 1))
    codes = factors + np.repeat([0.0, 0.1, 0.2], len(GRID))[:, None]
    score = m.factor_vae(codes[rng.permutation(72)], factors, train=500, test=200)
    assert np.isfinite(score.value)
    ordered = m.factor_vae(codes, factors, train=2000, test=1000)
    assert ordered.value > 0.9


def test_dead_latents_are_pruned_and_all_dead_is_zero():
    codes = np.concatenate([GRID, np.full((24, 1), 0.3)], 1)
    assert m.factor_vae(codes, GRID, train=500, test=200).parts["active"] == 3
    assert m.factor_vae(np.zeros((24, 2)), GRID, train=500, test=200).value == 0.0


def test_a_generator_that_returns_too_few_rows_is_one_clear_line():
    with pytest.raises(ValueError, match="returned 3"):
        m.beta_vae(None, GRID, draw=lambda fixed, n, rng: np.zeros((3, 2)), train=10, test=10)


def test_intervals_repeat_the_draws():
    rng = np.random.default_rng(1)
    codes = GRID @ rng.standard_normal((3, 3))
    score = m.factor_vae(codes, GRID, train=300, test=100, interval=0.9, resamples=8)
    assert score.settings["resampled"] == "draws"
    assert score.interval[0] < score.interval[1]
