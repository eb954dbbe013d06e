"""One damaged file is named, the others go on; repaired and trained again the study is what it was."""

import os
import shutil
import signal
import subprocess
import sys

import pytest
import torch

from partita.studies import Store, _verify, plan, train
from partita.studies._leftovers import collect, leftovers
from partita.studies._verify import repair, survey
from partita.training import Ensemble, Interrupted
from partita.training.checkpoint import read_checkpoint
from partita.training.files import _machine

from .damages import DAMAGES

CPU = torch.device("cpu")


def content(store: Store) -> dict[str, bytes]:
    return {str(path.relative_to(store.folder)): path.read_bytes() for path in store.folder.glob("runs/**/*.*")}


def test_a_whole_study_has_nothing_to_complain_of(small_study, small_runs):
    found = survey(small_study)
    assert {run.id for run in found.finished} == {run.id for run in small_runs}
    assert [found.damaged, found.checkpoints, found.unfinished, found.diverged] == [[], [], [], []]
    assert not leftovers(small_study)


@pytest.mark.parametrize("how", DAMAGES)
def test_a_damaged_run_is_named_put_aside_and_trained_again(small_study, small_runs, small_data, how, monkeypatch):
    damage, name = DAMAGES[how]
    hurt, before = small_runs[1], content(small_study)
    damage(small_study.folder_of(hurt))
    found = survey(small_study)
    assert {each.owner for each in found.damaged} == {hurt.id}
    assert name in [each.file.name for each in found.damaged]
    assert all(str(each.file) in each.words for each in found.damaged)
    assert {run.id for run in found.finished} == {run.id for run in small_runs} - {hurt.id}
    repair(small_study, found)
    assert not survey(small_study).damaged
    assert list((small_study.folder / "damaged" / hurt.id).iterdir()) or "gone" in how
    train(small_runs, small_data, small_study, device=CPU)
    assert content(small_study).keys() == before.keys()
    assert len(survey(small_study).finished) == 3


@pytest.mark.parametrize("how", DAMAGES)
def test_train_says_what_is_damaged_and_makes_it_again(small_study, small_runs, small_data, how, monkeypatch, caplog):
    damage, name = DAMAGES[how]
    hurt, before = small_runs[1], content(small_study)
    damage(small_study.folder_of(hurt))
    plain, taken = Ensemble.advance, []
    monkeypatch.setattr(Ensemble, "advance", lambda self, count: (taken.append(self.seeds), plain(self, count)))
    train(small_runs, small_data, small_study, device=CPU)
    assert str(small_study.folder_of(hurt) / name) in caplog.text
    again = [] if name == "run.json" else [[1]] * 4  # what a run is can be written again without training it
    assert taken == again
    now = content(small_study)
    assert now.keys() == before.keys()
    others = {path for path in before if hurt.id not in path}
    assert {path: now[path] for path in others} == {path: before[path] for path in others}
    assert not survey(small_study).damaged


def test_damaged_scores_are_named_and_nothing_is_trained_again(small_study, small_runs, small_data, monkeypatch):
    small_study.save_scores(small_runs[0], {"run": small_runs[0].id})
    path = small_study.folder_of(small_runs[0]) / "scores.json"
    path.write_text(path.read_text().replace("seed0", "seed7"))
    found = survey(small_study)
    assert [each.file for each in found.damaged] == [path]
    assert len(found.finished) == 3
    repair(small_study, found)
    assert not path.exists()
    monkeypatch.setattr(Ensemble, "advance", None)
    train(small_runs, small_data, small_study, device=CPU)


@pytest.mark.parametrize("name", ["backup", "copy of {}"])
def test_a_folder_that_is_no_run_is_put_aside_wherever_it_lies(small_study, small_runs, name):
    whole = small_study.folder_of(small_runs[1])
    other = whole.with_name(name.format(whole.name))
    shutil.copytree(whole, other)
    found = survey(small_study)
    assert [each.file for each in found.damaged] == [other / "run.json"]
    repair(small_study, found)
    assert not other.exists()
    assert len(list((small_study.folder / "damaged" / other.name).iterdir())) == 4
    assert not survey(small_study).damaged


def test_folders_that_others_remove_meanwhile_are_none(small_study, monkeypatch):
    """As `partita train` removes empty ones: at once, or while they are read."""
    read, gone = Store.run_in, small_study.folders()[:1]

    def run_in(store, folder):
        for each in gone:
            shutil.rmtree(each, ignore_errors=True)
        return read(store, folder)

    monkeypatch.setattr(Store, "run_in", run_in)
    shutil.rmtree(small_study.folder / "index")
    known = small_study.look_up()
    assert (len(known.entries), known.trouble) == (2, {})
    gone[:] = small_study.folders()
    assert [each.owner for each in survey(small_study).damaged] in [[each.name] for each in gone]  # the one being read


