"""InfoMEC as its authors compute it: uneven factors, dead latents, and the quantity in units of entropy beside it."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from partita import metrics as m

RNG = np.random.default_rng(0)
FACTORS = np.stack([RNG.choice(3, 1500, p=[0.8, 0.15, 0.05]), RNG.choice(4, 1500, p=[0.6, 0.2, 0.1, 0.1])], 1)
CODES = FACTORS @ np.array([[1.0, 0.4, 0.0], [0.3, 1.0, 0.5]]) + 0.4 * RNG.standard_normal((1500, 3))


def balanced_loss(x: np.ndarray, y: np.ndarray) -> float:
    model = LogisticRegression(C=np.inf, class_weight="balanced", max_iter=100).fit(x, y)
    return log_loss(y, model.predict_proba(x))


def test_explicitness_is_that_of_a_balanced_regression():
    x = (CODES - CODES.mean(0)) / CODES.std(0)
    losses = [(balanced_loss(x, y), balanced_loss(np.zeros_like(x), y)) for y in FACTORS.T]
    expected = np.mean([1 - loss / without for loss, without in losses])
    found = m.infomec(CODES, FACTORS)
    assert found.protocol == "infomec-2023"
    assert found.parts["infoe"] == pytest.approx(expected, abs=1e-4)
    assert m.infomec(CODES, FACTORS, protocol="infomec-by-entropy").parts["infoe"] < expected - 0.02


def test_in_bins_every_latent_that_is_not_constant_counts():
    faint = 0.01 * RNG.standard_normal((1500, 2))
    codes = np.concatenate([CODES, faint, np.full((1500, 1), 0.3)], 1)
    published, cleaner = (
        m.infomec(codes, FACTORS, bins=10, protocol=p).parts for p in ("infomec-2023", "infomec-by-entropy")
    )
    assert published["active"].tolist() == [True] * 5 + [False]
    assert cleaner["active"].tolist() == [True] * 3 + [False] * 3
    share = published["nmi"][:, :5] / published["nmi"][:, :5].sum(0)
    assert published["infom"] == pytest.approx((share.max(0).mean() - 1 / 2) / (1 - 1 / 2))
    assert cleaner["infoc"] != pytest.approx(published["infoc"], abs=0.01)
    # without bins the rule of one twentieth is the authors' own
    assert m.infomec(codes, FACTORS).parts["active"].tolist() == [True] * 3 + [False] * 3


def test_both_agree_on_balanced_factors_without_dead_latents():
    factors = np.stack([column.ravel() for column in np.indices((3, 4))], 1).repeat(60, 0)
    codes = factors + 0.3 * RNG.standard_normal(factors.shape)
    one, two = (m.infomec(codes, factors, protocol=p, bins=10).parts for p in ("infomec-2023", "infomec-by-entropy"))
    for part in ("infom", "infoc", "infoe"):
        assert one[part] == pytest.approx(two[part], abs=1e-3)
