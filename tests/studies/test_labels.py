"""Methods with labels, closed forms and games as runs of a study: planned, trained, stored and measured like all."""

import json

import numpy as np
import pytest
import torch

from partita.data import from_array, label, load, mask_labels, subsample
from partita.studies import Store, evaluate_run, plan, reload, train

CPU = torch.device("cpu")
SMALL = {"network": "mlp", "hidden": (16,), "steps": 20, "batch_size": 32}


@pytest.fixture(scope="module")
def sprites():
    return subsample(load("pdsprites"), size=200)


def finished(tmp_path, dataset, method, options=None, **settings):
    runs = plan([method], dataset, options=options, **{**SMALL, **settings})
    store = Store(tmp_path)
    assert train(runs, dataset, store, device=CPU) == []
    (run,) = store.finished()
    return store, run, evaluate_run(store, run, reload(run.data))


@pytest.mark.parametrize("method", ["ivae", "idvae", "ss_ivae", "ss_idvae"])
def test_codes_with_and_without_labels(tmp_path, sprites, method):
    small = {"prior_width": [16]}
    store, run, scores = finished(tmp_path, sprites, method, small)
    assert run.architecture["labels"] == 3  # all factors
    assert scores["with_u"].keys() >= {"alignment", "correlation", "metrics"}
    assert scores["with_u"]["alignment"]["r2"] != scores["alignment"]["r2"]
    assert json.loads(json.dumps(scores)) == store.scores(run)


def test_some_factors_of_some_rows(tmp_path, sprites):
    dataset = mask_labels(label(sprites, factors=["size", "row"]), labelled=0.2)
    _, run, scores = finished(tmp_path, dataset, "full_vae")
    assert run.architecture["labels"] == 2
    assert "with_u" not in scores  # its encoder never sees them
    again = reload(run.data)
    np.testing.assert_array_equal(again.labels, dataset.labels)
    np.testing.assert_array_equal(again.labelled, dataset.labelled)


@pytest.mark.parametrize(
    ("method", "make", "words"),
    [
        ("ivae", lambda d: load("groups", size=50), "ivae learns from labels"),
        ("idvae", lambda d: mask_labels(label(d, factors="size"), labelled=5), "195 of 200 rows have none"),
        ("ss_ivae", lambda d: mask_labels(label(d, factors="size"), labelled=0), "no row shows its labels"),
        ("ss_ivae", lambda d: mask_labels(label(d, factors=["size", "row"]), labelled=2), "too many for 2 labelled"),
    ],
)
def test_labels_that_will_not_do_are_refused_before_anything_is_written(sprites, method, make, words):
    with pytest.raises(ValueError, match=words):
        plan([method], make(sprites), **SMALL)


def test_too_many_labels_for_the_latents(sprites):
    with pytest.raises(ValueError, match="3 labels need as many latents, got 2"):
        plan(["full_vae"], sprites, latents=2, **SMALL)


@pytest.mark.parametrize("method", ["pca", "ica", "ae_ica"])
def test_baselines(tmp_path, method):
    dataset = load("groups", size=300)
    _, run, scores = finished(tmp_path, dataset, method, steps=40)
    assert run.steps == (40 if method == "ae_ica" else 1)
    assert scores["reconstruction_r2"] > (0.05 if method == "ae_ica" else 0.9)
    assert np.isfinite(scores["elbo"])
    assert "labels" not in run.architecture


def test_a_game_has_no_elbo(tmp_path, sprites):
    _, _, scores = finished(tmp_path, sprites, "infogan", latents=2)
    assert "elbo" not in scores
    assert np.isfinite(scores["reconstruction_mse"])
    assert scores["metrics"]["mig"]["value"] >= 0


def test_a_method_has_its_own_number_of_latents():
    rows = from_array(np.random.default_rng(0).normal(size=(60, 5)).astype(np.float32))
    found = {run.method: run.options["latents"] for run in plan(["vae", "infogan"], rows, **SMALL)}
    assert found == {"vae": 6, "infogan": 2}
