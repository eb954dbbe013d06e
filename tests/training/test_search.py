import logging

import numpy as np
import pytest
import torch

from partita.data import load
from partita.estimator import Disentangler
from partita.recipes import RECIPES
from partita.recipes.closed_form import independent_coordinates
from partita.structure import align
from partita.training import Checkpoints, Interrupted, Model
from partita.training.history import History
from partita.training.latents import _first_layer, posterior_of
from partita.training.search import late_loss, regroup_latents, restart_seeds, train_models

CPU = torch.device("cpu")
HOUSE = {"latents": 6, "shape": (20,), "network": "linear", "likelihood": "gaussian:0.25", "learning_rate": 3e-3}


def test_the_first_restart_is_the_run_itself():
    seeds = restart_seeds(7, 4)
    assert seeds[0] == 7
    assert len(set(seeds)) == 4


@pytest.mark.parametrize("network", ["linear", "mlp"])
def test_regrouping_renames_latents_and_changes_nothing_else(data, network, make):
    """Every model decodes as before, and its codes are those before in another order, optimiser state included."""
    house = HOUSE | {"network": network, "hidden": (9,)}
    groups = ((0, 3), (1, 4), (2, 5))
    single, grouped = RECIPES["pdisvae"](**house), RECIPES["pdisvae"](groups=groups, **house)
    warm, onward = (make([recipe] * 2, [0, 1]) for recipe in (single, grouped))
    warm.advance(60)
    regroup_latents(warm, onward)
    assert onward.step == 60
    moved = False
    for position in range(2):
        before = Model(single, warm.model(position)).posterior(data.x)
        after = Model(grouped, onward.model(position)).posterior(data.x)
        order = [int(np.abs(before[0] - after[0][:, [k]]).sum(0).argmin()) for k in range(6)]
        assert sorted(order) == list(range(6))
        moved |= order != list(range(6))
        for a, b in zip(before, after):
            np.testing.assert_allclose(a[:, order], b, atol=1e-6)
        np.testing.assert_allclose(
            Model(single, warm.model(position)).decode(before[0]),
            Model(grouped, onward.model(position)).decode(after[0]),
            atol=1e-5,
        )
        last = max(name for name in warm.parameters if name.startswith("encoder.body") and name.endswith("bias"))
        moments = [e.optimisers[0].state[e.parameters[last]]["exp_avg"][position] for e in (warm, onward)]
        torch.testing.assert_close(moments[0][order + [6 + k for k in order]], moments[1])
    assert moved


@pytest.mark.parametrize("network", ["linear", "mlp"])
def test_every_second_restart_is_unmixed_and_decodes_as_before(data, network, make):
    house = HOUSE | {"network": network, "hidden": (9,)}
    single, grouped = RECIPES["pdisvae"](**house), RECIPES["pdisvae"](groups=(3, 2, 1), **house)
    warm, onward = (make([recipe] * 4, [0, 1, 2, 3]) for recipe in (single, grouped))
    warm.advance(60)
    regroup_latents(warm, onward, restarts=2)
    for position in range(4):
        before, after = Model(single, warm.model(position)), Model(grouped, onward.model(position))
        old, new = before.posterior(data.x)[0], after.posterior(data.x)[0]
        np.testing.assert_allclose(after.decode(new), before.decode(old), atol=1e-4)
        if position % 2:
            drawn = posterior_of(before, data.x, CPU)[0].numpy()
            centre, transform = independent_coordinates(drawn, position)
            np.testing.assert_allclose(np.cov(((drawn - centre) @ transform).T), np.eye(6), atol=1e-6)
            old = (old - centre) @ transform
        order = [int(np.abs(old - new[:, [k]]).max(0).argmin()) for k in range(6)]
        assert sorted(order) == list(range(6))
        np.testing.assert_allclose(new, old[:, order], atol=1e-4)


@pytest.mark.parametrize("seed", [0, 1])
def test_linear_models_find_the_groups_within_a_thousand_steps(seed):
    dataset = load("groups", seed=seed)
    model = Disentangler(groups=(2, 2, 2), network="linear", steps=1000, seed=seed, device="cpu").fit(dataset.x)
    found = align(model.transform(dataset.x), dataset.truth, model.groups_, dataset.truth_groups)
    assert found.r2 >= 0.95


@pytest.mark.gpu
def test_they_find_them_on_a_gpu_too():
    dataset = load("groups", seed=0)
    model = Disentangler(groups=(2, 2, 2), network="linear", steps=1000, device="cuda").fit(dataset.x)
    assert align(model.transform(dataset.x), dataset.truth, model.groups_, dataset.truth_groups).r2 >= 0.95


@pytest.mark.slow
def test_the_defaults_of_the_estimator_find_the_groups():
    dataset = load("groups", seed=1)
    model = Disentangler(groups=(2, 2, 2), device="cpu").fit(dataset.x)
    found = align(model.transform(dataset.x), dataset.truth, model.groups_, dataset.truth_groups)
    assert found.r2 >= 0.95


