import logging

import numpy as np
import pytest

import partita as pt

MADE = pt.data.load("groups", size=1200, seed=102)


@pytest.fixture(scope="module")
def fitted():
    return pt.Disentangler(groups=(2, 2, 2), steps=200).fit(MADE.x)


def test_a_model_that_found_the_groups_says_so(fitted):
    found = fitted.diagnose(MADE.x)
    assert isinstance(found, pt.structure.Diagnosis)
    assert found.verdict == "groups hold", found
    assert found.numbers["bound"] > found.numbers["linear model"] - 3


def test_a_second_seed_is_asked_too(fitted):
    assert fitted.diagnose(MADE.x, refit=True).numbers["second training"] > 0.9


def test_a_fit_that_did_not_work_is_told_after_it(caplog):
    with caplog.at_level(logging.WARNING, logger="partita"):
        model = pt.Disentangler("vae", latents=6, network="mlp", steps=2).fit(MADE.x)
    assert "worse than PCA; model.diagnose(X) looks closer" in caplog.text
    assert model.diagnose(MADE.x).verdict != "groups hold"


def test_nothing_is_said_where_nothing_is_wrong(caplog):
    with caplog.at_level(logging.WARNING, logger="partita"):
        pt.Disentangler(groups=(2, 2, 2), steps=200).fit(MADE.x)
    assert caplog.text == ""


def test_noise_gets_no_groups():
    noise = np.random.default_rng(0).standard_normal((600, 8)).astype(np.float32)
    model = pt.Disentangler(groups=(2, 2), steps=50).fit(noise)
    assert model.diagnose(noise).verdict != "groups hold"


@pytest.mark.parametrize("kind", ["constant", "twice", "few rows"])
def test_bad_input_gets_a_verdict_with_its_reason(kind):
    x = MADE.x[:300].copy()
    if kind == "constant":
        x[:, 3:] = 1.0
    if kind == "twice":
        x = np.concatenate([x[:, :4], x[:, :4]], 1)
    if kind == "few rows":
        x = x[:5]
    found = pt.Disentangler(groups=(2, 2, 2), steps=20).fit(x).diagnose(x)
    assert found.verdict in ("no clear groups", "not to be trusted")
    assert found.reasons
    with pytest.raises(ValueError, match="fitted on|features"):
        pt.Disentangler("pca", latents=2).fit(x).diagnose(x[:, :2])
