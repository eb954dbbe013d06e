"""A worker reads all but ids from the store, and says in one line what it lacks."""

import pytest

from partita.studies import Store, plan
from partita.studies.engines import Task
from partita.studies.engines import _worker as module
from partita.studies.engines._task import versions
from partita.studies.engines._worker import work
from tests.studies.test_trackers import theirs  # noqa: F401  (a fixture)


@pytest.fixture
def filed(data, tmp_path):
    store = Store(tmp_path / "study")
    (run,) = plan(["vae"], data, latents=2, steps=4, batch_size=32)
    store.describe(run)
    return store, run


def task_of(store, run, **settings) -> Task:
    return Task("train", str(store.folder), (run.id,), {"device": "cpu", **settings})


def test_it_trains_what_the_store_says(filed):
    store, run = filed
    assert work(task_of(store, run, versions=versions())) == []
    assert store.has_ended(run.id)


def test_another_version_than_who_asked(filed, monkeypatch):
    """As on a node of a Slurm cluster, which nobody can ask beforehand."""
    store, run = filed
    monkeypatch.setattr(module, "versions", lambda: versions() | {"partita": "0.0.9"})
    with pytest.raises(OSError, match=r"has partita 0\.0\.9 \(here .*\): install the same on all nodes$"):
        work(task_of(store, run, versions=versions()))
    assert [path.name for path in store.folder_of(run).iterdir()] == ["run.json"]


def test_a_folder_that_is_not_there(filed, tmp_path):
    _, run = filed
    with pytest.raises(OSError, match="does not see .*elsewhere: a study on a cluster needs a shared folder"):
        work(task_of(Store(tmp_path / "elsewhere"), run))


def test_trackers_are_told_where_it_is_trained(filed, theirs):  # noqa: F811
    store, run = filed
    work(task_of(store, run, track="notebook"))
    kinds = [call[0] for call in theirs.CALLS]
    assert kinds[0] == "start"
    assert "log" in kinds
    assert theirs.CALLS[-1] == ("finish", "finished")
    assert (store.folder / "tracked" / "notebook").is_dir()
