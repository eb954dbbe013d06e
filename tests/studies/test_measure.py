"""Measuring goes on where it was stopped, and nothing is measured twice unless asked for."""

import numpy as np
import pytest
import torch

from partita.data import load
from partita.studies import _measure as module
from partita.studies import _scoring as scoring
from partita.studies import plan, train
from partita.studies._kept_scores import company
from partita.studies._measure import measure
from partita.training.tensors import read_tensors, write_tensors

CPU = torch.device("cpu")


@pytest.fixture
def counted(monkeypatch):
    """The runs that are measured, and how often runs are compared."""
    seen: list[str] = []
    run, agree = module.evaluate_run, module.evaluate_agreement

    def evaluate_run(store, one, *rest):
        scores = run(store, one, *rest)
        seen.append(one.id)
        return scores

    def evaluate_agreement(store, runs, *rest):
        seen.append("agreement")
        return agree(store, runs, *rest)

    monkeypatch.setattr(module, "evaluate_run", evaluate_run)
    monkeypatch.setattr(module, "evaluate_agreement", evaluate_agreement)
    return seen


def test_what_is_measured_is_not_measured_again(small_study, small_runs, counted):
    first = measure(small_study, "gaussian_tc", CPU)
    assert counted == [run.id for run in small_runs]
    assert measure(small_study, "gaussian_tc", CPU).scores == first.scores
    assert len(counted) == 3
    assert measure(small_study, "gaussian_tc", CPU, again=True).scores == first.scores
    assert len(counted) == 6


def test_it_goes_on_where_it_was_stopped(small_study, small_runs, counted, monkeypatch):
    def stop(number, runs):
        if number == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        measure(small_study, "gaussian_tc", CPU, told=stop)
    assert counted == [run.id for run in small_runs[:2]]
    measure(small_study, "gaussian_tc", CPU)
    assert counted == [run.id for run in small_runs]


def test_other_metrics_other_rules_and_other_weights_are_measured_anew(small_study, small_runs, counted, monkeypatch):
    measure(small_study, "gaussian_tc,mig", CPU)
    measure(small_study, "mig", CPU)  # is there already
    assert len(counted) == 3
    measure(small_study, "mcc", CPU)
    assert len(counted) == 6
    small_study.forget(small_runs[0])
    assert len(measure(small_study, "mcc", CPU).scores) == 2
    assert len(counted) == 6
    monkeypatch.setattr(scoring, "SCORING", scoring.SCORING + 1)
    measure(small_study, "mcc", CPU)
    assert len(counted) == 8


def test_damaged_scores_are_measured_anew(small_study, small_runs, counted):
    measure(small_study, "gaussian_tc", CPU)
    path = small_study.folder_of(small_runs[1]) / "scores.json"
    path.write_text(path.read_text().replace('"n": 64', '"n": 65'))
    found = measure(small_study, "gaussian_tc", CPU)
    assert counted[3:] == [small_runs[1].id]
    assert not found.trouble
    assert [scores["n"] for scores in found.scores] == [64] * 3


def test_agreement_is_found_once_for_the_same_runs(small_study, small_runs, counted):
    measure(small_study, "udr", CPU)
    again = measure(small_study, "udr", CPU)
    assert counted.count("agreement") == 1
    assert all(scores["udr"]["of"] == [run.id for run in small_runs] for scores in again.scores)
    small_study.forget(small_runs[0])
    measure(small_study, "udr", CPU)
    assert counted.count("agreement") == 2


@pytest.mark.filterwarnings("ignore")  # of numbers that are none
def test_what_cannot_be_measured_is_named_and_keeps_nobody_back(small_study, small_runs, tmp_path):
    """A file of data that is gone, weights that give no finite numbers."""
    np.save(tmp_path / "rows.npy", np.random.default_rng(0).normal(size=(64, 4)))
    data = load(str(tmp_path / "rows.npy"))
    (own,) = plan(["vae"], data, latents=2, steps=4, batch_size=32, network="linear")
    train([own], data, small_study, device=CPU)
    (tmp_path / "rows.npy").unlink()
    path = small_study.folder_of(small_runs[1]) / "weights.safetensors"
    tensors, about = read_tensors(path, "weights")
    write_tensors(path, "weights", {name: torch.nan * value for name, value in tensors.items()}, about)
    found = measure(small_study, "gaussian_tc", CPU)
    assert found.trouble.keys() == {own.id, small_runs[1].id}
    assert "rows.npy" in found.trouble[own.id]
    assert [scores["run"] for scores in found.scores] == [small_runs[0].id, small_runs[2].id]


def test_runs_agree_with_those_on_the_same_data_alone(small_study, small_runs, tmp_path):
    """Runs of one setting may be on other data, of another shape."""
    data = load("groups", size=64, features=7)
    others = plan(["vae"], data, latents=3, steps=4, batch_size=32, seeds=range(2))
    assert others[0].setting == small_runs[0].setting
    train(others, data, small_study, device=CPU)
    for in_short in (False, True):
        found = measure(small_study, "udr", CPU, in_short=in_short)
        assert not found.trouble
        for runs in (small_runs, others):
            names = [run.id for run in runs]
            of = [row.scores["udr"]["of"] for row in found.rows if row.name in names]
            assert of == [company(names) if in_short else names] * len(runs)


@pytest.mark.parametrize("name", ["weights.safetensors", "scores.json"])
def test_what_is_damaged_since_it_was_measured_keeps_nobody_back(small_study, small_runs, small_data, name):
    """Of runs that have not been compared the index says nothing: their files are looked at."""
    measure(small_study, "udr", CPU)
    path = small_study.folder_of(small_runs[1]) / name
    path.write_bytes(path.read_bytes()[:-9])
    (more,) = plan(["vae"], small_data, latents=3, steps=4, batch_size=32, seeds=[3])
    train([more], small_data, small_study, device=CPU)
    found = measure(small_study, "udr", CPU, in_short=True)
    assert found.trouble.keys() == ({small_runs[1].id} if name == "weights.safetensors" else set())
    names = [run.id for run in (*small_runs, more) if run.id not in found.trouble]
    assert [row.scores["udr"]["of"] for row in found.rows] == [names] * len(names)


def test_a_log_that_was_changed_is_not_believed(small_study, small_runs):
    measure(small_study, "gaussian_tc", CPU)
    for path in small_study.folder.glob("index/*.scores"):
        path.write_bytes(path.read_bytes().replace(b'{"metrics"', b'{"metricz"'))
    assert len(measure(small_study, "gaussian_tc", CPU, in_short=True).rows) == 3
