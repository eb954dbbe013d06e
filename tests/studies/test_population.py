"""Rows that share a factor's value: the interventional scores they give are those of public code."""

import json
from pathlib import Path

import numpy as np
import pytest

from partita import metrics as m
from partita.studies._population import Population

FOLDER = Path(__file__).parents[1] / "golden"
GOLDEN = json.loads((FOLDER / "golden.json").read_text())["disentanglement_lib"]["sampled"]


@pytest.mark.parametrize("metric", ["beta_vae", "factor_vae"])
@pytest.mark.parametrize("name", ["b_rotated", "d_merged"])
def test_a_grid_scores_as_in_disentanglement_lib(name, metric):
    arrays = np.load(FOLDER / f"{name}.npz")
    population = Population(arrays["factors"], lambda: arrays["representation"].astype(float))
    score = getattr(m, metric)(None, population.factors, draw=population.draw)
    golden = GOLDEN[name][metric]["eval_accuracy"]
    assert abs(score.value - golden["mean"]) <= 4 * golden["std"] * np.sqrt(1 + 1 / golden["n"]) + 0.002


def test_draws_hold_what_is_fixed_and_leave_the_rest_as_it_is():
    rng = np.random.default_rng(0)
    factors = np.stack([rng.choice([-3, 5, 9], 600, p=[0.6, 0.3, 0.1]), rng.integers(4, size=600)], 1)
    factors[:, 1] += factors[:, 0] == 5  # not independent of the first
    population = Population(factors, lambda: factors + 0.0)
    wanted = rng.choice([-3, 5, 9], 20_000)
    drawn = population.draw({0: wanted}, len(wanted), rng)
    assert np.array_equal(drawn[:, 0], wanted)
    for value in (-3, 5, 9):
        there = factors[factors[:, 0] == value, 1]
        assert drawn[wanted == value, 1].mean() == pytest.approx(there.mean(), abs=0.05)
    free = population.draw({}, 20_000, rng)
    assert free.mean(0) == pytest.approx(factors.mean(0), abs=0.1)


def test_codes_are_made_once_and_only_when_drawn():
    made = []
    population = Population(np.zeros((3, 1), int), lambda: made.append(1) or np.zeros((3, 2)))
    assert not made
    for _ in range(3):
        population.draw({}, 5, np.random.default_rng(0))
    assert len(made) == 1
