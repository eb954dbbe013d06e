"""`fit(X, y)` where y are labels."""

import numpy as np
import pytest
import torch
from sklearn.utils.estimator_checks import check_estimator

import partita as pt
from partita.estimator import Disentangler

SMALL = {"latents": 3, "steps": 40, "network": "mlp", "batch_size": 50}
WITH_PRIOR = ("ivae", "idvae", "ss_ivae", "ss_idvae")


def options(method):
    return {"prior_width": 16} if method in WITH_PRIOR else None


@pytest.fixture(scope="module")
def labelled():
    rng = np.random.default_rng(0)
    y = np.stack([rng.integers(0, 5, 150), rng.uniform(-3, 8, 150)], 1)
    return (y @ rng.normal(size=(2, 6)) + rng.normal(size=(150, 6))).astype(np.float32), y


@pytest.mark.parametrize("method", ["full_vae", *WITH_PRIOR])
def test_fit_save_and_load(labelled, method, tmp_path):
    x, y = labelled
    model = Disentangler(method, options=options(method), **SMALL).fit(x, y)
    told, guessed = model.posterior(x, y)[0], model.transform(x)
    assert told.shape == guessed.shape == (150, 3)
    assert (told != guessed).any() == (method in WITH_PRIOR)
    model.save(tmp_path / "model.safetensors")
    back = pt.load(tmp_path / "model.safetensors")
    assert (back.posterior(x, y)[0] == told).all()
    assert (back.transform(x) == guessed).all()
    assert back.sample(5).shape == (5, 6)
    assert np.isfinite(back.score(x))


@pytest.mark.parametrize("method", ["full_vae", "ss_ivae", "ss_idvae"])
def test_missing_rows_are_nan(labelled, method):
    x, y = labelled
    some = y.copy()
    some[::2] = np.nan
    model = Disentangler(method, options=options(method), **SMALL).fit(x, some)
    assert np.isfinite(model.transform(x)).all()
    one = Disentangler(method, options=options(method), **SMALL).fit(x, some[:, 0])  # (n,) works too
    assert one.transform(x).shape == (150, 3)


@pytest.mark.parametrize(
    ("method", "y", "words"),
    [
        ("ivae", None, "ivae learns from labels"),
        ("ivae", "half", "75 of 150 rows have none; use ss_ivae"),
        ("ss_idvae", "none", "no row shows its labels"),
        ("full_vae", np.zeros(150), "label 0 is constant"),
        ("full_vae", np.random.default_rng(0).normal(size=(150, 4)), "4 labels need as many latents, got 3"),
        ("full_vae", np.zeros(149), "labels for 149 rows, but 150 observations"),
        ("full_vae", np.array(["a", "b"] * 75), "labels must be numbers"),
    ],
)
def test_bad_labels_are_one_clear_line(labelled, method, y, words):
    x, good = labelled
    if isinstance(y, str):
        y = np.where(np.arange(150)[:, None] % 2 if y == "half" else np.zeros((150, 1)), good, np.nan)
    with pytest.raises(ValueError, match=words) as caught:
        Disentangler(method, options=options(method), **SMALL).fit(x, y)
    assert "\n" not in str(caught.value)


def test_other_methods_ignore_y(labelled):
    x, _ = labelled
    one, other = (Disentangler("vae", **SMALL).fit(x, y).transform(x) for y in (None, np.full(150, np.nan)))
    assert (one == other).all()


def test_a_game_has_no_score(labelled):
    x, _ = labelled
    model = Disentangler("infogan", **SMALL).fit(x)
    assert model.sample(4).shape == (4, 6)
    assert not hasattr(model, "score")
    with pytest.raises(AttributeError, match="no attribute 'score'") as caught:
        model.score(x)
    assert "infogan has no likelihood" in str(caught.value.__cause__)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["full_vae", "ivae", "ss_idvae", "pca", "ica", "ae_ica"])
def test_scikit_learns_own_checks_pass_in_full(method):
    model = Disentangler(method, latents=2, steps=4, network="linear", options=options(method))
    results = check_estimator(model, on_skip=None, on_fail="raise")
    assert {result["status"] for result in results} <= {"passed", "skipped"}


@pytest.mark.parametrize("method", WITH_PRIOR)
def test_the_prior_at_labels(labelled, method, tmp_path):
    """p(z|u) in the units of y: what the KL of the codes goes to."""
    x, y = labelled
    model = Disentangler(method, options=options(method), **SMALL).fit(x, y)
    mean, log_variance = model.prior(y[:7])
    assert mean.shape == log_variance.shape == (7, 3)
    assert mean.dtype == log_variance.dtype == np.float32
    inner = model._fitted()
    with torch.no_grad():
        wanted = inner.networks["prior"](torch.as_tensor(model.label_scale_.of(y[:7], 7), dtype=torch.float64))
    np.testing.assert_allclose(mean, wanted.mean, rtol=1e-6)
    np.testing.assert_allclose(log_variance, wanted.log_variance, rtol=1e-6)
    assert np.ptp(mean, axis=0).max() > 0  # labels matter
    model.save(tmp_path / "model.safetensors")
    assert (pt.load(tmp_path / "model.safetensors").prior(y[:7])[0] == mean).all()


def test_a_prior_without_labels_is_refused_in_words(labelled):
    x, y = labelled
    full = Disentangler("full_vae", **SMALL).fit(x, y)
    with pytest.raises(ValueError, match=r"full_vae has one prior p\(z\) for all observations: there is no p\(z\|u\)"):
        full.prior(y)
    model = Disentangler("ivae", options=options("ivae"), **SMALL).fit(x, y)
    for wrong in (y[:, :1], 3.0, "label"):
        with pytest.raises(ValueError, match="label"):
            model.prior(wrong)


@pytest.mark.parametrize("method", WITH_PRIOR)
def test_the_score_pays_for_labels_it_is_not_told(labelled, method):
    """One and the same whatever y, and below the bound that is told the labels."""
    x, y = labelled
    model = Disentangler(method, options=options(method), **SMALL).fit(x, y)
    assert model.score(x, y) == model.score(x)
    recon, kl = model._fitted().bound(x, u=model.label_scale_.of(y, len(y)))
    assert model.score(x) < -(recon + kl).mean()
