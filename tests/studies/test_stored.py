"""What partita 0.1.0 stored is still opened, measured and trained on, to the same results (tests/stored)."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

import partita as pt
from partita.data import load
from partita.studies import Run, Store, evaluate_run, reload, train
from partita.studies._verify import survey
from partita.training import Ensemble
from partita.training.files import read_json

STORED = Path(__file__).parents[1] / "stored" / "0.1.0"
CPU = torch.device("cpu")


@pytest.fixture
def mine(tmp_path):
    """A copy of what was stored, to be written to."""
    shutil.copytree(STORED, tmp_path / "mine")
    return tmp_path / "mine"


def as_planned(store: Store) -> list[Run]:
    return sorted((store.run_in(folder) for folder in store.folders()), key=lambda run: (run.method, run.id))


def test_a_study_is_opened_by_its_name_too(mine):
    assert Store(str(mine / "study")) == Store(mine / "study")
    assert Store(str(mine / "study")).runs() == Store(mine / "study").runs() != []


def test_every_file_is_whole(mine):
    found = survey(Store(mine / "study"))
    assert len(found.finished) == 6
    assert not found.damaged
    under_way = survey(Store(mine / "interrupted"))
    assert len(under_way.unfinished) == 6
    assert not under_way.damaged
    assert not under_way.checkpoints


def test_a_stored_study_is_measured_to_the_same_numbers(mine):
    store, data = Store(mine / "study"), load("groups", size=200)
    for run in store.finished():
        before = read_json(STORED / "study" / "runs" / run.id / "scores.json")
        after = evaluate_run(store, run, data)
        for name in ("reconstruction_mse", "reconstruction_r2", "recon", "kl", "elbo"):
            assert after[name] == pytest.approx(before[name], rel=1e-3, abs=1e-3)
        assert after["groups"] == before["groups"]
        if run.recipe.groups and len(run.recipe.groups) < run.options["latents"]:  # its own groups, the same ones
            assert after["alignment"]["r2"] == pytest.approx(before["alignment"]["r2"], abs=1e-3)


def test_a_finished_study_is_not_trained_again(mine, monkeypatch):
    store = Store(mine / "study")
    before = {path: path.read_bytes() for path in store.folder.glob("runs/**/*.*")}
    monkeypatch.setattr(Ensemble, "advance", None)
    assert train(as_planned(store), load("groups", size=200), store, device=CPU) == []
    assert {path: path.read_bytes() for path in store.folder.glob("runs/**/*.*")} == before


def test_an_interrupted_study_goes_on_from_where_it_was(mine, monkeypatch):
    stopped = json.loads((mine / "stopped.json").read_text())
    store, plain, taken = Store(mine / "interrupted"), Ensemble.advance, []

    def advance(self, count):
        taken.append(len(self.seeds) * count)
        plain(self, count)

    monkeypatch.setattr(Ensemble, "advance", advance)
    train(as_planned(store), load("groups", size=200), store, device=CPU)
    models = {"vae": 2, "restarts": 4, "auto": 1, "auto, late": 1}
    assert sum(taken) == sum(models[name] * (40 - step) for name, step in stopped.items())
    finished = Store(mine / "study")
    assert {run.id for run in store.finished()} == {run.id for run in finished.finished()}
    for run in store.finished():
        if run.program.finds_groups:  # discovery itself finds more now than it did in 0.1 (CHANGELOG, Numbers)
            continue
        was, now = finished.model(run), store.model(run)
        for name, value in was.parameters.items():
            torch.testing.assert_close(now.parameters[name], value, rtol=1e-4, atol=1e-5)
        for name, values in finished.history(run).items():
            np.testing.assert_allclose(store.history(run)[name], values, rtol=1e-3, atol=1e-3)
    assert not list(store.folder.glob("ensembles/*"))


def test_a_run_on_a_file_is_found_and_measured(mine, monkeypatch):
    monkeypatch.chdir(mine / "own_file")
    store = Store(Path("runs_here"))
    (run,) = store.finished()
    assert evaluate_run(store, run, reload(run.data))["n"] == 60


def test_a_saved_model_gives_the_same_codes():
    model = pt.load(STORED / "model.safetensors")
    codes = model.transform(np.load(STORED / "own_file" / "rows.npy"))
    np.testing.assert_allclose(codes, np.load(STORED / "codes.npy"), rtol=1e-5, atol=1e-6)
    assert model.groups_ == ((0, 1), (2, 3))
