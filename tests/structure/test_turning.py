"""Turns to the likeliest rotation, against a grid of angles and against what ICA finds on the same rows."""

import numpy as np
import pytest
import torch

from partita.measures._ica import picard
from partita.structure._group_densities import components_of, densities_of, log_density
from partita.structure._turning import likeliest_turn


def white(z):
    z = z - z.mean(0)
    return z @ np.linalg.inv(np.linalg.cholesky(z.T @ z / len(z))).T


def plane(angle):
    return np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])


def told(codes):
    """The mean log-density of two independent coordinates, each by a mixture fitted to it."""
    each = torch.tensor(codes.T[:, :, None], dtype=torch.float32)
    return float(log_density(each, *densities_of(each, 0, components_of(1, len(codes)))).sum(0).mean())


@pytest.mark.parametrize("astray", [-0.3, 0.2])
def test_two_coordinates_are_turned_to_the_best_angle_of_a_grid(astray):
    rng = np.random.default_rng(0)
    y = white(np.stack([rng.uniform(-1, 1, 1500), rng.exponential(size=1500)], 1))
    found, likelihood = likeliest_turn(y, plane(astray), ((0,), (1,)))
    grid = np.deg2rad(np.arange(-20, 20.1, 0.5))
    best = max(grid, key=lambda angle: told(y @ plane(angle)))
    assert np.arctan2(found[1, 0], found[0, 0]) == pytest.approx(best, abs=np.deg2rad(1))
    assert likelihood == pytest.approx(told(y @ plane(best)), abs=0.02)
    np.testing.assert_allclose(found @ found.T, np.eye(2), atol=1e-12)


def test_few_rows_are_unmixed_better_than_by_ica():
    """What a column of the rotation has of other coordinates: skewed ones say more than the one curve of Picard-O
    hears, and densities of their own hear it. Where that curve is the right one, nothing much is lost."""
    for draw, most in ((np.random.Generator.standard_exponential, 0.2), (np.random.Generator.laplace, 1.5)):
        missed = []
        for seed in range(10):
            rng = np.random.default_rng(seed)
            z = draw(rng, size=(400, 4))
            left, _, right = np.linalg.svd((z - z.mean(0)) / z.std(0), full_matrices=False)
            y = left @ right * 20
            by_ica = picard(y, 0).T
            by_turn, _ = likeliest_turn(y, by_ica, ((0,), (1,), (2,), (3,)))
            missed.append([1 - np.mean(np.max(rotation**2, 0)) for rotation in (by_ica, by_turn)])
        assert np.mean(missed, 0)[1] < most * np.mean(missed, 0)[0]


def test_a_turn_inside_a_group_is_as_likely():
    rng = np.random.default_rng(0)
    angle = rng.uniform(0, 2 * np.pi, 1000)
    y = white(np.stack([np.cos(angle), np.sin(angle), rng.uniform(-1, 1, 1000)], 1))
    inside = np.eye(3)
    inside[:2, :2] = plane(0.7)
    one, other = (likeliest_turn(y, rotation, ((0, 1), (2,)))[1] for rotation in (np.eye(3), inside))
    assert one == pytest.approx(other, abs=0.03)
