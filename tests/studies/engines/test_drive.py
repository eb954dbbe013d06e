"""Nodes that will not do are named in one line, before anything is written or runs."""

import re

import pytest

from partita import __version__
from partita.data import load
from partita.studies import Store, plan
from partita.studies._train_on import train_on
from partita.studies.engines import Node
from partita.studies.engines._task import versions
from partita.studies.engines._worker import look


class Nodes:
    """An engine whose nodes look at what is there as workers do, each with something of its own."""

    words, device, stays = "the cluster", "cpu", True

    def __init__(self, *others):
        self.others, self.started, self.shared = others, [], []

    def nodes(self, store, token, data):
        own = look(store, token, data)
        return [own, *(Node(**{**vars(own), "name": "node7", **other}) for other in self.others)]

    def share(self, dataset):
        self.shared.append(dataset)
        raise InterruptedError  # far enough

    def start(self, tasks):
        self.started += tasks
        raise InterruptedError

    def workers(self):
        return 1


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"versions": versions() | {"Python": "3.9"}}, "node7 of the cluster has Python 3.9 (here {Python}): install"),
        ({"versions": versions() | {"partita": "0.0.9"}}, "has partita 0.0.9 (here {partita}): install the same"),
        ({"versions": {"Python": "3.9", "partita": "0.0.9"}}, "has Python 3.9 (here {Python}) and partita 0.0.9 (here"),
        ({"sees_store": False}, "node7 of the cluster does not see {folder}: choose an --out that is shared by all"),
    ],
)
def test_a_node_that_will_not_do(data, runs, tmp_path, other, said):
    engine, store = Nodes({}, other), Store(tmp_path / "study")
    with pytest.raises((ValueError, OSError)) as refused:
        train_on(engine, runs, data, store, device="cpu")
    words = said.format(**versions(), folder=tmp_path / "study")
    assert words in str(refused.value)
    assert "\n" not in str(refused.value)
    assert engine.started == []
    assert not list(store.folder.rglob("*"))  # not even what the runs are


def test_versions_are_those_of_this_process():
    assert versions()["partita"] == __version__
    assert re.fullmatch(r"3\.\d+", versions()["Python"])


def test_data_that_every_node_sees_stay_where_they_are(data, runs, tmp_path):
    engine = Nodes({})
    with pytest.raises(InterruptedError):
        train_on(engine, runs, data, Store(tmp_path), device="cpu")
    assert engine.shared == []
    assert [task.shared for task in engine.started] == [None]


def test_a_file_that_a_node_does_not_see_is_handed_over(tmp_path):
    import numpy as np

    np.save(tmp_path / "rows.npy", np.random.default_rng(0).normal(size=(40, 3)))
    data = load(str(tmp_path / "rows.npy"))
    own = plan(["pca"], data, latents=2)
    engine = Nodes({"sees_data": False})
    with pytest.raises(InterruptedError):
        train_on(engine, own, data, Store(tmp_path / "study"), device="cpu")
    assert engine.shared == [data]
    assert engine.started == []
