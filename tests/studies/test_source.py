"""A run knows its data by content: the path is only where to look for them first."""

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from partita.data import from_array, load
from partita.studies import Run, Store, plan, reload, train
from partita.studies.source import described, same_data

CPU = torch.device("cpu")
ROWS = np.random.default_rng(0).normal(size=(60, 4)).astype(np.float32)


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.delenv("PARTITA_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    np.save("rows.npy", ROWS)
    return folder


def planned(path, **options):
    return plan(["vae"], load(path, **options), latents=2, network="linear", steps=4)[0]


def trained(path, out, **options):
    dataset = load(path, **options)
    train(plan(["vae"], dataset, latents=2, network="linear", steps=4), dataset, Store(out), device=CPU)
    return Store(out)


def test_every_way_to_a_file_is_the_same_run(here):
    first = planned("rows.npy")
    os.symlink("rows.npy", "link.npy")
    (here / "deep").mkdir()
    shutil.copy("rows.npy", "deep/renamed.npy")
    for path in ("./rows.npy", here / "rows.npy", "link.npy", "deep/../rows.npy", "deep/renamed.npy"):
        assert planned(path).id == first.id, path
    os.rename("rows.npy", "groups.npy")  # nor is a file called so the data set of that name
    assert planned("groups.npy").id == first.id


def test_other_content_is_another_run(here):
    first = planned("rows.npy")
    np.save("rows.npy", ROWS + 1)
    assert planned("rows.npy").id != first.id
    assert planned("rows.npy", scale=2.0).id != planned("rows.npy").id


def test_the_same_observations_with_other_labels_are_other_data(here):
    for name, labels in (("a", 0), ("b", 1)):
        np.savetxt(
            f"{name}.csv", np.c_[ROWS, np.arange(60) % 2 * labels], delimiter=",", header="a,b,c,d,y", comments=""
        )
    assert planned("a.csv", labels="y").id != planned("b.csv", labels="y").id
    assert planned("a.csv", columns=["a", "b"]).id == planned("b.csv", columns=["a", "b"]).id


def test_other_arrays_in_memory_are_other_runs():
    runs = [plan(["vae"], from_array(x), latents=2, network="linear", steps=4)[0] for x in (ROWS, ROWS, ROWS + 1)]
    assert runs[0].id == runs[1].id != runs[2].id


def test_named_data_sets_keep_their_ids():
    (run,) = plan(["vae"], load("groups", size=200), steps=40, batch_size=50)
    assert run.id == "vae-seed0-7793d3cdae"  # as partita 0.1 had it


def test_asked_for_by_another_path_nothing_is_trained_again(here):
    store = trained("rows.npy", here / "study")
    before = sorted((here / "study/runs").rglob("*"))
    assert len(store.finished()) == 1
    trained(here / "rows.npy", here / "study")
    assert sorted((here / "study/runs").rglob("*")) == before


def test_found_from_any_folder(here, tmp_path, monkeypatch):
    run = trained("rows.npy", Path("study")).finished()[0]
    monkeypatch.chdir(tmp_path)
    np.testing.assert_array_equal(reload(run.data, here / "study").x, ROWS)
    np.testing.assert_array_equal(reload(run.data).x, ROWS)


def test_found_when_study_and_file_are_moved_together(here, tmp_path, monkeypatch):
    (here / "data").mkdir()
    os.rename("rows.npy", "data/rows.npy")
    trained(here / "data/rows.npy", here / "deep/study")
    os.rename(here, tmp_path / "there")
    monkeypatch.chdir(tmp_path)
    study = tmp_path / "there/deep/study"
    np.testing.assert_array_equal(reload(Store(study).finished()[0].data, study).x, ROWS)


def test_a_file_that_is_nowhere_is_named_with_its_content_and_what_to_do(here, tmp_path, monkeypatch):
    store = trained("rows.npy", Path("study"))
    (tmp_path / "archive").mkdir()
    os.rename("rows.npy", tmp_path / "archive/rows.npy")
    run = store.finished()[0]
    with pytest.raises(
        OSError, match=f"rows.npy.*content {run.data['digest']}.*set PARTITA_DATA to the folder"
    ) as said:
        reload(run.data, store.folder)
    assert "\n" not in str(said.value)
    monkeypatch.setenv("PARTITA_DATA", str(tmp_path / "archive"))
    np.testing.assert_array_equal(reload(run.data, store.folder).x, ROWS)


def test_another_file_of_the_same_name_is_passed_over_or_refused(here, tmp_path, monkeypatch):
    run = trained("rows.npy", here / "study").finished()[0]
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    np.save("rows.npy", ROWS + 1)
    np.testing.assert_array_equal(reload(run.data, here / "study").x, ROWS)
    np.save(here / "rows.npy", ROWS + 2)
    with pytest.raises(ValueError, match="is not the data this was trained on"):
        reload(run.data, here / "study")


# Written by partita 0.1, with the id of its folder.
EARLIER = """{"method": "vae", "options": {"latents": 2}, "architecture": {"shape": [4], "network": "linear",
"likelihood": "gaussian", "hidden": [256, 256]}, "data": {"path": "rows.npy", "options": {}, "digest":
"dffdb89d2992927db2ac08e0e537c8ac"}, "steps": 40, "batch_size": 50, "learning_rate": 0.001, "seed": 0}"""
EARLIER_ID = "vae-seed0-034466f0c9"


def test_runs_of_earlier_studies_keep_their_ids_and_are_found_again(here, tmp_path, monkeypatch):
    old = Run.from_json(json.loads(EARLIER))
    assert old.id == EARLIER_ID
    dataset, store = load("rows.npy"), Store(here / "study")
    assert described(dataset)["digest"] == old.data["digest"]
    train([old], dataset, store, device=CPU)
    (filed,) = (here / "study/runs").glob("*/*")  # where partita 0.1 had it: beside the shards
    filed.rename(here / "study/runs" / filed.name)
    filed.parent.rmdir()
    shutil.rmtree(here / "study/index")
    store = Store(here / "study")
    new = replace(old, data=described(load(here / "rows.npy")))
    assert new.id != old.id
    assert same_data(new.data, old.data)
    train([new], dataset, store, device=CPU)
    assert [path.name for path in (here / "study/runs").iterdir()] == [EARLIER_ID]
    monkeypatch.chdir(tmp_path)
    np.testing.assert_array_equal(reload(store.finished()[0].data, store.folder).x, ROWS)
