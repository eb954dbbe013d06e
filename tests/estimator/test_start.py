"""Where an estimator starts: unmixed, unless something else was asked for or the data are of another kind."""

import numpy as np
import pytest

import partita as pt
from partita.data import load
from partita.estimator import RESTARTS, Disentangler
from partita.structure import align

STEPS = {"steps": 5, "device": "cpu"}


@pytest.fixture(scope="module")
def data():
    return load("groups", size=600)


@pytest.mark.parametrize("groups", [(2, 2, 2), "auto"])
def test_rows_of_numbers_start_unmixed(data, groups, tmp_path):
    model = Disentangler(groups=groups, steps=100, device="cpu").fit(data.x)
    assert model._program().start is not None
    assert model.groups_ == ((0, 1), (2, 3), (4, 5))
    assert model.network_ == "auto"
    assert model._recipe().architecture.network == "linear"
    assert "held_out_loss" in model.history_
    assert align(model.transform(data.x), data.truth, model.groups_, data.truth_groups).r2 > 0.97
    model.save(tmp_path / "model.safetensors")
    again = pt.load(tmp_path / "model.safetensors")
    assert again.groups == groups
    assert (again.groups_, again.candidate_) == (model.groups_, model.candidate_)
    np.testing.assert_array_equal(again.transform(data.x), model.transform(data.x))
    np.testing.assert_array_equal(again.inverse_transform(data.truth), model.inverse_transform(data.truth))
    assert again.score(data.x) == model.score(data.x)


def test_bent_rows_get_a_network_that_bends_and_keep_it(tmp_path):
    options = {"groups": (2, 2), "features": 6, "noise": 0.05, "seed": 1, "mixing": "nonlinear"}
    data = load("groups", size=480, **options)
    model = Disentangler(groups=(2, 2), **STEPS).fit(data.x)
    assert model.candidate_ == 1
    assert model._recipe().architecture.network == "nearly_linear"
    model.save(tmp_path / "model.safetensors")
    again = pt.load(tmp_path / "model.safetensors")
    assert again.candidate_ == 1
    np.testing.assert_array_equal(again.transform(data.x), model.transform(data.x))


@pytest.mark.parametrize(
    ("settings", "replicas"),
    [
        ({"options": {"restarts": 2}}, 2),
        ({"options": {"restarts": 1}}, 1),
        ({"options": {"start": "random"}}, RESTARTS),
        ({"options": {"posterior": "full"}}, 1),
        ({"options": {"posterior": "correlated"}}, RESTARTS),
        ({"network": "mlp"}, RESTARTS),
        ({"likelihood": "student"}, RESTARTS),
        ({"options": {"disintegration": 1.0}}, RESTARTS),
        ({"groups": (3, 3, 3)}, RESTARTS),
    ],
    ids=str,
)
def test_what_else_is_asked_for_takes_the_way_of_before(settings, replicas):
    rng = np.random.default_rng(0)
    x = rng.poisson(3.0, (40, 8)) - 0.5  # more latents than these features, in the last case
    model = Disentangler(**{"groups": (2, 2), **settings}, **STEPS).fit(x, rng.integers(0, 2, 40))
    program = model._program()
    assert program.start is None
    assert program.replicas == replicas
    assert not program.hold_out
    assert model.network_ == "mlp"


def test_how_far_restarts_agree_is_known_of_a_model_and_of_its_file(tmp_path):
    data = load("groups", size=300, groups=(2, 1), features=6)
    model = Disentangler(groups=(2, 1), options={"restarts": 3}, **STEPS).fit(data.x)
    assert len(model.restarts_) == 2
    assert all(-1 < r2 <= 1 for r2 in model.restarts_)
    model.save(tmp_path / "model.safetensors")
    again = pt.load(tmp_path / "model.safetensors")
    assert again.restarts_ == model.restarts_
    same = sum(r2 >= 0.9 for r2 in model.restarts_)
    assert f"{same} of 2 other restarts found the same groups" in again.diagnose(data.x).reasons


def test_images_take_the_way_of_before():
    x = np.random.default_rng(0).random((20, 1, 8, 8))
    model = Disentangler(groups=(2, 2), **STEPS).fit(x)
    assert model._program().start is None
    assert model._program().replicas == RESTARTS


@pytest.mark.parametrize("method", ["pdisvae", "hfvae"])
def test_a_start_can_be_asked_for(data, method):
    model = Disentangler(method, groups=(2, 2, 2), options={"start": "unmixed"}, **STEPS).fit(data.x)
    assert model._program().start is not None
    assert align(model.transform(data.x), data.truth, model.groups_, data.truth_groups).r2 > 0.97


def test_few_rows_are_fitted_all_the_same(data, caplog):
    for groups, found in (((2, 2), ((0, 1), (2, 3))), ("auto", ((0,), (1,), (2,), (3,)))):
        model = Disentangler(latents=4, groups=groups, **STEPS).fit(data.x[:12])
        assert model.groups_ == found
        assert "12 rows are too few to unmix 4 latents (60 are needed)" in caplog.text
        assert np.isfinite(model.transform(data.x)).all()
        caplog.clear()


def test_as_many_latents_as_the_rows_show(data, tmp_path):
    model = Disentangler(latents="auto", groups="auto", **STEPS).fit(data.x)
    assert model.latents_ == 6
    assert model.transform(data.x).shape == (600, 6)
    assert model.groups_ == ((0, 1), (2, 3), (4, 5))
    model.save(tmp_path / "model.safetensors")
    again = pt.load(tmp_path / "model.safetensors")
    assert again.latents == "auto"
    np.testing.assert_array_equal(again.transform(data.x), model.transform(data.x))
    few = load("groups", groups=(2, 1), size=300).x
    assert again.fit(few).latents_ == 3
    again.set_params(latents=None, groups=(1, 1))  # as many as the groups have, whatever was found before
    assert again.fit(few).transform(few).shape == (300, 2)
    with pytest.raises(ValueError, match="add up to 4, but there are 6 latents"):
        Disentangler(latents="auto", groups=(2, 2), **STEPS).fit(data.x)
