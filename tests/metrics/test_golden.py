"""Agreement with public code on fixed arrays, within the tolerances stored beside the values."""

import json
from pathlib import Path

import numpy as np
import pytest

from partita import metrics as m

FOLDER = Path(__file__).parents[1] / "golden"
GOLDEN = json.loads((FOLDER / "golden.json").read_text())
DLIB, UBISOFT, INFOMEC = GOLDEN["disentanglement_lib"], GOLDEN["ubisoft"]["det"], GOLDEN["infomec"]
CASES = ("a_perfect", "b_rotated", "c_split", "d_merged")
EXACT = {"abs": 1e-6}
OPTIMISER = {"abs": 0.01}


@pytest.fixture(params=CASES)
def case(request):
    arrays = np.load(FOLDER / f"{request.param}.npz")
    return request.param, arrays["representation"], arrays["factors"]


def within_spread(value: float, golden: dict) -> bool:
    return abs(value - golden["mean"]) <= 4 * golden["std"] * np.sqrt(1 + 1 / golden["n"]) + 0.002


@pytest.mark.parametrize("bins", [10, 20, 50])
def test_histogram_scores_of_disentanglement_lib(case, bins):
    name, codes, factors = case
    golden = DLIB["fixed"][name][f"bins{bins}"]
    mig = m.mig(codes, factors, bins=bins)
    assert float(mig) == pytest.approx(golden["mig"], **EXACT)
    assert mig.parts["per_factor"] == pytest.approx(np.array(golden["mig_per_factor"]), **EXACT)
    assert mig.parts["information"] == pytest.approx(np.array(golden["mi_matrix_nats"]), **EXACT)
    assert float(m.modularity(codes, factors, bins=bins)) == pytest.approx(golden["modularity"], **EXACT)


@pytest.mark.parametrize("bins", [10, 20])
@pytest.mark.parametrize("metric", ["mig", "mig_sup", "jemmig", "dcimig", "modularity"])
def test_histogram_scores_of_ubisoft(case, metric, bins):
    name, codes, factors = case
    score = getattr(m, metric)(codes, factors, bins=bins, protocol="ubisoft-2020")
    assert float(score) == pytest.approx(UBISOFT[name][f"{metric}_bins{bins}"], **EXACT)
    assert score.protocol == "ubisoft-2020"


def test_sap(case):
    name, codes, factors = case
    golden = DLIB["fixed"][name]
    discrete, continuous = m.sap(codes, factors), m.sap(codes, factors, continuous=True)
    assert float(discrete) == pytest.approx(golden["sap_discrete"]["score"], **OPTIMISER)
    assert discrete.parts["matrix"] == pytest.approx(np.array(golden["sap_discrete"]["matrix"]), **OPTIMISER)
    assert float(continuous) == pytest.approx(golden["sap_continuous"]["score"], **EXACT)
    assert continuous.parts["matrix"] == pytest.approx(np.array(golden["sap_continuous"]["matrix"]), **EXACT)
    everything = m.sap(codes, factors, continuous=True, protocol="ubisoft-2020")
    assert float(everything) == pytest.approx(UBISOFT[name]["sap_regression"], **EXACT)


def test_explicitness(case):
    name, codes, factors = case
    golden = DLIB["fixed"][name]["explicitness"]
    score = m.explicitness(codes, factors)
    assert float(score) == pytest.approx(golden["test"], **OPTIMISER)
    assert score.parts["train"] == pytest.approx(golden["train"], **OPTIMISER)
    rescaled = m.explicitness(codes, factors, protocol="ubisoft-2020")
    assert float(rescaled) == pytest.approx(UBISOFT[name]["explicitness_impl1"], **OPTIMISER)


@pytest.mark.parametrize("quantile", [0.99, 1.0])
def test_irs(case, quantile):
    name, codes, factors = case
    golden = DLIB["fixed"][name][f"irs_q{quantile}"]
    score = m.irs(codes, factors, quantile=quantile)
    assert float(score) == pytest.approx(golden["avg_score"], **EXACT)
    assert score.parts["matrix"] == pytest.approx(np.array(golden["IRS_matrix"]), **EXACT)
    assert score.parts["parents"].tolist() == golden["parents"]


