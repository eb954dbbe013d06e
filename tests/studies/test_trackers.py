"""Others that are told how training goes: found among what is installed, and never in the way."""

import logging
import os
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest
import torch

from partita.studies import Store, plan, tracked, train
from partita.studies._wandb import WeightsAndBiases
from partita.studies.trackers import makers_of
from partita.training import Interrupted

CPU = torch.device("cpu")
PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]

THEIRS = """
CALLS = []

class Notebook:
    def start(self, run, folder): CALLS.append(("start", run["id"], run["step"], folder.name, folder.is_dir()))
    def log(self, step, quantities): CALLS.append(("log", step, quantities))
    def artifact(self, path, kind): CALLS.append(("artifact", kind, path.exists()))
    def finish(self, status): CALLS.append(("finish", status))

def fails_at(method):
    class Failing(Notebook): pass
    def fail(self, *arguments): raise RuntimeError("no paper left")
    setattr(Failing, method, fail)
    return Failing

At_start, At_log, At_artifact, At_finish = map(fails_at, ("start", "log", "artifact", "finish"))

class Lacking:
    def __init__(self): import a_package_that_is_not_there

class Broken:
    def __init__(self): raise RuntimeError("out of order")
"""
NAMES = {"notebook": "Notebook", "at_start": "At_start", "at_log": "At_log", "at_artifact": "At_artifact",
         "at_finish": "At_finish", "lacking": "Lacking", "broken": "Broken"}  # fmt: skip


def installed(folder: Path, name: str, points: dict[str, str]) -> None:
    """What an installer leaves behind of a package with entry points."""
    about = folder / f"{name}-9.9.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 9.9\n")
    lines = [f"{key} = {value}" for key, value in points.items()]
    (about / "entry_points.txt").write_text("\n".join(["[partita.trackers]", *lines, ""]))


@pytest.fixture
def theirs(tmp_path, monkeypatch):
    """Somebody else's package of trackers is installed, and ours as pyproject.toml has it."""
    place = tmp_path / "site"
    installed(place, "partita", PROJECT["entry-points"]["partita.trackers"])
    installed(place, "their-trackers", {name: f"their_trackers:{own}" for name, own in NAMES.items()})
    (place / "their_trackers.py").write_text(THEIRS)
    monkeypatch.syspath_prepend(place)
    import their_trackers

    yield their_trackers
    del sys.modules["their_trackers"]


@pytest.fixture
def runs(small_data):
    return plan(["vae"], small_data, latents=3, steps=4, batch_size=32, seeds=[0, 1])


def files(store: Store) -> dict[str, bytes]:
    return {
        str(path.relative_to(store.folder)): path.read_bytes()
        for path in (store.folder / "runs").rglob("*.*")
        if path.is_file()
    }


def test_a_tracker_of_others_is_told_everything(theirs, runs, small_data, tmp_path):
    with tracked(Store(tmp_path / "study"), "notebook") as store:
        train(runs[:1], small_data, store, device=CPU)
    kinds = [call[0] for call in theirs.CALLS]
    assert kinds == ["start", *["log"] * 4, "artifact", "artifact", "finish"]
    assert theirs.CALLS[0] == ("start", runs[0].id, 0, "notebook", True)
    history = store.history(runs[0])
    for place, (_, step, quantities) in enumerate(theirs.CALLS[1:5]):
        assert step == history["step"][place]
        assert quantities == {name: pytest.approx(history[name][place]) for name in history if name != "step"}
    assert theirs.CALLS[5:] == [("artifact", "weights", True), ("artifact", "result", True), ("finish", "finished")]


