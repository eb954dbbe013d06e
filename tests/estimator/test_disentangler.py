import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import partita as pt
from partita.data import load
from partita.estimator import Disentangler


@pytest.fixture(scope="module")
def x():
    return np.array(load("groups", size=200).x)


@pytest.fixture(scope="module")
def fitted(x):
    return Disentangler(latents=4, groups=(2, 2), steps=150, learning_rate=3e-3, network="linear").fit(x)


def test_scikit_learns_own_checks_pass_in_full():
    results = check_estimator(Disentangler(latents=2, steps=8, network="linear"), on_skip=None, on_fail="raise")
    assert results
    assert {result["status"] for result in results} <= {"passed", "skipped"}
    assert not [result["check_name"] for result in results if result["expected_to_fail"]]


def test_shapes_and_types(fitted, x):
    codes = fitted.transform(x)
    assert codes.shape == (200, 4)
    assert codes.dtype == np.float32
    mean, log_variance = fitted.posterior(x)
    assert (mean == codes).all()
    assert log_variance.shape == codes.shape
    assert fitted.inverse_transform(codes).shape == x.shape
    assert fitted.sample(7).shape == (7, 20)
    assert np.isfinite(fitted.score(x))
    assert fitted.groups_ == ((0, 1), (2, 3))
    assert len(fitted.history_["step"]) == len(fitted.history_["pc"])


def test_it_learns(fitted, x):
    """A linear model of 20 noisy features explains most of their variance by four latents."""
    residual = x - fitted.inverse_transform(fitted.transform(x))
    assert 1 - residual.var() / x.var() > 0.6


def test_the_same_seed_gives_the_same_model(fitted, x):
    again = clone(fitted).fit(x)
    assert (again.transform(x) == fitted.transform(x)).all()
    other = clone(fitted).set_params(seed=1).fit(x)
    assert (other.transform(x) != fitted.transform(x)).any()


def test_save_and_load(fitted, x, tmp_path):
    fitted.save(tmp_path / "model.safetensors")
    back = pt.load(tmp_path / "model.safetensors")
    assert (back.transform(x) == fitted.transform(x)).all()
    assert back.score(x) == fitted.score(x)
    assert back.groups_ == fitted.groups_
    assert back.get_params() == fitted.get_params()
    assert (back.history_["loss"] == fitted.history_["loss"]).all()


def test_a_file_cut_short_is_refused(fitted, tmp_path):
    path = tmp_path / "model.safetensors"
    fitted.save(path)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(ValueError, match=r"model\.safetensors"):
        pt.load(path)
    with pytest.raises(OSError, match="nowhere"):
        pt.load(tmp_path / "nowhere")


def test_pickling_by_others_works(fitted, x):
    """scikit-learn users copy estimators between processes by pickle; partita's own files never use it."""
    assert (pickle.loads(pickle.dumps(fitted)).transform(x) == fitted.transform(x)).all()


def test_pipeline_and_grid_search(x):
    search = GridSearchCV(
        make_pipeline(StandardScaler(), Disentangler(latents=3, steps=20, network="linear")),
        {"disentangler__options": [{"beta": 0.0}, {"beta": 4.0}], "disentangler__latents": [2, 3]},
        cv=2,
    )
    search.fit(x)
    assert search.best_params_["disentangler__latents"] in (2, 3)
    assert search.transform(x).shape[1] == search.best_params_["disentangler__latents"]


@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.float64])
def test_images_of_any_type(dtype):
    images = (np.array(load("pdsprites").x[:40]) * (255 if dtype == np.uint8 else 1)).astype(dtype)
    model = Disentangler("vae", latents=2, steps=3, batch_size=16).fit(images)
    assert model.network_ == "burgess"
    assert model.likelihood_ == "bernoulli"
    decoded = model.inverse_transform(model.transform(images))
    assert decoded.shape == images.shape
    assert decoded.max() <= images.max()
    assert (decoded.max() > 1) == (dtype == np.uint8)


def test_integers_are_numbers():
    table = np.random.default_rng(0).integers(0, 9, (50, 5))
    model = Disentangler("beta_vae", latents=2, steps=5).fit(table)
    assert (model.transform(table) == model.transform(table.astype(float))).all()


def test_verbose_says_in_words_what_was_chosen(x, capsys):
    Disentangler(latents=2, steps=10, verbose=True).fit(x)
    said = capsys.readouterr().out
    for words in (
        "network auto: linear, or nearly so where the rows are bent",
        "likelihood gaussian:",
        "latents cannot explain",
        "data used as they are",
        "step 10 of 10",
    ):
        assert words in said


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"method": "pdisva"}, "did you mean 'pdisvae'"),
        ({"groups": (2, 2, 2)}, "add up to 6"),
        ({"method": "vae", "groups": (2, 2)}, "has no groups"),
        ({"options": {"beta": -1.0}}, "beta must be"),
        ({"options": {"bta": 1.0}}, "did you mean 'beta'"),
        ({"options": {"by": "importanc"}}, "importance"),
        ({"network": "cnn"}, "unknown network"),
        ({"likelihood": "cauchy"}, "unknown likelihood"),
        ({"steps": 0}, "steps must be at least 1"),
        ({"batch_size": 0}, "batch_size must be at least 1"),
        ({"learning_rate": 0.0}, "learning_rate must be"),
        ({"device": "tpu"}, "unknown device"),
    ],
)
def test_bad_settings_are_one_clear_line(x, settings, words):
    with pytest.raises(ValueError, match=words) as caught:
        Disentangler(**({"latents": 4, "steps": 3} | settings)).fit(x)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "bad",
    [
        np.zeros((0, 3)),
        np.zeros((1, 3)),
        np.zeros((5, 0)),
        np.full((5, 3), np.nan),
        np.full((5, 3), 1e39),
        np.zeros(7),
        np.zeros((2, 3, 4)),
        np.array([["a", "b"], ["c", "d"]]),
    ],
    ids=["empty", "one row", "no columns", "nan", "too large", "vector", "three axes", "text"],
)
def test_bad_data_is_a_value_error(bad):
    with pytest.raises(ValueError):
        Disentangler(latents=2, steps=2).fit(bad)


def test_constant_columns_are_no_problem(x):
    with_constant = np.hstack([x, np.full((len(x), 2), 3.0)])
    assert np.isfinite(Disentangler(latents=2, steps=20).fit(with_constant).transform(with_constant)).all()


def test_codes_of_the_wrong_width_are_refused(fitted):
    with pytest.raises(ValueError, match="has 3 columns, the model has 4 latents"):
        fitted.inverse_transform(np.zeros((2, 3)))


def test_huge_values_end_in_words_not_in_nan(x):
    with pytest.raises(ValueError, match="no longer finite|too large"):
        Disentangler("vae", latents=2, steps=200, network="linear", likelihood="gaussian:1e-30").fit(x * 1e18)


def test_a_full_covariance_is_fitted_with_and_without_restarts(x):
    options = {"latents": 4, "groups": (2, 2), "steps": 10, "network": "linear"}
    for more in ({}, {"restarts": 2}):
        model = Disentangler(options={"posterior": "full", **more}, **options).fit(x)
        assert np.isfinite(model.transform(x)).all()
