"""Scale, covariates and exposures in a study: in what a run is, in its weights, in its scores and on the page."""

import dataclasses
import json

import numpy as np
import pytest
import torch

from partita.data import Dataset, from_array, load
from partita.reports import write_page
from partita.studies import Store, plan, train
from partita.studies._precompile import Order
from partita.studies._seen import beside_of
from partita.studies.evaluate import evaluate_agreement, evaluate_run
from partita.studies.run import Run
from partita.training import Ensemble
from partita.training.memory import bytes_a_model

CPU = torch.device("cpu")
QUICK = {"latents": 2, "steps": 6, "network": "linear"}


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    donor, age = rng.integers(0, 3, 200), rng.permutation(200)
    x = rng.normal(size=(200, 2)) @ rng.normal(size=(2, 6)) + 5 * rng.normal(size=(3, 6))[donor]
    x = (x + 0.1 * rng.normal(size=x.shape)) * 10.0 ** np.arange(6)
    return from_array(x, factors=np.stack([donor, age], 1), factor_names=("donor", "age"), name="table")


@pytest.fixture(scope="module")
def cells():
    rng = np.random.default_rng(0)
    donor = rng.integers(0, 2, 150)
    x = rng.poisson(np.exp(rng.normal(size=(150, 1)) @ rng.normal(size=(1, 6)) + 2 + donor[:, None]))
    return from_array(x, factors=donor, factor_names=("donor",), name="cells")


def test_a_run_has_the_scale_that_was_chosen_and_ids_of_before_stay():
    (run,) = plan("vae", load("groups", size=80), steps=3)
    assert run.scale == "none"
    assert not {"scale", "covariates", "exposure"} & run.as_json().keys()
    assert run.id == "vae-seed0-0cb8b1a4fd"  # as it was before there were scales
    (asked,) = plan("vae", load("groups", size=80), steps=3, scale="standard")
    assert asked.as_json()["scale"] == "standard"
    assert asked.id != run.id
    assert "scale=standard" in asked.setting


def test_weights_know_the_units_that_they_see(table, tmp_path):
    runs = plan(["vae", "pca"], table, seeds=[0, 1], **QUICK)
    assert {run.scale for run in runs} == {"standard"}
    store = Store(tmp_path)
    assert not train(runs, table, store, device=CPU)
    for run in runs:
        assert Run.from_json(json.loads(json.dumps(run.as_json()))) == run
        model = store.model(run)
        np.testing.assert_allclose(model.scale.offset, np.asarray(table.x, np.float64).mean(0), rtol=1e-5)
        reconstructed = model.reconstruct(table.x)
        assert np.abs(reconstructed.mean(0) / table.x.std(0)).max() < 5
    scores = evaluate_run(store, runs[2], table, "gaussian_tc", CPU)  # pca, at its optimum
    assert scores["reconstruction_r2"] > 0.5
    # in nats of x: the densities of features that are 1, 10, ... times as wide
    assert scores["elbo"] == pytest.approx(-np.log(10.0 ** np.arange(6)).sum() - 6, abs=12)


