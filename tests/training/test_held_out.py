"""Rows held out: what is said of them, and whose weights are kept."""

import numpy as np
import pytest
import torch

from partita import Disentangler
from partita.data import load
from partita.recipes import HoldOut, build
from partita.training import Ensemble, Model, fit
from partita.training.program import train_models

CPU = torch.device("cpu")
HOUSE = {"latents": 6, "shape": (20,), "network": "mlp", "hidden": (64,), "likelihood": "gaussian:0.05"}


def ensemble(method="vae", seeds=(0, 1), **options) -> Ensemble:
    recipe = build(method, learning_rate=1e-2, **HOUSE | options).recipe
    x = load("groups", size=150).x
    return Ensemble([recipe] * len(seeds), list(seeds), x, batch_size=32, device=CPU, hold_out=HoldOut(0.2))


def test_the_loss_is_that_of_the_rows_held_out_in_float64():
    """Written out: -log p(x|z) + KL of the rows held out, with the run's own noise for them, the same at each look."""
    runs = ensemble()
    history = fit(runs, 30, log_every=10)
    held = runs.held_out
    x = load("groups", size=150).x[runs.split.judging]
    for run in range(2):
        model = Model(runs.recipe, runs.model(run), dtype=torch.float64)
        mean, log_variance = model.posterior(x)
        z = mean + np.exp(0.5 * log_variance) * held.noise[run].double().numpy()
        recon = 0.5 * (np.square(x - model.decode(z)) / 0.05 + np.log(2 * np.pi * 0.05)).sum(1).mean()
        kl = 0.5 * (mean**2 + np.exp(log_variance) - 1 - log_variance).sum(1).mean()
        logged = history.of(run)
        assert logged["held_out_recon"][-1] == pytest.approx(recon, rel=1e-5)
        assert logged["held_out_loss"][-1] == pytest.approx(recon + kl, rel=1e-5)


def test_weights_that_move_are_judged_where_they_end():
    runs = ensemble("annealed_vae", capacity=3.0, anneal=1000, gamma=10.0)
    history = fit(runs, 20, log_every=10).of(0)
    expected = history["held_out_recon"] + 10 * np.abs(history["held_out_kl"] - 3.0)
    np.testing.assert_allclose(history["held_out_loss"], expected, rtol=1e-5)


def test_the_best_weights_are_kept_and_training_stops():
    """A network that remembers 120 rows: its held-out loss falls, then rises."""
    program = build("vae", validation=0.2, patience=5, learning_rate=1e-2, **HOUSE)
    x = load("groups", size=150).x
    made = []

    def make(recipes, seeds, program, candidate):
        made.append(Ensemble(recipes, seeds, x, batch_size=32, device=CPU, hold_out=program.hold_out))
        return made[-1]

    (trained,) = train_models([program], [0], make, 3000, log_every=10)
    losses = trained.history.of(0)["held_out_loss"]
    best = int(losses.argmin())
    assert trained.step == trained.history.steps[-1] == trained.history.steps[best] + 50 < 3000
    assert trained.kept_step == trained.history.steps[best]
    (again,) = train_models(
        [build("vae", learning_rate=1e-2, validation=0.2, patience=0, **HOUSE)],
        [0],
        make,
        trained.kept_step,
        log_every=10,
    )
    for name, value in again.model.items():
        assert torch.equal(trained.model[name], value)


def test_a_good_start_is_left_only_for_weights_that_reconstruct_no_worse():
    """A better bound alone is not enough: groups that are bent until they look like the prior raise it, too."""
    recipe = build("vae", **HOUSE).recipe
    x = load("groups", size=150).x
    runs = Ensemble([recipe] * 3, [0, 1, 2], x, batch_size=32, device=CPU, hold_out=HoldOut(0.2, by="bound"))
    runs.watch_held_out(10, keep_best=True, patience=None)
    held = runs.held_out
    first = held.first_recon.clone()
    assert torch.isfinite(first).all()
    start = {name: value.clone() for name, value in held.best.items()}
    bound = held.best_loss.clone()
    for p in runs.parameters.values():
        p.data += 1.0
    held.step.fill_(10)
    change = torch.tensor([[1.0, -1.0, -1.0], [-3.0, -1.0, 3.0]])  # of recon and KL, of three models
    held._note(torch.stack([first, bound - first]) + change)
    for name, value in held.best.items():
        assert [bool(value[e].equal(start[name][e])) for e in range(3)] == [True, False, True]
    assert held.best_step.tolist() == [0, 10, 0]
    assert torch.equal(held.first_recon, first)
    assert "held_out/first_recon" in runs.state()  # so that a run that goes on asks the same


def test_an_estimator_says_what_it_held_out(tmp_path):
    x = load("groups", size=300).x
    model = Disentangler("vae", validation="blocks:0.2", steps=60, network="linear", device="cpu").fit(x)
    assert {"held_out_loss", "held_out_recon", "held_out_kl"} < set(model.history_)
    with pytest.raises(ValueError, match="validation must be a share"):
        Disentangler("vae", validation="some", steps=2).fit(x)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("method", ["vae", "pdisvae", "control_vae", "factor_vae"])
def test_a_look_on_a_gpu_is_the_one_on_the_cpu(method):
    """By a graph that is recorded once, at parameters that have moved since."""
    recipe = build(method, learning_rate=1e-2, **HOUSE).recipe
    x = load("groups", size=300).x
    runs = Ensemble([recipe] * 3, [0, 1, 2], x, batch_size=32, device=torch.device("cuda"), hold_out=HoldOut(0.2))
    runs.watch_held_out(10, keep_best=True, patience=2)
    runs.held_out.look()
    runs.advance(10)
    found = runs.held_out.look()
    plain = Ensemble([recipe] * 3, [0, 1, 2], x, batch_size=32, device=CPU, hold_out=HoldOut(0.2))
    plain.load_state({name: value.cpu() for name, value in runs.state().items()}, 10)
    plain.watch_held_out(10, keep_best=True, patience=2)
    np.testing.assert_allclose(found, plain.held_out.look(), rtol=2e-3, atol=2e-3)
