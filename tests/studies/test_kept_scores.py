"""The scores of runs as the index has them say what scores.json says, and never more than that."""

import json
import os
import shutil
import time

import pytest
import torch

from partita.studies import COLUMNS, Store, compare, evaluate_run, plan, train
from partita.studies import _kept_scores as module
from partita.studies._columns import columns_of_metrics
from partita.studies._contenders import Entry
from partita.studies._kept_scores import in_short
from partita.studies._labels import natural_order
from partita.studies._measure import measure
from partita.studies.compare import compare_entries

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def measured_once(trained_once, small_runs, small_data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("measured") / "study"
    shutil.copytree(trained_once, folder)
    for run in small_runs:
        evaluate_run(Store(folder), run, small_data, "gaussian_tc", CPU)
    return folder


@pytest.fixture
def measured(measured_once, tmp_path):
    shutil.copytree(measured_once, tmp_path / "study")
    return Store(tmp_path / "study")


@pytest.fixture
def opened(monkeypatch):
    """Files of scores that are opened."""
    found = []
    read = module.read_json
    monkeypatch.setattr(module, "read_json", lambda path: found.append(path.parent.name) or read(path))
    return found


def test_every_number_of_a_table_is_kept(measured, small_runs):
    whole = measured.scores(small_runs[0])
    # what no run of this study has
    dci = {"disentanglement": 0.1, "completeness": 0.2, "informativeness": 0.3}
    whole["metrics"] |= {"mig": {"value": 0.4, "n": 64, "parts": {"gaps": [0.4]}}, "dci": {"value": 0.1, "parts": dci}}
    whole["udr"] = {"value": 0.5, "of": [run.id for run in small_runs]}
    whole["with_u"] = {"alignment": {"r2": 0.7}, "conditional_elbo": -3.0, "metrics": {"mig": {"value": 0.2}}}
    whole["group_metrics"] = {"mig": {"value": 0.3}}
    whole["diagnosis"] = {"verdict": "groups hold", "reasons": ["one", "two"], "numbers": {}}
    whole["correlation"]["joint"] = {"pc": 1.0, "tc": 2.0}
    short = in_short(whole)
    metrics = columns_of_metrics([whole])
    assert {"gaussian_tc", "mig", "completeness"} <= {column.name for column in metrics}
    for column in (*COLUMNS, *metrics):
        assert column.value(whole) is not None, column.name
        assert column.value(short) == column.value(whole), column.name
    assert [column.explanation for column in columns_of_metrics([short])] == [each.explanation for each in metrics]
    assert len(json.dumps(short)) < 0.5 * len(json.dumps(whole))


def test_nothing_is_opened_that_was_measured(measured, small_runs, opened):
    short = measure(measured, "gaussian_tc", CPU, in_short=True)
    assert opened == []
    assert [row.name for row in short.rows] == [run.id for run in small_runs]
    assert short.survey.finished == []
    whole = measure(measured, "gaussian_tc", CPU)
    assert len(opened) >= 3
    for one, other in zip(short.scores, whole.scores, strict=True):
        assert [column.value(one) for column in COLUMNS] == [column.value(other) for column in COLUMNS]
    assert [row.run for row in short.rows] == small_runs


def test_other_metrics_are_measured(measured, small_runs):
    found = measure(measured, "latent_activity", CPU, in_short=True)
    assert (
        [row.name for row in found.rows] == [run.id for run in small_runs] == [run.id for run in found.survey.finished]
    )
    assert all("latent_activity" in (measured.scores(run) or {})["metrics"] for run in small_runs)


@pytest.mark.parametrize("damage", ["removed", "cut", "garbled", "of an earlier version"])
def test_a_damaged_log_is_made_again(measured, small_runs, opened, damage):
    before = measure(measured, "gaussian_tc", CPU, in_short=True).scores
    for run in small_runs:
        os.utime(measured.folder_of(run), (1e9, 1e9))
    measure(measured, "gaussian_tc", CPU, in_short=True)
    assert len(opened) == 3  # folders that look changed
    for path in measured.folder.glob("index/*.scores"):
        content = path.read_bytes()
        if damage in ("removed", "of an earlier version"):
            path.unlink()
        elif damage == "cut":
            path.write_bytes(content[:-40])
        else:
            path.write_bytes(content.replace(b'"r2":0', b'"r2":9') + os.urandom(30))
    for _ in range(2):
        found = measure(measured, "gaussian_tc", CPU, in_short=True).scores
        assert [[c.value(each) for c in COLUMNS] for each in found] == [[c.value(e) for c in COLUMNS] for e in before]


def test_what_was_written_again_is_read_again(measured, small_runs):
    scores = measured.scores(small_runs[0]) or {}
    time.sleep(0.01)  # more than a tick of the file system's clock
    measured.save_scores(small_runs[0], scores | {"elbo": -1.0})
    (elbo,) = [column for column in COLUMNS if column.name == "ELBO"]
    assert elbo.value(measure(measured, "gaussian_tc", CPU, in_short=True).scores[0]) == -1.0
    measured.forget(small_runs[0])
    assert len(measure(measured, "gaussian_tc", CPU, in_short=True).rows) == 2


def test_comparing_by_it_is_comparing_by_the_files(measured, small_data):
    more = plan(["beta_vae"], small_data, latents=3, steps=4, batch_size=32, seeds=range(2), options={"beta": [8.0]})
    train(more, small_data, measured, device=CPU)
    for run in more:
        evaluate_run(measured, run, small_data, "gaussian_tc", CPU)
    runs = sorted(measured.runs(), key=natural_order)
    entries = [Entry(run, str(measured.folder), "finished", measured.scores(run)) for run in runs]
    assert compare(measured.folder).as_dict() == compare_entries(entries).as_dict()


def test_a_log_that_grew_is_put_in_order(measured, small_runs):
    for _ in range(30):
        measured.save_scores(small_runs[0], measured.scores(small_runs[0]) or {})
    assert len(measure(measured, "gaussian_tc", CPU, in_short=True).rows) == 3
    assert sum(len(path.read_text().splitlines()) for path in measured.folder.glob("index/*.scores")) <= 3
