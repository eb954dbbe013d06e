"""What people expect of an estimator: weights, going on, bounds that compare, grids, loadings and traversals."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn import config_context
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_checks

import partita as pt
from partita.estimator import Disentangler

QUICK = {"steps": 20, "device": "cpu"}


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    return rng.laplace(size=(300, 3)) @ rng.normal(size=(3, 6)) + 0.4 * rng.normal(size=(300, 6))


@pytest.fixture(scope="module")
def linear(rows):
    """A linear Gaussian model whose posteriors are wrong: it is hardly trained."""
    few = {"steps": 80, "learning_rate": 1e-2, "device": "cpu"}
    return Disentangler("vae", latents=2, network="linear", likelihood="gaussian:0.3", **few).fit(rows)


def test_the_importance_weighted_bound_grows_to_the_evidence(linear, rows):
    """log p(x) of x = W z + b + noise is that of N(b, W W^T + s^2), which no bound may pass."""
    weight, bias = linear.loadings(), linear.inverse_transform(np.zeros((1, 2)))[0]
    evidence = multivariate_normal(bias, weight @ weight.T + 0.3 * np.eye(6)).logpdf(rows).mean()
    few, more, most = (linear.score(rows, draws=draws) for draws in (1, 8, 2000))
    assert few < more - 0.05 < most < evidence + 0.01
    assert most == pytest.approx(evidence, abs=0.05)


def test_where_the_posterior_is_exact_one_draw_is_as_good_as_many(rows):
    model = Disentangler("pca", latents=3).fit(rows)
    assert model.score(rows, draws=64) == pytest.approx(model.score(rows), abs=0.05)
    covariance = np.cov(rows.T, bias=True)
    values, axes = np.linalg.eigh(covariance)
    noise = values[:3].mean()
    fitted = axes * np.concatenate([[noise] * 3, values[3:]]) @ axes.T
    exact = multivariate_normal(rows.mean(0), fitted).logpdf(rows).mean()
    assert model.score(rows, draws=2) == pytest.approx(exact, abs=1e-3)


def test_bounds_of_other_units_labels_and_gaps_are_bounds_too(rows):
    units = Disentangler("vae", latents=2, network="linear", scale="standard", **QUICK).fit(100 * rows)
    assert units.score(100 * rows) < units.score(100 * rows, draws=32) < 0
    gaps = np.where(np.random.default_rng(1).random(rows.shape) < 0.2, np.nan, rows)
    holes = Disentangler("vae", latents=2, network="linear", missing="ignore", **QUICK).fit(gaps)
    assert holes.score(gaps) < holes.score(gaps, draws=32)
    labelled = Disentangler("ivae", latents=2, network="linear", **QUICK).fit(rows, rows[:, :1])
    assert labelled.score(rows) < labelled.score(rows, draws=32)
    for draws in (0, 1.5, True):
        with pytest.raises(ValueError, match="draws must be a whole number of at least 1"):
            labelled.score(rows, draws=draws)


def test_weights_of_pca_are_copies(rows):
    weights = np.random.default_rng(0).integers(0, 4, len(rows))
    copies = Disentangler("pca", latents=3).fit(np.repeat(rows, weights, 0))
    weighted = Disentangler("pca", latents=3).fit(rows, sample_weight=weights)
    np.testing.assert_allclose(weighted.transform(rows), copies.transform(rows), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(weighted.loadings(), copies.loadings(), rtol=1e-4, atol=1e-5)
    assert weighted.score(rows) == pytest.approx(copies.score(rows), abs=1e-4)
    plain = Disentangler("pca", latents=3).fit(rows)
    assert np.abs(np.abs(weighted.transform(rows)) - np.abs(plain.transform(rows))).max() > 0.01


@pytest.mark.parametrize("method", ["pdisvae", "vae", "ica", "ae_ica"])
def test_rows_without_weight_are_not_learned_from(rows, method):
    """Two populations: with weights on one of them, the model is of that one."""
    both = np.concatenate([rows, 5 + 3 * rows[:, ::-1]])
    weights = np.repeat([1.0, 0.0], len(rows))
    settings = {"latents": 3, "network": "linear", "likelihood": "gaussian", "scale": "none"} | QUICK | {"steps": 300}
    one, other = (
        Disentangler(method, **settings, learning_rate=1e-2).fit(both, sample_weight=each)
        for each in (weights, 1 - weights)
    )
    assert one.score(rows) > other.score(rows) + 1
    assert other.score(both[len(rows) :]) > one.score(both[len(rows) :]) + 1


@pytest.mark.parametrize(
    "check",
    ["weights_pandas_series", "weights_not_an_array", "weights_list", "weights_shape", "weights_not_overwritten"],
)
def test_scikit_learns_checks_of_weights_pass(check):
    model = Disentangler("vae", latents=2, steps=4, network="linear")
    getattr(estimator_checks, f"check_sample_{check}")("Disentangler", model)


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        (np.zeros(300), "zero for all rows"),
        (np.r_[-1.0, np.ones(299)], "not negative, got -1 at row 0"),
        (np.r_[1.0, np.nan, np.ones(298)], "finite and not negative, got nan at row 1"),
        (np.ones(7), r"sample_weight.shape == \(7,\), expected \(300,\)"),
        ("heavy", "a number a row|sample_weight.shape"),
    ],
)
def test_weights_that_cannot_be_are_refused(rows, weights, words):
    with pytest.raises(ValueError, match=words):
        Disentangler("vae", **QUICK).fit(rows, sample_weight=weights)


def test_weights_are_routed_and_nothing_else_is_taken(rows):
    with pytest.raises(TypeError, match="unexpected keyword argument 'weight'"):
        Disentangler("vae", **QUICK).fit(rows, weight=np.ones(300))
    with config_context(enable_metadata_routing=True):
        steps = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), Disentangler("pca", latents=2))
        steps[-1].set_fit_request(sample_weight=True)
        heavy = np.r_[np.full(10, 100.0), np.ones(290)]
        routed = steps.fit(rows, sample_weight=heavy).transform(rows)
        plain = steps.fit(rows).transform(rows)
    assert np.abs(np.abs(routed) - np.abs(plain)).max() > 0.1


def test_options_are_searched_one_by_one(rows):
    model = Disentangler("beta_vae", latents=2, network="linear", options={"beta": 2.0, "validation": None}, **QUICK)
    assert Disentangler(**model.get_params()).options == model.options
    search = GridSearchCV(model, {"options__beta": [0.5, 4.0], "latents": [1, 2]}, cv=2).fit(rows)
    assert search.best_estimator_.options["beta"] == search.best_params_["options__beta"]
    assert model.options == {"beta": 2.0, "validation": None}
    assert Disentangler("beta_vae").set_params(options__beta=3.0).options == {"beta": 3.0}
    with pytest.raises(ValueError, match="beta_vae has no option 'betta' .did you mean 'beta'"):
        Disentangler("beta_vae", **QUICK).set_params(options__betta=3.0).fit(rows)


@pytest.mark.parametrize("settings", [{"method": "vae", "latents": 2}, {"groups": (2, 1)}])
def test_fits_go_on(rows, settings, tmp_path):
    model = Disentangler(**settings, network="linear", warm_start=True, learning_rate=1e-2, **QUICK)
    first = model.fit(rows).score(rows)
    before, groups = {name: value.clone() for name, value in model.parameters_.items()}, model.groups_
    model.fit(rows)
    assert model.history_["step"].tolist() == list(range(1, 41))[: len(model.history_["step"])]
    assert model.history_["step"][-1] > 20
    assert model.groups_ == groups
    assert model.score(rows) > first - 0.5
    # from where it started unmixed, a model goes only to weights that also reconstruct no worse
    assert "groups" in settings or any(not value.equal(before[name]) for name, value in model.parameters_.items())
    model.save(tmp_path / "model.safetensors")
    again = pt.load(tmp_path / "model.safetensors").fit(rows)  # from its file, too
    assert again.history_["step"][-1] > model.history_["step"][-1]


def test_going_on_learns_on_and_takes_new_rows(rows):
    long = Disentangler("vae", latents=2, network="linear", steps=400, learning_rate=1e-2, device="cpu").fit(rows)
    short = Disentangler("vae", latents=2, network="linear", steps=100, learning_rate=1e-2, device="cpu")
    scores = [short.set_params(warm_start=True).fit(rows).score(rows) for _ in range(4)]
    assert scores[0] < scores[-1]
    assert scores[-1] > long.score(rows) - 0.3
    halves = Disentangler("vae", latents=2, network="linear", warm_start=True, **QUICK).fit(rows[:150])
    seen = halves.seen_
    assert halves.fit(rows[150:]).seen_ is seen


def test_what_cannot_go_on_is_refused_in_words(rows):
    model = Disentangler("vae", latents=2, network="linear", warm_start=True, **QUICK).fit(rows)
    with pytest.raises(ValueError, match="warm_start goes on with the fitted model, and these settings are another's"):
        model.set_params(latents=3).fit(rows)
    with pytest.raises(ValueError, match="X has 5 features"):
        model.set_params(latents=2).fit(rows[:, :5])


def test_closed_forms_are_solved_again(rows):
    model = Disentangler("pca", latents=2, warm_start=True).fit(rows)

    anew = Disentangler("pca", latents=2).fit(rows[:100])
    np.testing.assert_array_equal(model.fit(rows[:100]).transform(rows), anew.transform(rows))


def test_hidden_layers_and_precision(rows):
    model = Disentangler("vae", hidden=(16, 8), **QUICK).fit(rows)
    assert model.network_ == "mlp"
    assert {
        tuple(value.shape)
        for name, value in model.parameters_.items()
        if name.startswith("encoder") and value.dim() == 2
    } == {(16, 6), (8, 16), (12, 8)}
    assert Disentangler("pdisvae", hidden=32, **QUICK).fit(rows).network_ == "mlp"
    with pytest.raises(ValueError, match="hidden is for network 'mlp', and the network is 'linear'"):
        Disentangler("vae", network="linear", hidden=(8,), **QUICK).fit(rows)
    for wrong in ((), (0,), "wide", (1.5,)):
        with pytest.raises(ValueError, match="hidden must be widths of layers"):
            Disentangler("vae", hidden=wrong, **QUICK).fit(rows)
    half = Disentangler("vae", precision="bf16", **QUICK).fit(rows)
    assert half._recipe().architecture.precision == "bf16"
    with pytest.raises(ValueError, match="unknown precision 'half'"):
        Disentangler("vae", precision="half", **QUICK).fit(rows)


def test_rows_are_held_out_as_they_need(rows, tmp_path, capsys):
    model = Disentangler("vae", latents=2, validation="auto", verbose=True, **QUICK).fit(rows)
    assert model.validation_ == 0.1
    assert "validation 0.1: a tenth of the rows, drawn at random" in capsys.readouterr().out
    assert "held_out_loss" in model.history_
    model.save(tmp_path / "model.safetensors")
    assert pt.load(tmp_path / "model.safetensors")._program().hold_out.judging == 0.1
    walk = np.cumsum(np.random.default_rng(0).normal(size=(300, 4)), 0)
    assert Disentangler("vae", validation="auto", **QUICK).fit(walk).validation_ == "blocks:0.1"
    assert Disentangler("vae", validation="auto", **QUICK).fit(rows[:90]).validation_ is None


def test_a_model_stops_where_held_out_rows_say_so():
    """Noise has nothing to learn: a network with room remembers it, and rows held out notice."""
    x = np.random.default_rng(0).normal(size=(200, 10))
    settings = {"validation": 0.3, "steps": 1000, "learning_rate": 1e-2, "device": "cpu", "likelihood": "gaussian:0.1"}
    stopped = Disentangler("vae", **settings, options={"patience": 5}).fit(x)
    assert stopped.history_["step"][-1] < 1000
    assert stopped.history_["step"][-1] == 10 * (np.argmin(stopped.history_["held_out_loss"]) + 1) + 50


def test_loadings_by_name_and_group(rows):
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(rows, columns=list("abcdef"))
    model = Disentangler(groups=((2,), (0, 1)), network="linear", **QUICK).fit(table)
    found = model.loadings(frame=True)
    assert found.index.tolist() == list("abcdef")
    assert found.columns.tolist() == [("group 0", "z2"), ("group 1", "z0"), ("group 1", "z1")]
    np.testing.assert_array_equal(found["group 1"].to_numpy(), model.loadings()[:, :2])
    np.testing.assert_allclose(model.loadings(table), model.loadings(), atol=1e-6)  # a linear decoder is so everywhere
    model.set_output(transform="pandas")  # changes what `transform` gives, and nothing else
    np.testing.assert_allclose(model.loadings(table), model.loadings(), atol=1e-6)
    assert model.traverse(0, X=table).shape == (9, 6)
    assert Disentangler("pca", latents=2).fit(rows).loadings(frame=True).index.tolist() == [f"x{i}" for i in range(6)]


def test_loadings_are_averaged_jacobians(rows):
    model = Disentangler("vae", latents=2, network="mlp", **QUICK).fit(rows)
    codes, step = model.transform(rows[:50]).astype(np.float64), 1e-4
    aside = np.array([0.0, step])
    slope = (model.inverse_transform(codes + aside) - model.inverse_transform(codes - aside)).mean(0) / (2 * step)
    np.testing.assert_allclose(model.loadings(rows[:50])[:, 1], slope, rtol=0.05, atol=5e-3)


def test_reconstructions_and_traversals(rows, linear):
    np.testing.assert_allclose(linear.reconstruct(rows), linear.inverse_transform(linear.transform(rows)), atol=1e-5)
    one = linear.traverse(1, steps=5, reach=3.0)
    assert one.shape == (5, 6)
    np.testing.assert_allclose(one[-1] - one[0], 6 * linear.loadings()[:, 1], atol=1e-5)
    grid = linear.traverse((0, 1), steps=4, X=rows)
    assert grid.shape == (4, 4, 6)
    np.testing.assert_allclose(grid[0, 3], linear.inverse_transform([[-2.0, 2.0]])[0], atol=1e-5)
    other = linear.transform(rows).mean(0)[0]
    np.testing.assert_allclose(
        linear.traverse(1, steps=3, X=rows)[1], linear.inverse_transform([[other, 0.0]])[0], atol=1e-5
    )
    images = Disentangler("vae", latents=2, **QUICK).fit(np.random.default_rng(0).random((20, 1, 8, 8)))
    assert images.traverse(np.int64(0)).shape == (9, 1, 8, 8)
    assert images.traverse(images.groups_[1]).shape == (9, 1, 8, 8)
    for wrong in (2, -1, (), (0, 5), 0.5, "z0"):
        with pytest.raises(ValueError, match="which must be a latent of 0 to 1, or a tuple"):
            linear.traverse(wrong)
    with pytest.raises(ValueError, match="none or too many"):
        linear.traverse((0, 1), steps=1000)


def test_gaps_are_reconstructed(rows):
    gaps = np.where(np.random.default_rng(1).random(rows.shape) < 0.2, np.nan, rows)
    model = Disentangler("vae", latents=2, network="linear", missing="ignore", **QUICK).fit(gaps)
    assert np.isfinite(model.reconstruct(gaps)).all()
