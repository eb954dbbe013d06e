"""What people do with an estimator: tables with names, grids over NumPy values, images as cameras give them."""

import logging
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
import torch
from sklearn.compose import ColumnTransformer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import partita as pt
from partita.data import load
from partita.estimator import Disentangler
from partita.recipes import RECIPES, Ramp, build

X = np.array(load("groups", size=100).x[:, :6])
NAMES = [f"column {k}" for k in range(6)]
TABLE = pa.table(list(X.T), names=NAMES)
QUICK = {"latents": 4, "steps": 4, "network": "linear"}


def reloaded(model, tmp_path):
    model.save(tmp_path / "model.safetensors")
    return pt.load(tmp_path / "model.safetensors")


def test_column_names_survive_the_file(tmp_path):
    model = Disentangler("vae", **QUICK).fit(TABLE)
    back = reloaded(model, tmp_path)
    assert back.feature_names_in_.tolist() == model.feature_names_in_.tolist()
    assert np.array_equal(back.transform(TABLE), model.transform(TABLE))
    for each in (model, back):
        with pytest.raises(ValueError, match="[Ff]eature names"):
            each.transform(TABLE.select(NAMES[::-1]))
    assert not hasattr(reloaded(Disentangler("vae", **QUICK).fit(X), tmp_path), "feature_names_in_")


# What fit takes -> what comes back: Python's own.
VALUES = {
    "latents": [(np.int64(4), 4), (np.uint8(4), 4)],
    "groups": [
        (np.array([2, 2]), (2, 2)),
        ([2, 2], (2, 2)),
        ((np.int32(3), np.int64(1)), (3, 1)),
        (np.array([[0, 3], [1, 2]]), ((0, 3), (1, 2))),
        ([[0, 3], (1,), np.array([2])], ((0, 3), (1,), (2,))),
        (np.str_("auto"), "auto"),
    ],
    "options": [
        ({"beta": np.float32(3), "restarts": np.int64(2)}, {"beta": 3.0, "restarts": 2}),
        ({"beta": Fraction(1, 2), np.str_("by"): np.str_("mss")}, {"beta": 0.5, "by": "mss"}),
        ({"beta": Ramp(np.float64(0.0), 4, 10)}, {"beta": Ramp(0.0, 4, 10)}),
        ({"posterior": np.str_("correlated"), "rho": np.float32(0.5)}, {"posterior": "correlated", "rho": 0.5}),
        ({}, {}),
    ],
    "network": [(np.str_("mlp"), "mlp")],
    "likelihood": [(np.str_("gaussian:0.5"), "gaussian:0.5")],
    "steps": [(np.int32(4), 4), (np.float64(4), 4.0)],
    "batch_size": [(np.int16(32), 32)],
    "learning_rate": [(np.float64(1e-3), 1e-3), (np.float32(0.5), 0.5)],
    "seed": [(np.int64(3), 3), (np.uint64(2**40), 2**40)],
    "device": [(np.str_("cpu"), "cpu"), (torch.device("cpu"), "cpu")],
    "verbose": [(np.bool_(False), False), (0, 0)],
    "validation": [(None, None), (np.float32(0.5), 0.5), ("blocks:0.5", "blocks:0.5")],
    "method": [(np.str_("pdisvae"), "pdisvae")],
    "callbacks": [((), ())],
    "scale": [(np.str_("one"), "one")],
    "missing": [(np.str_("ignore"), "ignore")],
    "exposure": [(None, None)],
    "hidden": [([256, 256], (256, 256)), (np.array([256, 256]), (256, 256))],
    "precision": [(np.str_("float32"), "float32"), ("bf16", "bf16")],
    "warm_start": [(np.bool_(False), False)],
}


def test_every_parameter_has_its_values_here():
    assert VALUES.keys() == Disentangler().get_params().keys()


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [(name, value, expected) for name, cases in VALUES.items() for value, expected in cases],
    ids=lambda each: repr(each)[:30],
)
def test_what_fit_accepts_can_be_saved_and_comes_back(name, value, expected, tmp_path):
    settings = QUICK | {"options": {"restarts": 1}}
    model = Disentangler(**settings | {name: value}).fit(X)
    back = reloaded(model, tmp_path)
    found = back.get_params()
    assert found[name] == expected
    assert type(found[name]) is type(expected)
    assert np.array_equal(back.transform(X), model.transform(X))
    same = Disentangler(**found).fit(X)
    assert all(torch.equal(same.parameters_[key], kept) for key, kept in model.parameters_.items())


def test_what_could_not_be_saved_is_refused_before_training():
    with pytest.raises(ValueError, match="options: .*object.* cannot be kept in a file"):
        Disentangler(**QUICK, options={"beta": object()}).fit(X)


def test_a_grid_over_numpy_values_is_saved(tmp_path):
    grid = {"latents": np.arange(2, 4), "options": [{"beta": beta} for beta in np.linspace(0, 2, 2, dtype=np.float32)]}
    search = GridSearchCV(Disentangler("beta_vae", steps=4, network="linear"), grid, cv=2).fit(X)
    back = reloaded(search.best_estimator_, tmp_path)
    assert back.latents in (2, 3)


def test_latents_have_names():
    model = Disentangler("vae", **QUICK).fit(TABLE)
    assert model.get_feature_names_out().tolist() == ["z0", "z1", "z2", "z3"]
    with pytest.raises(ValueError, match="input_features"):
        model.get_feature_names_out(["a", "b"])


