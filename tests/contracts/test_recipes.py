"""What every method must do, whatever it is; a new row of RECIPES is tested here without a new line."""

import json

import numpy as np
import pytest
import torch

from partita.cli.values import parse_options
from partita.recipes import RECIPES, build
from partita.recipes._equation import keywords, weight_names
from partita.studies.run import Run
from partita.training import Checkpoints, Ensemble, History, Model, fit
from partita.training.objective import values_at
from partita.training.program import replica_seeds, train_models

CPU = torch.device("cpu")
HOUSE = {"latents": 4, "shape": (8,), "network": "mlp", "hidden": (16,), "likelihood": "gaussian", "labels": 2}
methods = pytest.mark.parametrize("method", RECIPES)


@pytest.fixture(scope="module")
def x():
    rng = np.random.default_rng(0)
    return (rng.uniform(-1, 1, (60, 2)) @ rng.normal(size=(2, 8)) + 0.1 * rng.normal(size=(60, 8))).astype(np.float32)


# of a discriminator or a conditional prior, where there is one
SMALL = {"width": 16, "depth": 2, "prior_width": 64, "prior_depth": 2}


def recipe(method, **options):
    small = {name: size for name, size in SMALL.items() if name in keywords(RECIPES[method])}
    return build(method, **small | options, **HOUSE).recipe


def ensemble(method, x, seeds=(0,), recipes=None, **settings):
    recipes = recipes or [recipe(method)] * len(seeds)
    u = 0.5 + 0.4 * np.tanh(x[:, :2])  # methods without labels look away
    labelled = np.arange(len(x)) % 2 == 0
    finish = build(method, **HOUSE).candidates[0].finish
    settings |= {"u": u, "labelled": labelled, "batch_size": 20, "finish": finish}
    return Ensemble(recipes, list(seeds), x, device=CPU, **settings)


trained = pytest.mark.parametrize("method", [name for name in RECIPES if recipe(name).players])


@trained
def test_each_player_lowers_its_own_objective(method, x):
    """On one batch, while the others stand still."""
    runs = ensemble(method, x, seeds=(0, 1))
    index, noise, values = runs.draws.index(0, 1)[0], runs.draws.noise(0, 1)[0], runs.values(0, 1)[0]
    carry = runs.carried.shown(index)
    for turn, (player, optimiser) in enumerate(zip(runs.recipe.players, runs.optimisers)):
        owned = list(runs.owned(player).values())
        losses = []
        for _ in range(30):
            loss = runs._batched(turn)(runs.parameters, carry, runs._observe(index), noise, values)[0]
            losses.append(loss.detach())
            for p, gradient in zip(owned, torch.autograd.grad(loss.sum(), owned)):
                p.grad = gradient.contiguous()
            optimiser.step()
        assert (losses[-1] < losses[0]).all()


@pytest.mark.parametrize("method", [name for name in RECIPES if len(recipe(name).players) == 1])
def test_training_lowers_the_objective(method, x):
    """On fresh batches; with several players an objective may rise because of the others."""
    runs = ensemble(method, x, seeds=(0, 1))
    runs.advance(20)
    before = runs.read_quantities(20)
    runs.advance(200)
    runs.read_quantities(200)
    runs.advance(20)
    assert (runs.read_quantities(20)[0] < before[0]).all()


@trained
def test_gradients_reach_exactly_the_owned_networks(method, x):
    runs = ensemble(method, x)
    for player in runs.recipe.players:
        assert runs.owned(player)
    owners = [name for player in runs.recipe.players for name in runs.owned(player)]
    assert sorted(owners) == sorted(runs.parameters)
    before = {name: p.detach().clone() for name, p in runs.parameters.items()}
    runs.advance(1)
    assert all(not torch.equal(before[name], p) for name, p in runs.parameters.items())


@methods
def test_an_ensemble_equals_solo_runs(method, x):
    """E models at once, with different seeds and different weights, are the E models one by one. Ten steps: in a game
    Adam makes more and more of rounding."""
    swept = weight_names(RECIPES[method])
    options = [dict.fromkeys(swept, 0.5 + i) for i in range(3)]
    recipes = [recipe(method, **chosen) for chosen in options]
    together = ensemble(method, x, (5, 6, 7), recipes)
    together.advance(10)
    for position, (seed, own) in enumerate(zip((5, 6, 7), recipes)):
        alone = ensemble(method, x, (seed,), [own])
        alone.advance(10)
        for name, value in alone.model(0).items():
            torch.testing.assert_close(together.model(position)[name], value, rtol=2e-4, atol=2e-5)


# Between them every operation of our own, several players, labels, and a prior with parameters.
TRACED_BACKWARD = ("pdisvae", "rtc_vae", "idvae", "isa_vae")