def test_scaled_runs_of_an_ensemble_are_those_of_solo_runs(table, tmp_path):
    runs = plan("vae", table, seeds=[0, 1], covariates=["donor", "age"], **QUICK)
    together, alone = Store(tmp_path / "together"), Store(tmp_path / "alone")
    train(runs, table, together, device=CPU)
    train(runs[1:], table, alone, device=CPU)
    for name, value in alone.model(runs[1]).parameters.items():
        torch.testing.assert_close(together.model(runs[1]).parameters[name], value, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("which", ["table", "cells"])
def test_covariates_are_measured_and_on_the_page(which, request, tmp_path):
    data = request.getfixturevalue(which)
    names = list(data.factor_names)
    runs = plan("pdisvae", data, seeds=[0, 1], covariates=names, groups=[1, 1], options={"restarts": [2]}, steps=8)
    assert [each["name"] for each in runs[0].covariates] == names
    store = Store(tmp_path)
    assert not train(runs, data, store, device=CPU, log_metrics="gaussian_tc")
    scores, _ = (evaluate_run(store, run, data, "gaussian_tc", CPU) for run in runs)
    found = scores["covariates"]
    assert found["names"] == names
    assert np.shape(found["known"]) == np.shape(found["null"]) == (len(names), 2)
    assert (np.array(found["known"]) >= 0).all()
    assert evaluate_agreement(store, runs, data, CPU) is not None
    page = write_page(store, data, tmp_path / "page.html").read_text()
    assert "Covariates of pdisvae" in page
    assert '<th scope="row">donor</th>' in page
    assert "<dt>scale</dt><dd>standard</dd>" in page


def test_what_was_interrupted_goes_on_to_the_same_weights(cells, tmp_path):
    from partita.training import Interrupted

    runs = plan("vae", cells, covariates=["donor"], exposure="total", latents=2, steps=40)
    whole, halves = Store(tmp_path / "whole"), Store(tmp_path / "halves")
    train(runs, cells, whole, device=CPU)

    def watch(runs, history, step, steps):
        if step >= 20:
            raise Interrupted("enough for now")

    with pytest.raises(Interrupted):
        train(runs, cells, halves, device=CPU, watch=watch, checkpoint_seconds=0.0)
    train(runs, cells, halves, device=CPU)
    for name, value in whole.model(runs[0]).parameters.items():
        assert torch.equal(halves.model(runs[0]).parameters[name], value), name


def test_exposures_are_part_of_what_a_run_is(cells):
    (run,) = plan("vae", cells, exposure="total", **QUICK)
    assert run.exposure == "total"
    assert run.scale == "standard"
    assert run.id != plan("vae", cells, **QUICK)[0].id


def test_runs_that_see_rows_otherwise_do_not_share_an_ensemble(cells):
    from partita.studies.plan import ensembles

    settings = {**QUICK, "likelihood": "poisson"}
    runs = plan("vae", cells, **settings) + plan("vae", cells, scale="none", **settings)
    assert [len(piece) for piece in ensembles(runs, lambda run: 64)] == [1, 1]


@pytest.mark.parametrize(
    ("method", "asked", "words"),
    [
        ("vae", {"covariates": ["dono"]}, "cells has no column 'dono'.*donor"),
        ("pca", {"covariates": ["donor"]}, "pca takes no covariates: leave them out"),
        ("vae", {"exposure": "total", "likelihood": "gaussian"}, "exposure is for counts, and the likelihood is"),
        ("vae", {"scale": "big"}, "unknown scale 'big'"),
        ("vae", {"scale": "one", "likelihood": "bernoulli"}, "have no scale"),
    ],
)
def test_what_cannot_be_seen_is_refused_before_anything_is_trained(cells, method, asked, words):
    with pytest.raises(ValueError, match=words) as caught:
        plan(method, cells, **QUICK, **asked)
    assert "\n" not in str(caught.value)


def test_closed_forms_and_games_see_counts_as_they_are(cells):
    runs = plan(["ae_ica", "infogan"], cells, latents=2, network="mlp", hidden=[8], likelihood="poisson")
    assert {run.scale for run in runs} == {"none"}


def test_what_lies_beside_is_compiled_and_counted_too(cells):
    (run,) = plan("vae", cells, covariates=["donor"], exposure="total", **QUICK)
    (plain,) = plan("vae", cells, scale="none", **QUICK)
    order = Order(run.as_json(), 1, cells.size)
    made = order._ensemble([run.recipe], CPU)
    assert isinstance(made, Ensemble)
    assert made.beside.keys() == {"covariates", "exposure"}
    needs = [bytes_a_model(each.recipe, cells.size, 128, CPU) for each in (plain, run)]
    assert needs[1] > needs[0] > 0


@pytest.mark.skipif("columns" not in Dataset.__dataclass_fields__, reason="data sets have no columns here")
def test_columns_of_a_data_set_are_covariates_and_exposures_by_name(cells):
    rng = np.random.default_rng(0)
    columns = {"total": rng.uniform(1, 9, 150), "batch": rng.choice(["p", "q"], 150)}
    data = dataclasses.replace(cells, columns=columns)
    (run,) = plan("vae", data, covariates=["batch", "total", "donor"], exposure="total", **QUICK)
    assert [each["levels"] for each in run.covariates] == [["p", "q"], None, ["0", "1"]]
    beside = beside_of(run, data)
    assert beside["covariates"].shape == (150, 5)
    np.testing.assert_allclose(beside["exposure"], columns["total"] / columns["total"].mean())
    with pytest.raises(ValueError, match="exposure must be 'total' or a column of numbers of cells, got 'batch'"):
        plan("vae", data, exposure="batch", **QUICK)
