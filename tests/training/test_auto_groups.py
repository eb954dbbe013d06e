import json

import numpy as np
import pytest
import torch

from partita import Disentangler
from partita.data import load
from partita.estimator import load as load_estimator
from partita.recipes import RECIPES, auto_groups, build
from partita.recipes.auto_groups import find_groups
from partita.structure import align
from partita.studies import Store, evaluate_run, plan, train
from partita.training import Checkpoints, Ensemble, Interrupted, Model
from partita.training.program import passed, train_models

CPU = torch.device("cpu")
HOUSE = {"latents": 6, "shape": (20,), "network": "linear", "likelihood": "gaussian:0.25", "learning_rate": 3e-3}


class Told:
    """A discovery that is not looked for: these groups of the codes themselves."""

    def __init__(self, groups, latents=6):
        self.groups, self.merges, self.unmixed = groups, (), False
        self.centre, self.transform = np.zeros(latents), np.eye(latents)

    def coordinates(self, codes):
        return codes


def test_most_restarts_decide_and_the_largest_group_comes_first(make, monkeypatch):
    recipe = RECIPES["pdisvae"](**HOUSE)
    warm = make([recipe] * 3, [0, 1, 2])
    pairs = Told(((0, 5), (1,), (2, 3, 4)))
    answers = iter([pairs, Told(((0, 1, 2, 3, 4, 5),)), pairs])
    monkeypatch.setattr(auto_groups, "_discovered", lambda codes: next(answers))
    (found,) = passed(warm, find_groups, [None], 3)
    assert found.groups == ((0, 1, 2), (3, 4), (5,))
    assert found.maps[0].order == found.maps[2].order == (2, 3, 4, 0, 5, 1)
    assert sorted(found.maps[1].order) == list(range(6))


def test_codes_that_are_not_finite_change_nothing(make):
    recipe = RECIPES["pdisvae"](**HOUSE)
    warm = make([recipe], [0])
    with torch.no_grad():
        next(iter(warm.parameters.values())).fill_(torch.nan)
    (found,) = passed(warm, find_groups, [None])
    assert found.groups == tuple((k,) for k in range(6))
    assert found.maps[0].order == tuple(range(6))


def test_it_goes_on_after_an_interruption_to_the_last_bit(tmp_path, make):
    """Of the first phase, and of the second."""
    program = build("pdisvae", groups="auto", restarts=2, **HOUSE)
    (straight,) = train_models([program], [0], make, 60, log_every=10)
    for stop_after in (1, 4):
        asked = iter([False] * stop_after + [True] * 100)
        kept = Checkpoints(tmp_path / str(stop_after), ("a",))
        with pytest.raises(Interrupted):
            train_models([program], [0], make, 60, log_every=10, checkpoints=kept, stop=lambda asked=asked: next(asked))
        (resumed,) = train_models([program], [0], make, 60, log_every=10, checkpoints=kept)
        assert (resumed.groups, resumed.evidence) == (straight.groups, straight.evidence)
        assert all(torch.equal(resumed.model[name], value) for name, value in straight.model.items())
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
    with pytest.raises(ValueError, match="vae has no groups"):
        plan(["vae"], data, groups="auto")
    with pytest.raises(ValueError, match="its groups must be given"):
        plan(["isa_vae"], data, groups="auto", options={"exponents": ["learned"]})
    with pytest.raises(ValueError, match="its groups must be given"):
        plan(["factor_vae"], data, groups="auto")
    with pytest.raises(ValueError, match="beta_tcvae has no groups"):
        Disentangler("beta_tcvae", groups="auto").fit(data.x)
    with pytest.raises(ValueError, match="or \"auto\", got 'autp'"):
        build("pdisvae", groups="autp", **HOUSE)
    with pytest.raises(ValueError, match="diagonal"):
        build("pdisvae", groups="auto", posterior="full", **HOUSE)


@pytest.mark.slow
def test_three_pairs_are_found_without_labels_and_without_their_sizes():
    """One model, no restarts, 3,000 steps, where fixed groups need eight models of 20,000 (benchmarks/RESULTS.md)."""
    data = load("groups")
    program = build("pdisvae", groups="auto", **HOUSE)
    make = lambda recipes, seeds, *_: Ensemble(recipes, seeds, data.x, batch_size=128, device=CPU)  # noqa: E731
    (trained,) = train_models([program], [0], make, 3000, log_every=300)
    assert trained.recipe.groups == ((0, 1), (2, 3), (4, 5))
    codes = Model(trained.recipe, trained.model).posterior(data.x)[0]
    assert align(codes, data.truth, trained.recipe.groups, data.truth_groups).r2 > 0.95
