"""Functions that are called back: what they see, how they end a run, and that they change nothing else."""

import numpy as np
import pytest
import torch
from sklearn.base import clone

import partita as pt
from partita.data import load
from partita.training.program import replica_seeds

X = np.array(load("groups", size=200).x)
QUICK = {"latents": 4, "steps": 60, "network": "linear", "likelihood": "gaussian:0.25", "device": "cpu"}


def same_weights(one, other) -> bool:
    return all(torch.equal(one.parameters_[name], value) for name, value in other.parameters_.items())


def test_they_see_plain_numbers_at_every_log_point_and_change_nothing():
    seen = []

    def watch(step, quantities):
        seen.append((step, dict(quantities)))
        quantities["loss"] = np.nan
        quantities.clear()
        torch.manual_seed(step)

    plain = pt.Disentangler("vae", **QUICK).fit(X)
    watched = pt.Disentangler("vae", callbacks=[watch, watch], **QUICK).fit(X)
    assert same_weights(watched, plain)
    assert [step for step, _ in seen[::2]] == plain.history_["step"].tolist()
    assert all(type(value) is float for _, quantities in seen for value in quantities.values())
    assert [each["loss"] for _, each in seen[::2]] == [each["loss"] for _, each in seen[1::2]]
    np.testing.assert_array_equal(np.float32([each["loss"] for _, each in seen[::2]]), plain.history_["loss"])


@pytest.mark.parametrize(
    "settings",
    [
        {"method": "vae"},
        {"method": "vae", "options": {"restarts": 2}},
        {"method": "vae", "validation": 0.2},
        {"method": "factor_vae", "options": {"width": 8, "depth": 2}},
    ],
    ids=["plain", "restarts", "held out", "two players"],
)
def test_true_ends_the_run_with_the_weights_of_then(settings):
    """Those of a run that was to be no longer."""
    stopped = pt.Disentangler(**QUICK | settings, callbacks=[lambda step, quantities: step == 20]).fit(X)
    assert stopped.history_["step"].tolist() == list(range(1, 21))
    assert np.isfinite(stopped.score(X))
    if settings != {"method": "vae", "validation": 0.2}:  # how many rows are looked at depends on the steps in all
        short = pt.Disentangler(**QUICK | settings | {"steps": 20}).fit(X)
        assert same_weights(stopped, short)


def test_groups_are_as_asked_where_a_run_ends_before_they_are_put_together():
    settings = QUICK | {"groups": (2, 2), "options": {"restarts": 2}}
    seen = []

    def enough(step, quantities):
        seen.append(step)
        return np.bool_(step == 10)

    model = pt.Disentangler("pdisvae", callbacks=[enough], **settings).fit(X)
    assert seen == list(range(1, 11))
    assert model.groups_ == ((0, 1), (2, 3))
    assert model.history_["step"][-1] == 10
    settings = QUICK | {"steps": 10, "options": {"restarts": 1}}
    replicas = [pt.Disentangler("pdisvae", **settings, seed=seed).fit(X) for seed in replica_seeds(0, 2)]
    decoded, *others = [each.inverse_transform(each.transform(X)) for each in (model, *replicas)]
    assert min(np.abs(decoded - other).max() for other in others) < 1e-4


def test_only_true_ends_a_run():
    model = pt.Disentangler("vae", callbacks=[lambda step, quantities: step], **QUICK | {"steps": 5}).fit(X)
    assert model.history_["step"][-1] == 5


def test_an_error_names_the_callback_and_the_step():
    def broken(step, quantities):
        return quantities["no such thing"]

    with pytest.raises(ValueError, match=r"callback .*broken failed at step 1: KeyError: 'no such thing'"):
        pt.Disentangler("vae", callbacks=[broken], **QUICK).fit(X)


@pytest.mark.parametrize(("wrong", "words"), [(print, "several functions"), ([3], "functions .*got 3")])
def test_what_is_no_callback_is_refused(wrong, words):
    with pytest.raises(ValueError, match=words):
        pt.Disentangler("vae", callbacks=wrong, **QUICK).fit(X)


def test_they_are_cloned_with_the_estimator_and_not_saved(tmp_path):
    model = clone(pt.Disentangler("vae", callbacks=[lambda step, quantities: step == 2], **QUICK)).fit(X)
    assert model.history_["step"].tolist() == [1, 2]
    model.save(tmp_path / "model.safetensors")
    back = pt.load(tmp_path / "model.safetensors")
    assert back.callbacks == ()
    assert np.array_equal(back.transform(X), model.transform(X))
