"""On a GPU every method trains inside a CUDA graph, and the graph does what the plain steps do."""

import numpy as np
import pytest
import torch

from partita.recipes import RECIPES
from partita.recipes.equation import keywords
from partita.training import Ensemble

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")]

HOUSE = {"latents": 4, "shape": (8,), "network": "mlp", "hidden": (16,), "likelihood": "gaussian", "labels": 2}
CASES = [(method, {}) for method in RECIPES]
CASES += [(method, {"groups": ((0, 3), (1,), (2,))}) for method in RECIPES if "groups" in keywords(RECIPES[method])]
CASES += [("pdisvae", {"groups": ((0, 3), (1, 2)), "posterior": family}) for family in ("correlated", "full")]


@pytest.mark.parametrize(("method", "options"), CASES, ids=str)
def test_captured_steps_are_the_plain_ones(method, options):
    x = np.random.default_rng(0).normal(size=(60, 8)).astype(np.float32)
    recipe = RECIPES[method](**options, **HOUSE)
    labels = {"u": 0.5 + 0.4 * np.tanh(x[:, :2]), "labelled": np.arange(60) % 2 == 0}

    def ensemble() -> Ensemble:
        return Ensemble([recipe] * 2, [0, 1], x, batch_size=20, device=torch.device("cuda"), **labels)

    captured, plain = ensemble(), ensemble()
    captured.advance(10)
    if not recipe.players:
        return
    steps = (plain.draws.index(0, 10), plain.draws.noise(0, 10))
    for step, (index, noise) in enumerate(zip(*steps)):
        plain.take_step(index, noise, plain.values(step))
    for name, value in plain.parameters.items():
        torch.testing.assert_close(captured.parameters[name], value, rtol=1e-3, atol=1e-4)
