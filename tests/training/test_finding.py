import json

import numpy as np
import pytest
import torch

from partita import Disentangler
from partita.data import load
from partita.estimator import load as load_estimator
from partita.recipes import RECIPES
from partita.structure import align, discover_groups
from partita.studies import Store, evaluate_run, plan, train
from partita.training import Checkpoints, Ensemble, Interrupted, Model
from partita.training.finding import find_groups
from partita.training.latents import Turn, turn_latents
from partita.training.search import train_models

CPU = torch.device("cpu")
HOUSE = {"latents": 6, "shape": (20,), "network": "linear", "likelihood": "gaussian:0.25", "learning_rate": 3e-3}


@pytest.mark.parametrize("network", ["linear", "mlp"])
def test_a_turned_model_decodes_as_before_from_the_turned_means(data, network, make):
    recipe = RECIPES["pdisvae"](**HOUSE | {"network": network, "hidden": (9,)})
    warm, onward = (make([recipe] * 2, [0, 1]) for _ in range(2))
    warm.advance(30)
    rng = np.random.default_rng(0)
    turn = Turn(rng.standard_normal(6), rng.standard_normal((6, 6)) + 2 * np.eye(6))
    turn_latents(warm, onward, [turn, Turn.reordering(range(6))])
    before, after = (Model(recipe, e.model(0), dtype=torch.float64) for e in (warm, onward))
    means, log_variances = before.posterior(data.x)
    turned, widths = after.posterior(data.x)
    np.testing.assert_allclose(turned, (means - turn.centre) @ turn.transform, atol=1e-4)
    np.testing.assert_allclose(after.decode(turned), before.decode(means), atol=1e-3)
    expected = np.exp(log_variances).mean(0) @ turn.transform**2
    np.testing.assert_allclose(np.exp(widths), np.tile(expected, (300, 1)), rtol=1e-4)
    untouched = (e.model(1) for e in (warm, onward))
    assert all(torch.equal(a, b) for a, b in zip(*(model.values() for model in untouched)))


class Told:
    """A discovery that is not looked for: these groups of the codes themselves."""

    def __init__(self, groups, latents=6):
        self.groups, self.merges, self.unmixed = groups, (), False
        self.centre, self.transform = np.zeros(latents), np.eye(latents)

    def coordinates(self, codes):
        return codes


def test_most_restarts_decide_and_the_largest_group_comes_first(make):
    recipe = RECIPES["pdisvae"](**HOUSE)
    warm = make([recipe] * 3, [0, 1, 2])
    pairs = Told(((0, 5), (1,), (2, 3, 4)))
    answers = iter([pairs, Told(((0, 1, 2, 3, 4, 5),)), pairs])
    found, turns = find_groups(warm, lambda codes: next(answers))
    assert found.groups == ((0, 1, 2), (3, 4), (5,))
    assert turns[0].order == turns[2].order == (2, 3, 4, 0, 5, 1)
    assert sorted(turns[1].order) == list(range(6))


def test_codes_that_are_not_finite_change_nothing(make):
    recipe = RECIPES["pdisvae"](**HOUSE)
    warm = make([recipe], [0])
    with torch.no_grad():
        next(iter(warm.parameters.values())).fill_(torch.nan)
    found, turns = find_groups(warm, discover_groups)
    assert found.groups == tuple((k,) for k in range(6))
    assert turns[0].order == tuple(range(6))


@pytest.mark.parametrize("stop_after", [1, 4])
def test_it_goes_on_after_an_interruption_to_the_last_bit(tmp_path, stop_after, make):
    recipe = RECIPES["pdisvae"](groups="auto", restarts=2, **HOUSE)
    settings = {"log_every": 10, "discover": lambda codes: discover_groups(codes[:150])}
    straight = train_models([recipe], [0], make, 60, **settings)
    asked = iter([False] * stop_after + [True] * 100)
    kept = Checkpoints(tmp_path, ("a",))
    with pytest.raises(Interrupted):
        train_models([recipe], [0], make, 60, checkpoints=kept, stop=lambda: next(asked), **settings)
    resumed = train_models([recipe], [0], make, 60, checkpoints=kept, **settings)
    assert resumed.found == straight.found
    assert all(torch.equal(resumed.models[0][name], value) for name, value in straight.models[0].items())
    assert resumed.history.steps == straight.history.steps == [10, 20, 30, 40, 50, 60]


def test_a_study_keeps_the_groups_it_found_with_their_evidence(tmp_path):
    data, store = load("groups", size=300), Store(tmp_path)
    runs = plan(["pdisvae"], data, groups="auto", steps=40, seeds=[0, 1])
    assert runs[0].options["groups"] == "auto"
    train(runs, data, store, device=CPU)
    for run in runs:
        result = json.loads((store.folder_of(run) / "result.json").read_text())
        assert sorted(k for group in result["groups"] for k in group) == list(range(6))
        assert len(result["merges"]) == 6 - len(result["groups"]) or any(
            len(m["members"]) > 2 for m in result["merges"]
        )
        assert all(merge["information"] > merge["null"] for merge in result["merges"])
        assert [list(group) for group in store.model(run).recipe.groups] == result["groups"]
        scores = evaluate_run(store, run, data)
        assert scores["groups"] == result["groups"]


def test_an_estimator_keeps_the_groups_it_found(tmp_path):
    x = load("groups", size=300).x
    estimator = Disentangler(groups="auto", network="linear", steps=40).fit(x)
    assert sorted(k for group in estimator.groups_ for k in group) == list(range(6))
    estimator.save(tmp_path / "model.safetensors")
    again = load_estimator(tmp_path / "model.safetensors")
    assert again.groups == "auto"
    assert again.groups_ == estimator.groups_
    np.testing.assert_array_equal(again.transform(x), estimator.transform(x))


def test_what_cannot_find_groups_says_so(data):
    with pytest.raises(ValueError, match="vae has no groups to find"):
        plan(["vae"], data, groups="auto")
    with pytest.raises(ValueError, match="groups must be sizes"):
        plan(["hfvae"], data, groups="auto")
    with pytest.raises(ValueError, match="beta_tcvae has no groups"):
        Disentangler("beta_tcvae", groups="auto").fit(data.x)
    with pytest.raises(ValueError, match="or \"auto\", got 'autp'"):
        RECIPES["pdisvae"](groups="autp", **HOUSE)
    with pytest.raises(ValueError, match="diagonal"):
        RECIPES["pdisvae"](groups="auto", posterior="full", **HOUSE)


@pytest.mark.slow
def test_three_pairs_are_found_without_labels_and_without_their_sizes():
    """One model, no restarts, 3,000 steps, where fixed groups need eight models of 20,000 (benchmarks/RESULTS.md)."""
    data = load("groups")
    recipe = RECIPES["pdisvae"](groups="auto", **HOUSE)
    make = lambda recipes, seeds: Ensemble(recipes, seeds, data.x, batch_size=128, device=CPU)  # noqa: E731
    trained = train_models([recipe], [0], make, 3000, log_every=300, discover=discover_groups)
    assert trained.recipe.groups == ((0, 1), (2, 3), (4, 5))
    codes = Model(trained.recipe, trained.models[0]).posterior(data.x)[0]
    assert align(codes, data.truth, trained.recipe.groups, data.truth_groups).r2 > 0.95
