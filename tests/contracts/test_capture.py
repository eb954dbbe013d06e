"""On a GPU every method trains inside a CUDA graph, and the graph does what the plain steps do."""

import numpy as np
import pytest
import torch

from partita.recipes import RECIPES, build
from partita.recipes._equation import keywords
from partita.training import Checkpoints, Ensemble, Interrupted, fit

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")]

HOUSE = {"latents": 4, "shape": (8,), "network": "mlp", "hidden": (16,), "likelihood": "gaussian", "labels": 2}
CASES = [(method, {}) for method in RECIPES]
GROUPED = [method for method in RECIPES if "groups" in keywords(RECIPES[method]) and method != "ica"]  # a closed form
CASES += [(method, {"groups": ((0, 3), (1,), (2,))}) for method in GROUPED]
CASES += [("pdisvae", {"groups": ((0, 3), (1, 2)), "posterior": family}) for family in ("correlated", "full")]


@pytest.mark.parametrize(("method", "options"), CASES, ids=str)
def test_captured_steps_are_the_plain_ones(method, options):
    x = np.random.default_rng(0).normal(size=(60, 8)).astype(np.float32)
    recipe = build(method, **options, **HOUSE).recipe
    labels = {"u": 0.5 + 0.4 * np.tanh(x[:, :2]), "labelled": np.arange(60) % 2 == 0}

    def ensemble() -> Ensemble:
        return Ensemble([recipe] * 2, [0, 1], x, batch_size=20, device=torch.device("cuda"), **labels)

    captured, plain = ensemble(), ensemble()
    captured.advance(10)
    if not recipe.players:
        return
    steps = (plain.draws.index(0, 10), plain.draws.noise(0, 10))
    for step, (index, noise) in enumerate(zip(*steps)):
        plain.take_step(index, noise, plain.values(step, 1)[0])
    for name, value in plain.parameters.items():
        torch.testing.assert_close(captured.parameters[name], value, rtol=1e-3, atol=1e-4)


def test_a_step_that_cannot_be_recorded_is_taken_plainly(caplog, monkeypatch):
    """A method that waits for the device in its step: the same numbers, and a word about it."""
    x = np.random.default_rng(0).normal(size=(60, 8)).astype(np.float32)
    recipe = RECIPES["vae"](**HOUSE)

    def ensemble() -> Ensemble:
        return Ensemble([recipe] * 2, [0, 1], x, batch_size=20, device=torch.device("cuda"))

    captured, plain = ensemble(), ensemble()
    captured.advance(20)
    step = Ensemble.take_step

    def waiting(self, *arguments):
        torch.ones((), device="cuda").item()
        step(self, *arguments)

    monkeypatch.setattr(Ensemble, "take_step", waiting)
    plain.advance(10)
    plain.advance(10)
    assert "run one by one" in caplog.text
    for name, value in plain.parameters.items():
        torch.testing.assert_close(captured.parameters[name], value, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("method", ["pdisvae", "factor_vae", "idvae"])
def test_an_ensemble_is_its_solo_runs(method):
    """Gradients of the first step to rounding, the log of ten steps nearly so: Adam begins with the signs of gradients,
    and a sign may turn where one is 0 but for rounding."""
    x = np.random.default_rng(0).normal(size=(60, 8)).astype(np.float32)
    recipe = RECIPES[method](**HOUSE)
    labels = {"u": 0.5 + 0.4 * np.tanh(x[:, :2])}

    def trained(seeds: list[int]) -> tuple[dict[str, torch.Tensor], np.ndarray]:
        runs = Ensemble([recipe] * len(seeds), seeds, x, batch_size=20, device=torch.device("cuda"), **labels)
        runs.advance(1)
        gradients = {name: value.clone() for name, value in runs.state().items() if "/exp_avg/" in name}
        runs.advance(9)
        return gradients, runs.read_quantities(10)

    gradients, quantities = trained([3, 5, 8])
    for position, seed in enumerate([3, 5, 8]):
        alone, log = trained([seed])
        for name, value in alone.items():
            assert (gradients[name][position] - value[0]).norm() <= 1e-4 * value[0].norm(), name
        np.testing.assert_allclose(quantities[:, position], log[:, 0], rtol=5e-3, atol=5e-3)


@pytest.mark.parametrize("precision", ["float32", "bf16"])
def test_a_resumed_run_continues_identically(tmp_path, precision):
    x = (np.random.default_rng(0).random((300, 1, 32, 32)) < 0.1).astype(np.uint8)
    house = {"latents": 4, "shape": (1, 32, 32), "network": "burgess", "likelihood": "bernoulli"}
    recipe = RECIPES["beta_tcvae"](precision=precision, **house)

    def runs() -> Ensemble:
        return Ensemble([recipe] * 3, [0, 1, 2], x, batch_size=50, device=torch.device("cuda"))

    straight = runs()
    fit(straight, 60, log_every=20)
    kept, asked = Checkpoints(tmp_path, ("a", "b", "c")), iter([False, False, True])
    with pytest.raises(Interrupted):
        fit(runs(), 60, log_every=20, checkpoints=kept, stop=lambda: next(asked))
    resumed = runs()
    fit(resumed, 60, log_every=20, checkpoints=kept)
    assert all(torch.equal(value, resumed.parameters[name]) for name, value in straight.parameters.items())
