"""What every metric of the registry must do, whatever it computes."""

import json
import sys

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from partita import metrics as m

# a score must come out of a dozen rows too, where some class is bound to be in the test rows alone
pytestmark = pytest.mark.filterwarnings("ignore::partita.metrics.UntrainedClasses")

SUPERVISED = [name for name, metric in m.METRICS.items() if metric.needs in ("factors", "grid")]
SMALL = {"beta_vae": {"train": 200, "test": 100}, "factor_vae": {"train": 200, "test": 100, "variance_rows": 200}}
NAMES = [
    "mig",
    "mig_sup",
    "jemmig",
    "dcimig",
    "sap",
    "dci",
    "modularity",
    "explicitness",
    "irs",
    "beta_vae",
    "factor_vae",
    "infomec",
    "mcc",
    "gaussian_tc",
    "wasserstein_correlation",
    "udr",
]


def grid(*sizes: int) -> np.ndarray:
    return np.stack([column.ravel() for column in np.indices(sizes)], 1)


def noisy_codes(factors: np.ndarray, latents: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    mixing = rng.standard_normal((factors.shape[1], latents))
    return factors @ mixing + 0.1 * rng.standard_normal((len(factors), latents))


def score(name: str, codes, factors, **options) -> m.Score:
    return m.METRICS[name].function(codes, factors, **SMALL.get(name, {}), **options)


def test_every_promised_name_is_a_metric():
    assert set(NAMES) <= set(m.METRICS)
    for name, metric in m.METRICS.items():
        assert getattr(m, name) is metric.function
        assert metric.summary
        assert metric.protocols


@pytest.mark.parametrize("name", SUPERVISED)
def test_a_score_carries_its_protocol_and_size_and_is_json(name):
    factors = grid(3, 4, 2)
    found = score(name, noisy_codes(factors, 4), factors)
    assert isinstance(found, m.Score)
    assert found.protocol == m.METRICS[name].protocols[0]
    assert found.n == len(factors)
    assert found.interval is None
    assert float(found) == found.value
    assert np.isfinite(found.value)
    again = json.loads(json.dumps(found.as_dict(), allow_nan=False))
    assert again["value"] == pytest.approx(found.value)
    assert {"parts", "protocol", "n", "interval", "settings"} <= set(again)


@pytest.mark.parametrize("name", SUPERVISED)
def test_same_seed_same_score_and_tensors_are_arrays(name):
    factors = grid(3, 4, 2)
    codes = noisy_codes(factors, 4)
    assert score(name, codes, factors, seed=3).value == score(name, codes.copy(), factors, seed=3).value
    tensors = score(name, torch.from_numpy(codes).requires_grad_(), torch.from_numpy(factors), seed=3)
    assert tensors.value == score(name, codes, factors, seed=3).value


@pytest.mark.parametrize("name", [name for name in SUPERVISED if name not in ("dci", "leakage")])
def test_an_interval_surrounds_its_score(name):
    factors = np.tile(grid(3, 4, 2), (8, 1))
    found = score(name, noisy_codes(factors, 4), factors, interval=0.9, resamples=5)
    assert found.interval is not None
    low, high = found.interval
    assert low <= found.value <= high


@settings(deadline=None, max_examples=12)
@given(st.sampled_from(SUPERVISED), st.integers(1, 3), st.integers(1, 3), st.integers(2, 12), st.integers(0, 99))
def test_small_and_degenerate_input_gives_a_finite_score(name, latents, factors, n, seed):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, (n, factors))
    labels[:, 0] = 1  # a constant factor
    codes = rng.standard_normal((n, latents))
    codes[:, 0] = 0.5  # a dead latent
    if m.METRICS[name].needs == "grid":
        labels, codes = grid(1, 3)[:, : max(factors, 1)], rng.standard_normal((3, latents))
    assert np.isfinite(score(name, codes, labels).value)


