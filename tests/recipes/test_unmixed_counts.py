"""A start for counts: codes unmixed in logarithms of rates, rates that follow them, and groups as they are."""

import numpy as np
import pytest

from partita.data import load
from partita.estimator import Disentangler
from partita.measures._rates import poisson_regression
from partita.recipes._unmixed_counts import UnmixedCounts, logs_of_rates
from partita.structure import _curving, align

SETTINGS = {"groups": (2, 2, 2), "steps": 1, "device": "cpu"}


@pytest.fixture(scope="module")
def world():
    """Rates whose logarithms are a linear mixing of three pairs, and the counts they give."""
    data = load("groups", size=3000)
    rng = np.random.default_rng(1)
    rates = 100 * np.exp(0.35 * (data.truth / data.truth.std(0)) @ rng.normal(size=(6, 40)))
    return data, rates, rng.poisson(rates)


@pytest.mark.parametrize("network", ["auto", "linear", "nearly_linear"])
def test_counts_start_where_their_rates_are_unmixed(world, network):
    data, rates, x = world
    model = Disentangler(**SETTINGS, network=network).fit(x)
    assert model._program().start is not None
    assert model._program().hold_out.by == "bound"
    assert model._recipe().architecture.network == ("nearly_linear" if network == "auto" else network)
    assert align(model.transform(x), data.truth, model.groups_, data.truth_groups).r2 > 0.97
    error = np.log(model.reconstruct(x) / rates)  # one step was taken from where it started
    assert np.sqrt(np.square(error).mean()) < 0.1


def test_groups_are_found(world):
    data, _, x = world
    model = Disentangler(**SETTINGS | {"groups": "auto", "latents": 6}).fit(x)
    assert sorted(map(len, model.groups_)) == [2, 2, 2]
    assert align(model.transform(x), data.truth, model.groups_, data.truth_groups).r2 > 0.97


def test_exposures_and_covariates_are_taken_off_first(world):
    """Ten times the counts in half of the rows is no cause of its own."""
    data, rates, _ = world
    rng = np.random.default_rng(2)
    deep = rng.integers(0, 2, len(rates))
    x = rng.poisson(rates * 10.0 ** deep[:, None])
    told = {"depth": 10.0**deep}
    by_exposure = Disentangler(**SETTINGS, exposure="depth").fit(x, covariates=told)
    as_level = Disentangler(**SETTINGS).fit(x, covariates={"deep": deep.astype(str)})
    known = {"deep": deep.astype(str)}
    for codes, model in ((by_exposure.transform(x, told), by_exposure), (as_level.transform(x, known), as_level)):
        assert align(codes, data.truth, model.groups_, data.truth_groups).r2 > 0.95
        assert abs(np.corrcoef(codes.T, deep)[-1, :-1]).max() < 0.15


def test_rare_counts_do_not_count_for_more_than_they_say():
    expected = np.broadcast_to([0.01, 1.0, 1e4], (20000, 3))
    logs = logs_of_rates(np.random.default_rng(5).poisson(expected), expected)
    np.testing.assert_allclose(logs.std(0), 1, rtol=0.3)


def test_a_regression_of_counts_finds_its_effects():
    rng = np.random.default_rng(0)
    known, effects = rng.normal(size=(3000, 2)), np.array([[0.5, -0.3], [0.0, 0.8]])
    counts = rng.poisson(5 * np.exp(known @ effects))
    np.testing.assert_allclose(poisson_regression(counts, known, np.full(counts.shape, 5.0)), effects, atol=0.03)
    far = np.array([[4.0, -4.0], [0.0, 0.0]])  # from far off, too
    found = poisson_regression(rng.poisson(50 * np.exp(known @ far)), known, np.full(counts.shape, 50.0))
    np.testing.assert_allclose(found, far, atol=0.2)


def test_few_counts_start_at_random(caplog):
    x = np.random.default_rng(0).poisson(3.0, (40, 8))
    Disentangler(**SETTINGS).fit(x)
    assert "too few to unmix 6 latents" in caplog.text


def test_counts_on_a_curved_surface_are_taught(monkeypatch):
    """Neurons tuned to an angle, and two to something else: the angle is in the pair of latents."""
    monkeypatch.setattr(_curving, "STEPS", 300)
    rng = np.random.default_rng(0)
    angle, loud = rng.uniform(0, 2 * np.pi, 800), rng.uniform(-1, 1, 800)
    preferred = np.linspace(0, 2 * np.pi, 18, endpoint=False)
    logs = np.c_[3 * np.cos(angle[:, None] - preferred), np.outer(loud, [1.0, -1.0])]
    logs[:, :18] = np.logaddexp(logs[:, :18], 0)  # silent away from its angle: a line would not do
    rates = 20 * np.exp(logs - 1)
    start = UnmixedCounts(3, ((0, 1), (2,)), "nearly_linear")
    found = start(rng.poisson(rates).astype(float), 0, rates.mean(0))
    assert "on a curved surface" in found.words
    ring, truth = found.write.codes[:, :2], np.c_[np.cos(angle), np.sin(angle)]
    told = np.c_[ring, ring**2, ring.prod(1), ring**3, np.ones(800)]
    left = truth - told @ np.linalg.lstsq(told, truth, rcond=None)[0]
    assert left.var() / truth.var() < 0.3
