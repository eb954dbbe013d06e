"""A page of a large study is about some of its runs, and says so."""

import json
import shutil

import pytest
import torch

from partita.data import load
from partita.reports import _drawn as module
from partita.reports import write_page
from partita.reports._drawn import drawn_of
from partita.studies import Store, plan, train

DATA = load("groups", size=64)


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    store = Store(tmp_path_factory.mktemp("drawn"))
    runs = plan(["beta_vae"], DATA, latents=2, steps=2, seeds=range(4), options={"beta": [1.0, 2.0, 4.0]})
    runs += plan(["vae"], DATA, latents=2, steps=2, seeds=range(4))
    for run in runs:
        store.describe(run)
    train(runs[-4:], DATA, store, device=torch.device("cpu"))
    return store


def test_all_runs_of_a_small_study(study):
    entries = study.entries()
    assert len(entries) == 16
    assert drawn_of(entries) == entries


def test_first_seeds_of_some_settings_of_every_method(study, monkeypatch):
    monkeypatch.setattr(module, "RUNS_DRAWN", 6)
    monkeypatch.setattr(module, "SETTINGS_DRAWN", 3)
    found = [(entry.run.options.get("beta", entry.method), entry.seed) for entry in drawn_of(study.entries())]
    assert found == [(1.0, 0), (1.0, 1), ("vae", 0), ("vae", 1), (2.0, 0), (2.0, 1)]


def test_the_page_says_so(study, monkeypatch, tmp_path):
    monkeypatch.setattr(module, "RUNS_DRAWN", 2)
    monkeypatch.setattr(module, "SETTINGS_DRAWN", 2)
    page = write_page(study, DATA, tmp_path / "page.html").read_text()
    assert "The study has 16 runs: this page is about 2 of them" in page
    assert sum(entry.name in page for entry in study.entries()) == 2


def test_a_damaged_run_that_is_drawn_is_found(study, monkeypatch, tmp_path):
    """And one that is not is left to `partita verify`."""
    from partita.studies._verify import survey

    shutil.copytree(study.folder, tmp_path / "study")
    store = Store(tmp_path / "study")
    known = store.look_up()
    hurt = next(entry for entry in known.entries if entry.status)
    path = hurt.folder / "run.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"steps": 3}))
    assert [each.owner for each in survey(store, deep=False, known=known).damaged] == [hurt.name]
    assert survey(store, deep=False, known=known, without={hurt.name}).damaged == []