@pytest.mark.parametrize("name", SUPERVISED)
@pytest.mark.parametrize("labels", [np.zeros((9, 2), int), grid(3, 3)], ids=["all constant", "one latent"])
def test_nothing_to_find(name, labels):
    codes = np.random.default_rng(0).standard_normal((9, 1))
    assert np.isfinite(score(name, codes, labels).value)
    assert np.isfinite(score(name, np.zeros((9, 1)), labels).value)


@pytest.mark.parametrize("name", SUPERVISED)
def test_every_metric_takes_its_arrays_at_the_gate(name):
    """`_inputs.codes_and_labels`, whose own tests have what it refuses."""
    with pytest.raises(ValueError, match="codes holds nan at row 0, column 0"):
        score(name, np.full((4, 2), np.nan), np.zeros((4, 2)))


@pytest.mark.parametrize("name", [name for name in SUPERVISED if name != "mcc"])
def test_real_valued_factors_are_refused_where_classes_are_needed(name):
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match=r"needs discrete factors \(integers\)"):
        score(name, rng.standard_normal((20, 2)), rng.standard_normal((20, 2)))


@pytest.mark.parametrize("name", SUPERVISED)
def test_an_unknown_protocol_names_the_known_ones(name):
    with pytest.raises(ValueError, match=f"{name} has no protocol 'mine'.*{m.METRICS[name].protocols[0]}"):
        score(name, np.zeros((4, 2)), np.zeros((4, 2)), protocol="mine")


@pytest.mark.parametrize("name", ["mig", "mig_sup", "jemmig", "dcimig", "modularity"])
def test_continuous_factors_can_be_binned(name):
    rng = np.random.default_rng(0)
    factors = rng.uniform(size=(2000, 2))
    found = getattr(m, name)(factors, factors, factor_bins=20, bins=20)
    assert found.value > 0.8


def test_evaluate_takes_what_applies_and_says_why_not():
    factors = grid(3, 4)
    codes = noisy_codes(factors, 3)
    scores = m.evaluate(codes, factors, ["mig", "sap"], seed=1)
    assert list(scores) == ["mig", "sap"]
    assert scores["mig"].value == m.mig(codes, factors).value
    reasons = m.inapplicable(codes[:-1], factors[:-1])
    assert "every combination" in reasons["beta_vae"]
    assert "several trained models" in reasons["udr"]
    everything = m.evaluate(codes[:-1], factors[:-1])
    assert set(everything) == set(m.METRICS) - set(reasons)
    assert set(m.evaluate(codes)) == {"gaussian_tc", "wasserstein_correlation"}
    assert set(m.evaluate(codes, factors, "mig, mcc")) == {"mig", "mcc"}


def test_evaluate_takes_real_factors_and_says_where_it_binned_them():
    rng = np.random.default_rng(0)
    factors = rng.uniform(size=(300, 2))
    scores = m.evaluate(factors + 0.01 * rng.standard_normal((300, 2)), factors)
    assert {"mig", "sap", "dci", "mcc", "modularity", "infomec", "irs"} <= set(scores)
    assert scores["mig"].settings["factor_bins"] == 20
    assert "factor_bins" not in scores["mcc"].settings
    assert scores["sap"].settings["predictor"] == "squared correlation"
    assert scores["dci"].parts["informativeness"] > 0.9
    assert scores["mcc"].value > 0.99


def test_evaluate_refuses_unknown_names_and_missing_factors():
    with pytest.raises(ValueError, match="unknown metric 'migg'"):
        m.evaluate(np.zeros((3, 1)), np.zeros((3, 1)), ["migg"])
    with pytest.raises(ValueError, match="mig needs factors"):
        m.evaluate(np.zeros((3, 1)), None, ["mig"])


def test_dci_without_lightgbm_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    factors = grid(3, 4)
    with pytest.raises(ValueError, match="fast-metrics"):
        m.dci(noisy_codes(factors, 2), factors, protocol="dlib-2019-fast")
