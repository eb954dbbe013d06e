import os

import pytest
import torch

from partita.recipes import RECIPES
from partita.training import Checkpoints, Ensemble, History, Interrupted, fit
from partita.training.files import write_bytes
from partita.training.tensors import read_tensors, write_tensors

CPU = torch.device("cpu")


def runs(x, seeds=(0, 1)):
    recipe = RECIPES["pdisvae"](latents=4, groups=(2, 2), shape=(8,), network="linear")
    return Ensemble([recipe] * len(seeds), list(seeds), x, batch_size=20, device=CPU)


def same(one, other):
    return all(torch.equal(value, other.state()[name]) for name, value in one.state().items())


@pytest.mark.parametrize("stop_after", [1, 3, 7])
def test_stopped_and_continued_is_identical_to_the_last_bit(x, tmp_path, stop_after):
    straight = runs(x)
    whole = fit(straight, 95, log_every=20)
    asked = iter([False] * stop_after + [True] * 100)
    with pytest.raises(Interrupted, match="stopped at step"):
        fit(runs(x), 95, log_every=20, checkpoints=Checkpoints(tmp_path, ("a", "b")), stop=lambda: next(asked))
    resumed = runs(x)
    history = fit(resumed, 95, log_every=20, checkpoints=Checkpoints(tmp_path, ("a", "b")))
    assert same(straight, resumed)
    assert history.steps == whole.steps
    assert (history.values() == whole.values()).all()


def damaged(path, how):
    content = path.read_bytes()
    if how == "cut":
        path.write_bytes(content[: len(content) // 2])
    elif how == "empty":
        path.write_bytes(b"")
    elif how == "flipped":
        path.write_bytes(content[:-5] + bytes([content[-5] ^ 1]) + content[-4:])
    else:
        path.write_bytes(b"not a checkpoint at all")


@pytest.mark.parametrize("how", ["cut", "empty", "flipped", "foreign"])
def test_a_damaged_checkpoint_is_refused_and_the_previous_one_used(x, tmp_path, how, caplog):
    kept = Checkpoints(tmp_path, ("a", "b"))
    first, history = runs(x), History(runs(x).quantity_names, 2)
    first.advance(5)
    kept.save(first, history)
    expected = {name: value.clone() for name, value in first.state().items()}
    first.advance(5)
    kept.save(first, history)
    damaged(kept.newest, how)
    again = runs(x)
    assert kept.restore(again, history)
    assert again.step == 5
    assert all(torch.equal(value, again.state()[name]) for name, value in expected.items())
    assert str(kept.newest) in caplog.text


def rewritten(path, change):
    """The file with other words about its tensors, and a digest that is right for them."""
    tensors, about = read_tensors(path, "checkpoint")
    write_tensors(path, "checkpoint", tensors, change(about))


@pytest.mark.parametrize(
    "change",
    [
        lambda about: about | {"step": 10**12},
        lambda about: about | {"step": 40},
        lambda about: about | {"step": "20"},
        lambda about: about | {"step": None},
        lambda about: about | {"steps": [10, 30]},
        lambda about: about | {"steps": [20, 10]},
        lambda about: about | {"steps": [20]},
        lambda about: about | {"names": 3},
        lambda about: about | {"members": "ab"},
        lambda about: {name: about[name] for name in about if name != "step"},
        lambda about: {name: about[name] for name in about if name != "steps"},
        lambda about: {name: about[name] for name in about if name != "names"},
        lambda about: {},
    ],
)
def test_words_that_cannot_be_true_make_it_fall_back_to_the_previous_one(x, tmp_path, caplog, change):
    kept = Checkpoints(tmp_path, ("a", "b"))
    asked = iter([False] + [True] * 9)
    with pytest.raises(Interrupted):
        fit(runs(x), 30, log_every=10, checkpoints=kept, stop=lambda: next(asked), seconds_between_checkpoints=0)
    rewritten(kept.newest, change)
    again, history = runs(x), History(runs(x).quantity_names, 2)
    assert kept.restore(again, history, 30)
    assert again.step == 10
    assert history.steps == [10]
    assert str(kept.newest) in caplog.text


def test_a_step_changed_in_the_file_is_refused(x, tmp_path, caplog):
    kept = Checkpoints(tmp_path, ("a", "b"))
    with pytest.raises(Interrupted):
        fit(runs(x), 300, log_every=10, checkpoints=kept, stop=lambda: True)
    content = kept.newest.read_bytes()
    assert content.count(b'\\"step\\": 10,') == 1
    kept.newest.write_bytes(content.replace(b'\\"step\\": 10,', b'\\"step\\": 90,'))
    assert not kept.restore(runs(x), History(runs(x).quantity_names, 2), 300)
    assert "does not match its digest" in caplog.text


def test_between_two_renames_the_fresh_one_counts(x, tmp_path):
    kept = Checkpoints(tmp_path, ("a", "b"))
    ensemble, history = runs(x), History(runs(x).quantity_names, 2)
    for _ in range(2):
        ensemble.advance(5)
        kept.save(ensemble, history)
    os.replace(kept.newest, tmp_path / "fresh.safetensors")
    again = runs(x)
    assert kept.restore(again, history)
    assert again.step == 10


def test_all_diverged_is_saved_and_not_trained_again(x, tmp_path):
    """Before, the loop ended without a checkpoint, and was gone through again after a kill."""
    recipe = RECIPES["vae"](latents=2, shape=(8,), network="linear", learning_rate=1e30)
    kept = Checkpoints(tmp_path, ("a",))
    history = fit(Ensemble([recipe], [0], x, batch_size=20, device=CPU), 95, log_every=5, checkpoints=kept)
    assert history.diverged(0) == history.steps[-1] < 95
    again = Ensemble([recipe], [0], x, batch_size=20, device=CPU)
    again.advance = None  # no step is to be taken
    assert fit(again, 95, log_every=5, checkpoints=kept).steps == history.steps


def test_a_checkpoint_of_other_runs_is_refused(x, tmp_path, caplog):
    kept = Checkpoints(tmp_path, ("a", "b"))
    kept.save(runs(x), History(runs(x).quantity_names, 2))
    assert not Checkpoints(tmp_path, ("a", "c")).restore(runs(x), History([], 2))
    assert "other runs" in caplog.text


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "file"
    write_bytes(path, b"old")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_bytes(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_of_another_kind_is_refused(tmp_path):
    path = tmp_path / "weights"
    write_tensors(path, "weights", {"a": torch.zeros(2)}, {})
    with pytest.raises(ValueError, match="was not written by partita as a checkpoint"):
        read_tensors(path, "checkpoint")
    with pytest.raises(FileNotFoundError, match="does not exist"):
        read_tensors(tmp_path / "nothing", "weights")