@pytest.mark.parametrize(("protocol", "quantile"), [("dlib-2019", 0.99), ("ubisoft-2020", 1.0)])
def test_irs_takes_the_quantile_of_its_protocol(case, protocol, quantile):
    name, codes, factors = case
    score = m.irs(codes, factors, protocol=protocol)
    assert float(score) == pytest.approx(DLIB["fixed"][name][f"irs_q{quantile}"]["avg_score"], **EXACT)
    assert score.settings["quantile"] == quantile


def dci_within(score, golden, tolerance):
    tested = golden.get("informativeness_test", golden.get("informativeness"))
    for part, expected in zip(
        ("disentanglement", "completeness", "informativeness"),
        (golden["disentanglement"], golden["completeness"], tested),
    ):
        expected = expected["mean"] if isinstance(expected, dict) else expected
        assert score.parts[part] == pytest.approx(expected, abs=tolerance), part


@pytest.mark.parametrize("protocol", ["dlib-2019-fast", "dlib-2019-fast-ties"])
def test_dci_by_lightgbm_is_within_the_tolerance_of_scikit_learn(case, protocol):
    name, codes, factors = case
    dci_within(m.dci(codes, factors, protocol=protocol), DLIB["dci_fixed"][name], 0.02)


def test_dci_by_lasso(case):
    name, codes, factors = case
    dci_within(m.dci(codes, factors, protocol="ubisoft-2020"), UBISOFT[name]["dci_lasso"], 0.01)


@pytest.mark.slow
def test_dci_by_gradient_boosting(case):
    name, codes, factors = case
    dci_within(m.dci(codes, factors), DLIB["dci_fixed"][name], 0.02)


@pytest.mark.parametrize("metric", ["beta_vae", "factor_vae"])
def test_interventional_scores(case, metric):
    name, codes, factors = case
    golden = DLIB["sampled"][name][metric]
    score = getattr(m, metric)(codes, factors)
    assert within_spread(float(score), golden["eval_accuracy"])
    assert within_spread(score.parts["train_accuracy"], golden["train_accuracy"])


def test_infomec(case):
    name, codes, factors = case
    golden = INFOMEC["continuous"][name]
    score = m.infomec(codes, factors)
    assert within_spread(score.parts["infom"], golden["infom"])
    assert within_spread(score.parts["infoc"], golden["infoc"])
    assert score.parts["infoe"] == pytest.approx(golden["infoe"], **OPTIMISER)
    assert score.parts["nmi"] == pytest.approx(np.array(golden["nmi_mean"]), abs=0.005)
    assert score.parts["active"].tolist() == golden["active_latents"]


def test_infomec_on_quantised_codes(case):
    name, codes, factors = case
    golden = INFOMEC["discrete10"][name]
    score = m.infomec(codes, factors, bins=10)
    assert score.parts["infom"] == pytest.approx(golden["infom"], **EXACT)
    assert score.parts["infoc"] == pytest.approx(golden["infoc"], **EXACT)
    assert score.parts["infoe"] == pytest.approx(golden["infoe"], **OPTIMISER)
    assert score.parts["nmi"] == pytest.approx(np.array(golden["nmi"]), **EXACT)


def test_unsupervised_scores(case):
    name, codes, _ = case
    golden = DLIB["fixed"][name]
    distance = m.wasserstein_correlation(codes)
    assert float(distance) == pytest.approx(golden["gaussian_wasserstein_correlation"], **EXACT)
    assert distance.parts["normalised"] == pytest.approx(golden["gaussian_wasserstein_correlation_norm"], **EXACT)
    assert float(m.gaussian_tc(codes)) == pytest.approx(golden["gaussian_total_correlation"], **EXACT)


def test_mig_of_posteriors_is_that_of_the_original_authors():
    arrays = np.load(FOLDER / "b_rotated.npz")
    golden = GOLDEN["rtqichen"]["mig"]["b_rotated"]
    codes, log_variance = arrays["representation"], np.full(arrays["representation"].shape, 2 * np.log(0.1))
    score = m.mig(codes, arrays["factors"], protocol="chen-2018", log_variance=log_variance)
    # their draws are not ours: the entropies differ by the noise of one draw a row
    assert float(score) == pytest.approx(golden["mig"], abs=0.005)
    assert score.parts["per_factor"] == pytest.approx(np.array(golden["mig_per_factor"]), abs=0.01)
