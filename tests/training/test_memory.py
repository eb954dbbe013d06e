"""The memory an ensemble will take, against sums made by hand; and how many models fit."""

import pytest
import torch

from partita.recipes import RECIPES, build
from partita.training import memory
from partita.training.memory import bytes_a_model, in_words, models_that_fit

CPU = torch.device("cpu")
HOUSE = {"latents": 4, "shape": (64,), "network": "mlp", "hidden": (512, 512), "likelihood": "gaussian:1"}


def test_an_mlp_by_hand():
    """Wide layers and a large batch: hidden activations and parameters are nearly all there is."""
    batch, hidden = 4096, 512
    parameters = 2 * (64 * hidden + hidden * hidden) + hidden * (8 + 4) + 4 * hidden + 8 + 64
    activations = 4 * batch * hidden * 4  # four hidden layers, float32, each kept once
    expected = 16 * parameters + memory.BACKWARD * activations
    found = bytes_a_model(RECIPES["vae"](**HOUSE), 10000, batch, CPU)
    assert expected < found < 1.25 * expected


@pytest.mark.parametrize("method", RECIPES)
def test_every_method_has_a_prediction(method):
    recipe = build(method, latents=4, shape=(8,), network="mlp", likelihood="gaussian", labels=2).recipe
    found = bytes_a_model(recipe, 500, 32, CPU)
    assert (found > 0) == bool(recipe.players)


def test_more_rows_take_more_and_half_precision_less():
    house = {"latents": 4, "shape": (1, 32, 32), "network": "burgess", "likelihood": "bernoulli"}
    plain = bytes_a_model(RECIPES["vae"](**house), 1000, 64, CPU)
    assert bytes_a_model(RECIPES["vae"](**house), 1000, 128, CPU) > 1.5 * plain
    assert bytes_a_model(RECIPES["vae"](precision="bf16", **house), 1000, 64, CPU) < 0.8 * plain


def test_models_fit_into_what_is_free(monkeypatch):
    recipe = RECIPES["vae"](**HOUSE)
    each = bytes_a_model(recipe, 1000, 128, CPU)
    monkeypatch.setattr(memory, "free_bytes", lambda device: round((10.5 * each + memory.FIXED) / memory.USABLE))
    assert models_that_fit(recipe, 1000, 128, CPU, 64) == 10
    assert models_that_fit(recipe, 1000, 128, CPU, 4) == 4
    monkeypatch.setattr(memory, "free_bytes", lambda device: memory.FIXED)
    with pytest.raises(ValueError, match=r"one model of this kind needs about \d+ MB, and 419 MB are free on cpu"):
        models_that_fit(recipe, 1000, 128, CPU, 64)


def test_words():
    assert in_words(2.5e9) == "2.5 GB"
    assert in_words(12e6) == "12 MB"