def test_files_that_are_gone_since_the_index_was_read_keep_nobody_back(small_study, small_runs):
    known, (first, second, _) = small_study.look_up(), map(small_study.folder_of, small_runs)
    shutil.rmtree(first)
    age = second.stat().st_mtime_ns
    (second / "notes.txt").symlink_to("gone.txt")  # a file that is listed, and not there any more
    os.utime(second, ns=(age, age))
    assert [run.id for run in survey(small_study, deep=False, known=known).finished] == [
        run.id for run in small_runs[1:]
    ]


def test_a_run_that_ends_meanwhile_is_not_taken_for_looked_at(small_study, small_runs, monkeypatch):
    result = small_study.folder_of(small_runs[0]) / "result.json"
    content = result.read_bytes()
    result.unlink()
    monkeypatch.setattr(Store, "scores", lambda store, run: result.write_bytes(content) and None)
    assert [run.id for run in survey(small_study).unfinished] == [small_runs[0].id]
    assert [run.id for run in survey(small_study).unfinished] == []


def interrupted(store: Store, runs, data) -> None:
    def watch(runs, history, step, steps):
        if step == 2:
            signal.raise_signal(signal.SIGTERM)

    with pytest.raises(Interrupted):
        train(runs, data, store, device=CPU, watch=watch)


def test_a_damaged_checkpoint_is_named_and_put_aside(small_runs, small_data, tmp_path):
    store = Store(tmp_path)
    interrupted(store, small_runs, small_data)
    (path,) = tmp_path.glob("ensembles/*/newest.safetensors")
    path.write_bytes(path.read_bytes()[:-4])
    found = survey(store)
    assert [each.file for each in found.checkpoints] == [path]
    assert len(found.unfinished) == 3
    assert not survey(store, deep=False).checkpoints  # which nobody reads who does not ask for all
    repair(store, found)
    assert not survey(store).checkpoints
    train(small_runs, small_data, store, device=CPU)
    assert len(store.finished()) == 3


def test_a_checkpoint_that_makes_way_for_the_next_is_not_damaged(small_runs, small_data, tmp_path, monkeypatch):
    store = Store(tmp_path)
    interrupted(store, small_runs, small_data)
    assert len(list(tmp_path.glob("ensembles/*/newest.safetensors"))) == 1

    def read(path):
        path.unlink(missing_ok=True)  # by whoever trains
        return read_checkpoint(path)

    monkeypatch.setattr(_verify, "read_checkpoint", read)
    assert not survey(store).checkpoints


def test_leftovers_are_collected_at_the_next_start(small_study, small_runs, small_data, tmp_path):
    """Temporary files of processes that are gone, empty folders, checkpoints of runs that have ended."""
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    whose = small_study.folder_of(small_runs[0])
    dead = [folder / f".partita-{_machine()}-{gone.pid}-1.part" for folder in (whose, small_study.folder)]
    alive = whose / f".partita-{_machine()}-{os.getppid()}-1.part"
    for path in (*dead, alive):
        path.write_bytes(b"half")
    empty = small_study.folder / "runs" / "vae-seed7-0123456789"
    empty.mkdir()
    other = Store(tmp_path / "other")
    interrupted(other, small_runs, small_data)
    (ended,) = other.folder.glob("ensembles/*")
    (small_study.folder / "ensembles").mkdir(exist_ok=True)
    os.replace(ended, small_study.folder / "ensembles" / ended.name)
    assert set(leftovers(small_study)) == {*dead, empty, small_study.folder / "ensembles" / ended.name}
    train(small_runs, small_data, small_study, device=CPU)
    assert not leftovers(small_study)
    assert not any(path.exists() for path in dead)
    assert not list(small_study.folder.glob("ensembles/*"))
    assert alive.exists()


def test_checkpoints_of_runs_under_way_are_no_leftovers(small_data, tmp_path):
    store = Store(tmp_path)
    runs = plan(["vae"], small_data, latents=3, steps=4, batch_size=32, seeds=range(4))
    interrupted(store, runs, small_data)
    train(runs[:1], small_data, store, device=CPU)  # one of them by itself, from the start
    collect(store)
    assert len(store.under_way()) == 1
    train(runs, small_data, store, device=CPU)
    assert not list(tmp_path.glob("ensembles/*"))


def test_three_processes_on_one_folder(small_runs, small_data, tmp_path):
    """One trains, the others are told so, and none collects what another is writing."""
    program = (
        "import sys, torch\nfrom pathlib import Path\nfrom partita.data import load\n"
        "from partita.studies import Store, plan, train\n"
        "data = load('groups', size=64)\n"
        "runs = plan(['vae'], data, latents=3, steps=40, batch_size=32, seeds=range(3))\n"
        "try:\n    train(runs, data, Store(Path(sys.argv[1])), device=torch.device('cpu'), checkpoint_seconds=0.0)\n"
        "except OSError as error:\n    print(error)\n    sys.exit(3)"
    )
    words = [sys.executable, "-c", program, str(tmp_path / "study")]
    started = [subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(3)]
    said = [process.communicate(timeout=200) for process in started]
    for process, (out, errors) in zip(started, said):
        assert process.returncode in (0, 3), errors
        assert process.returncode == 0 or "another process is training" in out
    assert 0 in [process.returncode for process in started]
    assert len(survey(Store(tmp_path / "study")).finished) == 3
