import os
import shutil
import time

import pytest
import torch

from partita.studies import Store, plan, train
from partita.studies._index import shard_of
from partita.studies._verify import survey

CPU = torch.device("cpu")


@pytest.fixture
def aged(small_study):
    """A study that nobody has touched for a while, and reads of which are counted."""
    for folder in small_study.folders():
        os.utime(folder, (1e9, 1e9))
    return small_study


@pytest.fixture
def reads(monkeypatch):
    found = []
    read = Store.run_in
    monkeypatch.setattr(Store, "run_in", lambda store, folder: found.append(folder.name) or read(store, folder))
    return found


def test_folders_lie_in_shards(small_study, small_runs):
    for run in small_runs:
        folder = small_study.folder_of(run)
        assert folder.parent.name == shard_of(run.id) == run.id.rpartition("-")[2][:2]
        assert (folder / "result.json").exists()


def test_a_second_look_reads_the_index_alone(aged, small_runs, reads):
    cold = [entry.run for entry in aged.entries()]
    assert len(reads) == 3
    warm = aged.entries()
    assert len(reads) == 3
    assert [entry.run for entry in warm] == cold
    assert sorted(run.id for run in cold) == sorted(run.id for run in small_runs)
    assert {entry.status for entry in warm} == {"finished"}


def test_the_folders_are_the_truth(aged, small_runs, reads):
    aged.entries()
    first, second, third = map(aged.folder_of, small_runs)
    (first / "result.json").unlink()
    shutil.rmtree(second)
    found = {entry.name: entry.status for entry in aged.entries()}
    assert found == {first.name: None, third.name: "finished"}
    assert reads[3:] == [first.name]


@pytest.mark.parametrize("damage", ["removed", "cut", "cut and added to", "garbled", "other", "unreadable"])
def test_a_damaged_index_is_made_again(aged, damage):
    before = [(entry.name, entry.setting, entry.sources, entry.run) for entry in aged.entries()]
    for path in aged.folder.glob("index/*.log"):
        content = path.read_bytes()
        if damage == "removed":
            path.unlink()
        elif damage == "cut":
            path.write_bytes(content[: len(content) // 2])
        elif damage == "cut and added to":  # a full disk takes half a setting, and then the lines that follow
            lines = content.splitlines(keepends=True)
            path.write_bytes(b"\t".join(lines[-1].split(b"\t")[:6])[:-3] + lines[-1])
        elif damage == "garbled":
            path.write_bytes(os.urandom(200) + b"\n" + content.replace(b'"vae"', b'"vac"'))
        elif damage == "unreadable":
            path.unlink()
            path.mkdir()
        else:
            path.write_text('{"run": 1}\n[]\nnull\n')
    assert [(entry.name, entry.setting, entry.sources, entry.run) for entry in aged.entries()] == before


def test_what_changed_just_now_is_not_remembered(small_study, small_runs, reads):
    """It may change again without its folder growing older."""
    shutil.rmtree(small_study.folder / "index")
    for folder in small_study.folders():
        os.utime(folder, (time.time(),) * 2)
    small_study.entries()
    small_study.entries()
    assert len(reads) == 6


def test_every_finish_adds_a_line(small_runs, small_data, tmp_path):
    store = Store(tmp_path)
    train(small_runs, small_data, store, device=CPU)
    lines = [line for path in tmp_path.glob("index/*.log") for line in path.read_text().splitlines()]
    ended = [line.split("\t") for line in lines if "\tfinished\t" in line]
    assert sorted(line[0] for line in ended) == sorted(run.id for run in small_runs)
    assert all(line[7] for line in ended)  # a stamp of its files, which are whole


def test_a_log_that_grew_is_put_in_order(aged, small_runs):
    for _ in range(30):
        aged.note(small_runs[0])
    aged.entries()
    path = aged.folder / "index" / f"{shard_of(small_runs[0].id)}.log"
    assert len(path.read_text().splitlines()) == 1
    assert len(aged.entries()) == 3


def test_files_found_whole_are_read_again_only_when_written(aged, small_runs):
    assert len(survey(aged).finished) == 3
    weights = aged.folder_of(small_runs[0]) / "weights.safetensors"
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1
    weights.write_bytes(content)
    found = survey(aged, deep=False)
    assert [damage.owner for damage in found.damaged] == [small_runs[0].id]
    assert len(found.finished) == 2


def test_a_study_that_can_only_be_read(aged, monkeypatch):
    from partita.studies import _index

    def refuse(*arguments):
        raise PermissionError("read-only")

    monkeypatch.setattr(_index, "append_line", refuse)
    monkeypatch.setattr(_index, "make_folder", refuse)
    assert len(aged.entries()) == 3


def test_runs_beside_shards_stay_where_they_are(small_study, small_data, small_runs):
    """As partita 0.1 had them; runs that are added go to shards."""
    for folder in small_study.folders():
        folder.rename(small_study.folder / "runs" / folder.name)
    store = Store(small_study.folder)
    more = plan(["vae"], small_data, latents=3, steps=4, batch_size=32, seeds=range(4))
    train(more, small_data, store, device=CPU)
    places = {run.seed: store.folder_of(run).parent.name for run in more}
    assert [places[seed] for seed in range(3)] == ["runs"] * 3
    assert places[3] == shard_of(more[3].id)
    assert len(Store(store.folder).finished()) == 4
