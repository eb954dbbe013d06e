import itertools
import json
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from partita.measures import WEIGHTS, log_weights

GOLDEN = Path(__file__).parents[1] / "golden"


def weights(by: str, batch: int, size: int) -> np.ndarray:
    return log_weights(by, batch, size, dtype=torch.float64).exp().numpy()


@given(batch=st.integers(2, 40), extra=st.integers(0, 5000))
@settings(deadline=None, max_examples=40)
def test_rows_of_unbiased_weights_sum_to_one(batch, extra):
    size = batch + extra
    for by in ("importance", "mss", "naive"):
        np.testing.assert_allclose(weights(by, batch, size).sum(1), 1, rtol=1e-13)
    np.testing.assert_allclose(weights("mws", batch, size).sum(1), 1 / size, rtol=1e-13)


@given(batch=st.integers(2, 40))
@settings(deadline=None, max_examples=10)
def test_full_batch_weighs_every_member_the_same(batch):
    for by in ("importance", "mss", "naive"):
        np.testing.assert_allclose(weights(by, batch, batch), 1 / batch, rtol=1e-13)


@pytest.mark.parametrize("size", [2, 3, 10, 737280])
def test_importance_equals_mss_for_a_batch_of_two(size):
    np.testing.assert_allclose(weights("importance", 2, size), weights("mss", 2, size), rtol=1e-13)


def test_mss_puts_its_special_weights_on_and_beside_the_diagonal():
    w = weights("mss", 4, 10)
    np.testing.assert_allclose(np.diag(w), 1 / 10)
    np.testing.assert_allclose(w[[0, 1, 2, 3], [1, 2, 3, 0]], 7 / 30)
    np.testing.assert_allclose(w[[0, 1, 2, 3], [2, 3, 0, 1]], 1 / 3)


@pytest.mark.parametrize(("batch", "size"), [(2, 5), (3, 10), (8, 50), (64, 2000)])
def test_published_weights_are_a_flat_array_written_with_the_wrong_stride(batch, size):
    stratum = (size - batch + 1) / (size * (batch - 1))
    flat = np.full(batch * batch, 1 / (batch - 1))
    flat[::batch] = 1 / size  # a stride of batch + 1 would have been the diagonal
    flat[1::batch] = stratum
    flat[(batch - 2) * batch] = stratum
    np.testing.assert_allclose(weights("mss_published", batch, size), flat.reshape(batch, batch), rtol=1e-13)


@pytest.mark.parametrize(("name", "batch", "size"), [("est_small", 8, 50), ("est_M64_K6_N2000", 64, 2000)])
def test_published_weights_match_the_public_code(name, batch, size):
    golden = json.loads((GOLDEN / "golden.json").read_text())["rtqichen"]["estimators"][name]
    w = weights("mss_published", batch, size)
    rows = w[[0, 1, batch - 2, batch - 1], :4]
    np.testing.assert_allclose(rows, golden["iw_matrix_rows_0_1_Mminus2_Mminus1_first4_cols"], atol=1e-8)
    np.testing.assert_allclose([w.sum(1).min(), w.sum(1).max()], golden["iw_row_sums_minmax"], atol=1e-8)


def every_batch(densities: np.ndarray, row: int, batch: int, w: np.ndarray) -> np.ndarray:
    """The estimate in row `row` for every ordered batch around anchor 0."""
    others = itertools.permutations(range(1, len(densities)), batch - 1)
    members = np.array([[*order[:row], 0, *order[row:]] for order in others])
    return densities[members] @ w[row]


@pytest.mark.parametrize(("size", "batch"), [(5, 2), (6, 3), (6, 4), (7, 4), (6, 5)])
@pytest.mark.parametrize("by", sorted(WEIGHTS))
def test_mean_and_variance_over_every_batch(by, size, batch):
    a = np.random.default_rng(size * 10 + batch).gamma(0.7, size=size)
    spread = a[1:].var(ddof=1)
    w = weights(by, batch, size)
    others = (size - 1) * (size - batch) / (size**2 * (batch - 1)) * spread
    variance = {"importance": others, "mss": others + (batch - 2) / (size**2 * (batch - 1)) * spread}
    even = (a[0] + (batch - 1) / (size - 1) * a[1:].sum()) / batch
    mean = {"importance": a.mean(), "mss": a.mean(), "naive": even, "mws": even / size}
    for row in range(batch):
        estimates = every_batch(a, row, batch, w)
        if by in mean:
            assert estimates.mean() == pytest.approx(mean[by], rel=1e-12)
        if by in variance:
            assert estimates.var() == pytest.approx(variance[by], rel=1e-10)
    if by == "mss_published" and batch > 3:
        row = batch - 1  # any row but 0, 1 and M-2: the anchor weighs 1/(M-1) instead of 1/N
        bias = (1 / (batch - 1) - 1 / size) * (a[0] - a[1:].mean())
        assert every_batch(a, row, batch, w).mean() - a.mean() == pytest.approx(bias, rel=1e-10)


def test_variance_factors_of_the_papers_own_simulation():
    a = np.random.default_rng(0).normal(size=10) ** 2
    spread = a[1:].var(ddof=1)
    factors = [every_batch(a, 0, 3, weights(by, 3, 10)).var() / spread for by in ("importance", "mss")]
    assert factors == pytest.approx([0.315, 0.320], abs=1e-12)


def test_weight_lists_have_the_printed_variances():
    for size, batch in [(10, 3), (50, 8), (2000, 64)]:
        importance, mss = (weights(by, batch, size)[0] * size for by in ("importance", "mss"))
        assert importance.var() == pytest.approx((size - batch) ** 2 / (batch**2 * (batch - 1)))
        assert mss.var() - importance.var() == pytest.approx((batch - 2) / (batch * (batch - 1)))


@pytest.mark.parametrize(
    ("by", "batch", "size", "said"),
    [
        ("importanc", 4, 8, "did you mean 'importance'"),
        ("exact", 4, 8, "choose from importance, mss"),
        ("mss", 8, 4, "got 4 for a batch of 8"),
        ("importance", 1, 4, "at least 2"),
        ("mss_published", 1, 1, "at least 2"),
    ],
)
def test_bad_requests_are_refused_in_one_line(by, batch, size, said):
    with pytest.raises(ValueError, match=said) as error:
        log_weights(by, batch, size)
    assert "\n" not in str(error.value)


def test_device_and_dtype_are_honoured():
    for by in WEIGHTS:
        assert log_weights(by, 3, 9, "cpu", torch.float32).dtype == torch.float32
        assert log_weights(by, 3, 9, torch.device("cpu"), torch.float64).dtype == torch.float64
    assert weights("importance", 1, 1).item() == 1.0
