"""ControlVAE: the controller step by step, and a KL that goes where it is told."""

import numpy as np
import pytest
import torch

from partita.data import load
from partita.recipes import RECIPES
from partita.training import Ensemble

HOUSE = {"latents": 6, "shape": (20,), "network": "linear", "likelihood": "gaussian:0.25", "learning_rate": 3e-3}


def runs(set_points, **options) -> Ensemble:
    recipes = [RECIPES["control_vae"](set_point=point, **HOUSE | options) for point in set_points]
    x = load("groups", size=1000).x
    return Ensemble(recipes, range(len(recipes)), x, batch_size=128, device=torch.device("cpu"))


def test_the_controller_is_the_papers_written_out():
    """I(t) = I(t-1) - ki e(t) unless beta was outside [0, most]; beta = kp / (1 + exp(e)) + I, e = set point - KL."""
    ensemble = runs([3.0], kp=0.5, ki=0.02, most=0.9)
    total, beta = 0.0, 0.0
    for _ in range(60):
        ensemble.advance(1)
        logged = dict(zip(ensemble.quantity_names, ensemble.read_quantities(1)[:, 0].astype(float)))
        error = 3.0 - logged["kl"]
        if 0 <= beta <= 0.9:
            total -= 0.02 * error
        beta = 0.5 / (1 + np.exp(error)) + total
        assert logged["beta"] == pytest.approx(min(max(beta, 0), 0.9), abs=1e-4)
        assert logged["controlled_kl"] == pytest.approx(logged["beta"] * logged["kl"], rel=1e-5)
        assert logged["loss"] == pytest.approx(logged["recon"] + logged["controlled_kl"], rel=1e-5)
        np.testing.assert_allclose(ensemble.carried.values["control"][0], [total, beta], atol=2e-4)


def test_the_kl_goes_to_its_set_point_whatever_weight_that_takes():
    points = [2.0, 5.0, 8.0]
    ensemble = runs(points, ki=0.01)
    ensemble.advance(4000)
    ensemble.read_quantities(1)
    ensemble.advance(500)
    logged = dict(zip(ensemble.quantity_names, ensemble.read_quantities(500)))
    np.testing.assert_allclose(logged["kl"], points, rtol=0.05)
    assert (np.diff(logged["beta"]) < 0).all()  # fewer nats cost more