def frame():
    """pandas is no dependency of ours, only of those who ask for frames."""
    return pytest.importorskip("pandas", reason="frames need pandas").DataFrame(X, columns=NAMES)


def test_frames_come_out_where_frames_are_asked_for():
    shifted = frame().set_index(np.arange(100) + 7)
    codes = Disentangler("vae", **QUICK).set_output(transform="pandas").fit_transform(shifted)
    assert codes.columns.tolist() == ["z0", "z1", "z2", "z3"]
    assert codes.index.equals(shifted.index)
    assert (codes.dtypes == np.float32).all()


def test_names_in_unions_columns_and_pipelines(tmp_path):
    table = frame()
    few = Disentangler("vae", latents=2, steps=4, network="linear")
    union = FeatureUnion([("a", few), ("b", few)]).set_output(transform="pandas").fit(table)
    assert union.transform(table).columns.tolist() == ["a__z0", "a__z1", "b__z0", "b__z1"]
    columns = ColumnTransformer([("some", few, list(table.columns[:3]))], remainder="passthrough").fit(table)
    assert columns.get_feature_names_out().tolist()[:3] == ["some__z0", "some__z1", "remainder__column 3"]
    pipeline = make_pipeline(StandardScaler(), few).set_output(transform="pandas").fit(table)
    assert pipeline.get_feature_names_out().tolist() == ["z0", "z1"]
    assert pipeline.transform(table).columns.tolist() == ["z0", "z1"]
    back = reloaded(pipeline[-1], tmp_path).set_output(transform="pandas")
    assert back.transform(pipeline[0].transform(table)).columns.tolist() == ["z0", "z1"]


@pytest.mark.parametrize("shape", [(20, 28, 28, 3), (20, 28, 32, 1), (20, 64, 64, 4)])
def test_channels_last_are_refused_with_the_transpose_to_write(shape):
    with pytest.raises(ValueError, match=r"X\.transpose\(0, 3, 1, 2\)") as caught:
        Disentangler("vae", **QUICK).fit(np.zeros(shape, np.uint8))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("shape", [(20, 3, 28, 28), (20, 1, 28, 28), (20, 4, 12, 4), (20, 16, 4, 4), (20, 12, 1, 1)])
def test_channels_first_are_not(shape):
    x = np.random.default_rng(0).random(shape)
    assert Disentangler("vae", **QUICK).fit(x).transform(x).shape == (20, 4)


def test_flat_bytes_are_scaled_like_images(capsys):
    """As they are, values up to 255 made the loss infinite."""
    images = (255 * np.array(load("pdsprites").x[:60, :, ::4, ::4], np.float64)).astype(np.uint8)
    flat = images.reshape(len(images), -1)
    settings = QUICK | {"likelihood": "gaussian:0.1", "steps": 30, "learning_rate": 1e-2}
    as_images, as_rows = Disentangler("vae", **settings).fit(images), Disentangler("vae", **settings).fit(flat)
    assert np.array_equal(as_images.transform(images), as_rows.transform(flat))
    assert np.array_equal(as_rows.transform(flat.astype(float)), as_rows.transform(flat))
    decoded = as_rows.inverse_transform(as_rows.transform(flat))
    assert np.array_equal(decoded, as_images.inverse_transform(as_images.transform(images)).reshape(flat.shape))
    assert decoded.max() > 2
    Disentangler("vae", **settings, verbose=True).fit(flat)
    assert "bytes are divided by 255" in capsys.readouterr().out


def test_few_rows_take_single_groups_and_say_so(caplog):
    with caplog.at_level(logging.WARNING, "partita"):
        model = Disentangler(groups="auto", **QUICK).fit(X[:40])
    assert model.groups_ == ((0,), (1,), (2,), (3,))
    assert "36 rows are too few to unmix 4 latents (60 are needed)" in caplog.text


COLUMNS = np.array([1, 20, 1e5, 3e6, 1, 1])


@pytest.mark.parametrize(
    ("table", "settings", "advice"),
    [
        (X * COLUMNS, {}, "where about 1 is expected: standardise each of them"),
        (X * 3e6, {}, "where about 1 is expected: standardise them, or divide all by "),
        (X, {"learning_rate": 1e8}, "as expected: lower the learning rate"),
    ],
    ids=["uneven units", "large units", "large steps"],
)
def test_divergence_is_told_by_what_the_data_show(table, settings, advice):
    with pytest.raises(ValueError, match="no longer finite") as caught:
        Disentangler("vae", **{"latents": 2, "steps": 300, "likelihood": "gaussian:1.0"} | settings).fit(table)
    words, deviations = str(caught.value), table.std(0)
    assert f"standard deviations from {deviations.min():.3g} to {deviations.max():.3g} and values up to" in words
    assert advice in words
    assert "\n" not in words


UNLABELLED = [method for method in RECIPES if build(method, shape=(1,)).recipe.labels == "none"]


def checked(**settings):
    results = check_estimator(Disentangler(latents=2, steps=8, **settings), on_skip=None, on_fail="raise")
    assert {result["status"] for result in results} <= {"passed", "skipped"}


def test_scikit_learns_checks_pass_where_groups_are_to_be_found():
    checked(groups="auto", network="linear")


@pytest.mark.slow
@pytest.mark.parametrize("method", UNLABELLED)
def test_scikit_learns_checks_pass_for_every_method_without_labels(method):
    checked(method=method)