def test_unmixing_leaves_directions_without_variance_as_they_are():
    codes = np.random.default_rng(0).laplace(size=(5, 8))
    centre, transform = independent_coordinates(codes, 0, logging.DEBUG)
    lengths = np.linalg.svd(transform, compute_uv=False)
    flat = np.linalg.matrix_rank(codes - centre)
    assert flat == 4
    np.testing.assert_allclose(np.cov(((codes - centre) @ transform).T)[:4, :4], np.eye(4), atol=1e-8)
    assert (np.abs(lengths - 1) < 1e-8).sum() >= 4
    np.testing.assert_array_equal(np.abs(independent_coordinates(np.ones((9, 3)), 0)[1]), np.eye(3)[::-1])


@pytest.mark.parametrize("rows", [2, 5])
def test_fewer_rows_than_latents_are_searched_too(rows):
    x = np.random.default_rng(0).standard_normal((rows, 20)).astype(np.float32)
    model = Disentangler(groups=(3, 3, 2), latents=8, network="linear", steps=20, device="cpu").fit(x)
    assert np.isfinite(model.transform(x)).all()


def test_a_first_layer_may_have_no_bias():
    image = {"shape": (1, 8, 8), "latents": 3}
    assert _first_layer(RECIPES["vae"](network="mlp", **image)) == ("/decoder.body.0.weight", "/decoder.body.0.bias")
    assert _first_layer(RECIPES["vae"](network="infogan", likelihood="bernoulli", **image)) == (
        "/decoder.body.0.weight",
    )


def test_the_first_point_logged_after_a_turn_is_a_mean_too(make):
    """25 steps, then 25 with groups; logged at 10, 20, 25 and 30: the last is of 5 steps, not of 10."""
    recipe = RECIPES["pdisvae"](groups=(2, 2, 2), restarts=2, **HOUSE)
    trained = train_models([recipe], [0], make, 50, log_every=10)
    assert trained.history.steps == [10, 20, 25, 30, 40, 50]
    losses = trained.history.of(0)["loss"]
    assert losses[3] > 0.8 * losses[4]


def watched_training(recipe, make):
    """What training two runs gives, and the ensembles it made: the one that ends, and its warm start."""
    made = []

    def watched(recipes, seeds):
        made.append(make(recipes, seeds))
        return made[-1]

    return train_models([recipe, recipe], [0, 1], watched, 40, log_every=10), made


def test_restarts_are_compared_over_the_last_fifth_of_the_steps():
    history = History(["loss", "pc"], 3)
    for step, losses in ((10, [0, 0, 0]), (80, [0, 5, 0]), (90, [4, 1, 2]), (100, [2, 2, np.nan])):
        history.append(step, np.array([losses, [7, 7, 7]]))
    assert late_loss(history).tolist() == [3.0, 1.5, np.inf]


@pytest.mark.parametrize("anneal", [0, 30])
def test_of_every_start_the_one_with_the_lowest_loss_is_kept(make, anneal, monkeypatch):
    seen = []
    monkeypatch.setattr("partita.training.search.late_loss", lambda history: seen.append(history) or late_loss(history))
    recipe = RECIPES["pdisvae"](groups=(2, 2, 2), restarts=3, anneal=anneal, **HOUSE)
    trained, (onward, warm) = watched_training(recipe, make)
    assert warm.seeds == onward.seeds == restart_seeds(0, 3) + restart_seeds(1, 3)
    assert trained.history.steps == [10, 20, 30, 40]
    losses = seen[0].values()[-1, 0]  # the last fifth of 40 steps, of which every tenth is logged
    for run in range(2):
        best = 3 * run + int(losses[3 * run : 3 * run + 3].argmin())
        assert all(torch.equal(trained.models[run][name], value) for name, value in onward.model(best).items())
        assert trained.history.of(run)["loss"][-1] == losses[best]


@pytest.mark.parametrize("anneal", [0, 40])
@pytest.mark.parametrize("stop_after", [1, 4])
def test_a_search_goes_on_after_an_interruption_to_the_last_bit(tmp_path, stop_after, anneal, make):
    recipe = RECIPES["pdisvae"](groups=(2, 2, 2), restarts=2, anneal=anneal, **HOUSE)
    straight = train_models([recipe], [0], make, 60, log_every=10)
    asked = iter([False] * stop_after + [True] * 100)
    kept = Checkpoints(tmp_path, ("a",))
    with pytest.raises(Interrupted):
        train_models([recipe], [0], make, 60, log_every=10, checkpoints=kept, stop=lambda: next(asked))
    resumed = train_models([recipe], [0], make, 60, log_every=10, checkpoints=kept)
    assert all(torch.equal(resumed.models[0][name], value) for name, value in straight.models[0].items())
    assert resumed.history.steps == straight.history.steps


def test_single_latents_need_no_search():
    assert RECIPES["pdisvae"](restarts=8, **HOUSE).restarts == 1
    with pytest.raises(ValueError, match="restarts"):
        RECIPES["pdisvae"](restarts=0, **HOUSE)


def test_a_full_covariance_is_not_reordered():
    with pytest.raises(ValueError, match="needs restarts=1"):
        RECIPES["pdisvae"](groups=(2, 2, 2), restarts=2, posterior="full", **HOUSE)
