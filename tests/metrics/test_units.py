"""Codes in other units, and far from 0: the same score, or one clear line."""

import functools

import numpy as np
import pytest

from partita import metrics as m

RNG = np.random.default_rng(0)
FACTORS = np.stack([column.ravel() for column in np.indices((3, 4, 5))], 1)
FACTORS = np.tile(FACTORS, (5, 1))[RNG.permutation(300)]
CODES = FACTORS @ RNG.standard_normal((3, 4)) + 0.3 * RNG.standard_normal((300, 4))
CODES -= (CODES.max(0) + CODES.min(0)) / 2  # sap by SVM is the one that minds where 0 is, its intercept being penalised
WIDTHS = np.full(CODES.shape, -3.0)
SMALL = {"train": 300, "test": 200}
# Every metric and its variants; those in OWN_UNITS depend on the units of the codes by definition.
CASES = {
    **{name: {} for name, metric in m.METRICS.items() if metric.needs != "models"},
    "beta_vae": SMALL,
    "factor_vae": SMALL,
    "sap, continuous": {"continuous": True},
    "sap, all rows": {"continuous": True, "protocol": "ubisoft-2020"},
    "dci, fast": {"protocol": "dlib-2019-fast"},
    "dci, ties": {"protocol": "dlib-2019-fast-ties"},
    "dci, lasso": {"protocol": "ubisoft-2020"},
    "dci, continuous": {"protocol": "dlib-2019-fast-ties", "continuous": True},
    "explicitness, balanced": {"protocol": "ubisoft-2020"},
    "mig, posteriors": {"protocol": "chen-2018", "log_variance": WIDTHS},
    "mig, groups": {"groups": (2, 2)},
    "infomec, bins": {"bins": 10},
    "infomec, groups": {"groups": (2, 2)},
    "mcc, ranks": {"by": "spearman"},
    "leakage": {"groups": (2, 2)},
}
OWN_UNITS = {"sap", "beta_vae", "factor_vae", "gaussian_tc", "wasserstein_correlation", "mig, posteriors"}
OWN_UNITS |= {name for name, metric in m.METRICS.items() if metric.needs == "posterior"}


def score(case: str, codes: np.ndarray) -> float:
    metric = m.METRICS[case.split(",")[0]]
    return metric.function(codes, WIDTHS if metric.needs == "posterior" else FACTORS, **CASES[case]).value


@functools.cache
def plain(case: str) -> float:
    return score(case, CODES)


@pytest.mark.parametrize("scale", [1e160, 1e-160])
@pytest.mark.parametrize("case", CASES)
def test_units_do_not_matter_or_are_refused(case, scale):
    if case in OWN_UNITS:
        with pytest.raises(ValueError, match="depends on the units of the (codes|means), which reach") as caught:
            score(case, CODES * scale)
        assert "\n" not in str(caught.value)
    else:
        assert score(case, CODES * scale) == pytest.approx(plain(case), abs=1e-3)


# the KL to a standard normal at 0 is about where 0 is
@pytest.mark.parametrize("case", [case for case in CASES if case != "latent_activity"])
def test_where_zero_is_does_not_matter(case):
    assert score(case, CODES + 1e6) == pytest.approx(plain(case), abs=2e-3)


@pytest.mark.parametrize("scale", [1e160, 1e-160])
def test_agreement_ignores_units(scale):
    models = [CODES, CODES @ np.linalg.qr(RNG.standard_normal((4, 4)))[0]]
    there = m.udr([z * scale for z in models], draws=0).value
    assert there == pytest.approx(m.udr(models, draws=0).value, abs=1e-6)


@pytest.mark.parametrize("case", ["mcc", "sap, continuous", "dci, ties", "explicitness", "mig"])
def test_one_latent_in_other_units_than_the_rest(case):
    units = np.array([1e160, 1.0, 1e-160, 1.0])
    assert score(case, CODES * units) == pytest.approx(plain(case), abs=1e-3)


def test_ordinary_codes_are_left_alone():
    from partita.metrics._inputs import column_scaled, jointly_scaled

    for scaled in (column_scaled, jointly_scaled):
        assert np.array_equal(scaled(CODES), CODES)
        assert np.array_equal(scaled(np.zeros((3, 2))), np.zeros((3, 2)))
        assert np.array_equal(scaled(np.full((3, 2), 0.3)), np.full((3, 2), 0.3))