def test_the_same_bytes_with_all_of_them_and_what_they_wrote(theirs, runs, small_data, tmp_path, monkeypatch):
    monkeypatch.delenv("WANDB_MODE", raising=False)
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    pytest.importorskip("wandb")
    plain = Store(tmp_path / "plain")
    train(runs, small_data, plain, device=CPU)
    with tracked(Store(tmp_path / "told"), ["tensorboard", "wandb", "notebook"]) as told:
        train(runs, small_data, told, device=CPU)
    assert files(told) == files(plain)
    history = plain.history(runs[1])
    events = accumulator.EventAccumulator(str(told.folder / "tracked/tensorboard" / runs[1].id)).Reload()
    logged = events.Scalars("loss")
    assert [each.step for each in logged] == history["step"].tolist()
    np.testing.assert_allclose([each.value for each in logged], history["loss"], rtol=1e-6)
    written = sorted((told.folder / "tracked/wandb").rglob("*.wandb"))
    assert sorted(path.stem for path in written) == sorted(f"run-{run.id}" for run in runs)
    assert all(path.stat().st_size > 500 for path in written)
    assert os.environ["WANDB_ERROR_REPORTING"] == "false"


def test_wandb_sends_and_asks_nothing(tmp_path, monkeypatch):
    monkeypatch.delenv("WANDB_MODE", raising=False)
    pytest.importorskip("wandb")
    tracker = WeightsAndBiases()
    tracker.start({"id": "vae-seed0-0", "step": 0}, tmp_path)
    settings = tracker.run.settings
    assert settings.mode == "offline"
    assert settings.x_disable_stats
    assert settings.x_disable_machine_info
    assert settings.disable_code
    assert settings.disable_git
    tracker.finish("finished")
    assert not list(tmp_path.rglob("*.py"))


@pytest.mark.parametrize("method", ["start", "log", "artifact", "finish"])
def test_one_that_fails_is_one_warning_and_training_goes_on(method, theirs, runs, small_data, tmp_path, caplog):
    plain = Store(tmp_path / "plain")
    train(runs, small_data, plain, device=CPU)
    caplog.clear()
    with caplog.at_level(logging.WARNING), tracked(Store(tmp_path / "told"), f"at_{method},notebook") as store:
        assert train(runs, small_data, store, device=CPU) == []
    said = [each.message for each in caplog.records if "tracker" in each.message]
    assert said == [f"the tracker at_{method} failed and is left out: RuntimeError: no paper left"]
    assert files(store) == files(plain)
    assert [call for call in theirs.CALLS if call[0] == "finish"].count(
        ("finish", "finished")
    ) >= 2  # the other went on


def test_an_interruption_is_told_and_going_on_too(theirs, small_data, tmp_path):
    (run,) = plan(["vae"], small_data, latents=3, steps=40, batch_size=32)
    store = Store(tmp_path / "study")

    def interrupt(runs, history, step, steps):
        if step == 20:
            os.kill(os.getpid(), 2)

    with tracked(store, "notebook") as told, pytest.raises(Interrupted):
        train([run], small_data, told, device=CPU, watch=interrupt)
    assert theirs.CALLS[-1] == ("finish", "interrupted")
    done = theirs.CALLS[-2][1]
    theirs.CALLS.clear()
    with tracked(store, "notebook") as told:
        train([run], small_data, told, device=CPU)
    assert theirs.CALLS[0][:3] == ("start", run.id, done)
    assert theirs.CALLS[1][1] == done + 1
    assert theirs.CALLS[-1] == ("finish", "finished")


def test_what_cannot_be_used_is_said_before(theirs):
    assert list(makers_of("tensorboard, notebook")) == ["tensorboard", "notebook"]
    assert makers_of("") == makers_of(()) == {}
    with pytest.raises(ValueError, match=r"no tracker 'tensorbord' \(did you mean 'tensorboard'\?\); installed are"):
        makers_of("tensorbord")
    with pytest.raises(ValueError, match=r"lacking cannot be used: No module named .*pip install 'partita\[lacking\]'"):
        makers_of("lacking")
    with pytest.raises(ValueError, match="broken cannot be used: RuntimeError: out of order"):
        makers_of("broken")
