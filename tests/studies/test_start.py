"""Studies of runs that start where the rows are unmixed: planned, trained, stored, loaded, evaluated."""

import json

import numpy as np
import pytest
import torch

from partita.data import Dataset, load
from partita.studies import Store, evaluate_run, plan, train
from partita.studies.run import Run

CPU = torch.device("cpu")
STARTED = {"start": ["unmixed"]}


def own(**options):
    """Rows that no paper has settings for."""
    data = load("groups", **options)
    about = {"description": {"name": "own", "options": {}}}
    return Dataset("own", data.x, truth=data.truth, truth_groups=data.truth_groups, **about)


@pytest.mark.parametrize("groups", [(2, 2, 2), "auto"])
def test_an_automatic_network_is_found_by_the_start(groups, tmp_path):
    data, store = own(size=600), Store(tmp_path)
    (run,) = plan(["pdisvae"], data, latents=6, groups=groups, options=STARTED, steps=60)
    assert run.architecture["network"] == "auto"
    assert Run.from_json(json.loads(json.dumps(run.as_json()))).id == run.id
    train([run], data, store, device=CPU)
    result = store.result(run)
    assert "kept_step" in result
    assert result.get("groups") == ([[0, 1], [2, 3], [4, 5]] if groups == "auto" else None)
    model = store.model(run)
    assert model.recipe.architecture.network == "linear"
    assert model.recipe.groups == ((0, 1), (2, 3), (4, 5))
    scores = evaluate_run(store, run, data)
    assert scores["groups"] == [[0, 1], [2, 3], [4, 5]]
    assert scores["alignment"]["r2"] > 0.97


def test_the_candidate_of_bent_rows_is_stored(tmp_path):
    data = own(size=480, groups=(2, 2), features=6, noise=0.05, seed=1, mixing="nonlinear")
    store = Store(tmp_path)
    (run,) = plan(["pdisvae"], data, latents=4, groups=(2, 2), options=STARTED, steps=5)
    train([run], data, store, device=CPU)
    assert store.result(run)["candidate"] == 1
    assert store.model(run).recipe.architecture.network == "nearly_linear"
    assert np.isfinite(store.model(run).posterior(data.x)[0]).all()


def test_a_network_that_was_named_stays_and_other_starts_choose_as_ever():
    data = own(size=100)
    networks = {}
    for run in plan(["pdisvae"], data, latents=6, options={"start": ["unmixed", "random"]}):
        networks[run.options["start"]] = run.architecture["network"]
    assert networks == {"unmixed": "auto", "random": "mlp"}
    (named,) = plan(["pdisvae"], data, latents=6, network="nearly_linear", options=STARTED)
    assert named.architecture["network"] == "nearly_linear"
    with pytest.raises(ValueError, match='needs network "auto"'):
        plan(["pdisvae"], data, latents=6, network="mlp", options=STARTED)


def test_two_seeds_train_one_by_one(tmp_path):
    """Each is what it is alone: the same bytes."""
    data, weights = own(size=200), []
    runs = plan(["pdisvae"], data, latents=6, groups=(2, 2, 2), options=STARTED, steps=20, seeds=[0, 1])
    for folder, some in ((tmp_path / "both", runs), (tmp_path / "one", runs[1:])):
        store = Store(folder)
        train(some, data, store, device=CPU)
        weights.append((store.folder_of(runs[1]) / "weights.safetensors").read_bytes())
    assert weights[0] == weights[1]
