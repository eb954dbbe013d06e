"""Ensembles that do not fit into memory go on in halves and lose nothing; several take turns on one device."""

import json

import numpy as np
import pytest
import torch

from partita.data import load
from partita.studies import Store, plan, train
from partita.studies._memory_budget import MemoryBudget
from partita.training import Ensemble, Interrupted
from partita.training.steps import side_by_side, to_the_end
from partita.training.tensors import read_tensors

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def dataset():
    return load("groups", size=200)


def weights(store: Store, runs) -> list[dict[str, torch.Tensor]]:
    return [read_tensors(store.folder_of(run) / "weights.safetensors", "weights")[0] for run in runs]


def limited(monkeypatch, most: int, until: int) -> list[int]:
    """From step `until` on the memory bears `most` models; returns how many steps each model number took."""
    plain, taken = Ensemble.advance, []

    def advance(self, count):
        if len(self.seeds) > most and self.step >= until:
            raise torch.OutOfMemoryError("as a test pretends")
        plain(self, count)
        taken.append(len(self.seeds) * count)

    monkeypatch.setattr(Ensemble, "advance", advance)
    return taken


@pytest.mark.parametrize(("until", "restarts"), [(0, 2), (20, 1), (40, 2)])
def test_too_many_models_go_on_in_halves(dataset, tmp_path, monkeypatch, caplog, until, restarts):
    options = {"restarts": [restarts]}
    runs = plan(["pdisvae"], dataset, options=options, seeds=range(5), steps=60, batch_size=50)
    plainly, halved = Store(tmp_path / "plainly"), Store(tmp_path / "halved")
    train(runs, dataset, plainly, device=CPU)
    taken = limited(monkeypatch, 2 * restarts, until)
    train(runs, dataset, halved, device=CPU, checkpoint_seconds=0.0)
    assert "going on in halves" in caplog.text
    for one, other in zip(weights(plainly, runs), weights(halved, runs)):
        for name, value in one.items():
            torch.testing.assert_close(other[name], value, rtol=1e-4, atol=1e-5)
    for run in runs:
        assert plainly.history(run)["step"].tolist() == halved.history(run)["step"].tolist()
    assert not list((tmp_path / "halved" / "ensembles").glob("*"))
    again = 0 if until else 5 * restarts  # work that was done twice: none where a checkpoint was there
    assert sum(taken) <= 5 * restarts * 60 + again


def test_a_model_that_does_not_fit_by_itself_is_named(dataset, tmp_path, monkeypatch):
    runs = plan(["vae"], dataset, seeds=range(2), steps=20)
    limited(monkeypatch, 0, 0)
    with pytest.raises(ValueError, match=r"the memory of cpu is too small for vae-seed0-\w+: use"):
        train(runs, dataset, Store(tmp_path), device=CPU)


def test_generators_of_steps_take_turns_and_return():
    seen = []

    def work(name, count):
        for step in range(count):
            seen.append((name, step))
            yield

    side_by_side([work("a", 2), work("b", 3), work("c", 1)], CPU, 2)
    assert seen == [("a", 0), ("b", 0), ("a", 1), ("b", 1), ("b", 2), ("c", 0)]
    seen.clear()
    side_by_side([work("a", 2), work("b", 2)], CPU, 1)
    assert seen == [("a", 0), ("a", 1), ("b", 0), ("b", 1)]

    def counting():
        yield
        return 7

    assert to_the_end(counting()) == 7


def test_all_under_way_save_themselves_when_one_is_stopped():
    saved = []

    def work(name, steps):
        for _ in range(steps):
            yield
        saved.append(name)
        raise Interrupted(name)

    with pytest.raises(Interrupted, match="long"):
        side_by_side([work("short", 1), work("long", 3), work("never", 1)], CPU, 2)
    assert saved == ["short", "long"]


def test_side_by_side_gives_what_one_by_one_gives(dataset, tmp_path, monkeypatch):
    runs = plan(["vae", "pdisvae", "beta_tcvae"], dataset, seeds=range(2), steps=30, batch_size=50)
    one, three = Store(tmp_path / "one"), Store(tmp_path / "three")
    train(runs, dataset, one, device=CPU)
    monkeypatch.setattr(MemoryBudget, "ensembles", lambda self, companies: len(companies))
    train(runs, dataset, three, device=CPU)
    for a, b in zip(weights(one, runs), weights(three, runs)):
        assert all(torch.equal(a[name], b[name]) for name in a)
    scores = [json.dumps({k: np.asarray(v).tolist() for k, v in s.history(runs[3]).items()}) for s in (one, three)]
    assert scores[0] == scores[1]