@methods
def test_the_whole_loss_is_one_graph(method, x):
    """No graph break: traced by dynamo, of some methods by autograd's tracer too, and run without code generation."""
    torch._dynamo.reset()
    backend = "aot_eager" if method in TRACED_BACKWARD else "eager"
    runs = ensemble(method, x, (0, 1))
    index, noise = runs.draws.index(0, 1)[0], runs.draws.noise(0, 1)[0]
    for turn in range(len(runs.recipe.players)):
        traced = torch.compile(runs._batched(turn), fullgraph=True, dynamic=False, backend=backend)
        carry = runs.carried.shown(index)
        arguments = (runs.parameters, carry, runs._observe(index), noise, runs.values(0, 1)[0])
        expected, found = runs._batched(turn)(*arguments)[0], traced(*arguments)[0]
        torch.testing.assert_close(found, expected)


@methods
def test_checkpoint_round_trip(method, x, tmp_path):
    runs = ensemble(method, x, (0, 1))
    kept = Checkpoints(tmp_path, ("a", "b"))
    history = fit(runs, 12, log_every=5, checkpoints=kept)
    again, restored = ensemble(method, x, (0, 1)), History(runs.quantity_names, 2)
    assert kept.restore(again, restored)
    assert again.step == 12
    assert restored.steps == history.steps == [5, 10, 12]
    for name, value in runs.state().items():
        assert torch.equal(again.state()[name], value)


@methods
def test_a_run_is_json_and_comes_back(method):
    options = {"latents": 4} | dict.fromkeys(weight_names(RECIPES[method]), 2.0)
    house = {
        key: list(value) if isinstance(value, tuple) else value for key, value in HOUSE.items() if key != "latents"
    }
    run = Run(method, options, house, {"name": "groups", "options": {}}, 10, 5, 1e-3, 0)
    back = Run.from_json(json.loads(json.dumps(run.as_json())))
    assert back.id == run.id
    assert back.recipe.structure == run.recipe.structure
    assert values_at(back.recipe, 3) == values_at(run.recipe, 3)


@methods
def test_every_keyword_is_a_flag(method):
    flags = []
    for name, parameter in keywords(RECIPES[method]).items():
        if name not in ("latents", "groups"):
            flags += [f"--{name.replace('_', '-')}", str(parameter.default)]
    parsed = parse_options(flags, method)
    build(method, **{name: values[0] for name, values in parsed.items()}, **HOUSE)


@methods
def test_a_trained_model_encodes_and_decodes(method, x):
    """One row at a time or all at once: the code of a row is its own."""
    runs = ensemble(method, x)
    runs.advance(5)
    model = Model(runs.recipe, runs.model(0), dtype=torch.float64)
    mean, log_variance = model.posterior(x)
    assert mean.shape == log_variance.shape == (len(x), 4)
    assert model.decode(mean).shape == x.shape
    np.testing.assert_allclose(model.posterior(x[7:8])[0], mean[7:8], rtol=1e-9, atol=1e-12)


@methods
def test_the_docstring_says_what_the_method_is(method):
    text = RECIPES[method].__doc__
    assert text
    if "beta" in keywords(RECIPES[method]):
        assert "total" in text or "extra" in text, "say which of the two meanings beta has"


def made_by(method, x):
    def make(recipes, seeds, program, candidate):
        return ensemble(method, x, seeds, recipes, hold_out=program.hold_out)

    return make


def in_groups(method):
    return [None, (2, 2)] if "groups" in keywords(RECIPES[method]) else [None]


@pytest.mark.parametrize(
    ("method", "groups"), [(name, groups) for name in RECIPES if recipe(name).players for groups in in_groups(name)]
)
def test_restarts_train_several_models_and_keep_the_best(method, groups, x):
    """Of every method that is trained, so that none has more chances than another. What is kept is, to the last step,
    a run of its own: the one with the lowest loss late in training, whatever else its players minimise."""
    small = {name: size for name, size in SMALL.items() if name in keywords(RECIPES[method])}
    small |= {} if groups is None else {"groups": groups}
    program = build(method, restarts=3, **small, **HOUSE)
    assert program.replicas == 3
    (kept,) = train_models([program], [0], made_by(method, x), 10, log_every=1)
    assert kept.diverged is None
    if len(program.candidates[0].phases) > 1:  # groups are put together on the way
        assert kept.recipe.groups == ((0, 1), (2, 3))
        return
    plain = build(method, **small, **HOUSE)
    alone = [train_models([plain], [seed], made_by(method, x), 10, log_every=1)[0] for seed in replica_seeds(0, 3)]
    losses = [each.history.of(0)["loss"] for each in alone]
    best = int(np.argmin([loss[-2:].mean() for loss in losses]))
    np.testing.assert_allclose(kept.history.of(0)["loss"], losses[best], rtol=2e-4)
