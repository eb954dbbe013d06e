import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LinearRegression
from sklearn.metrics import r2_score

from partita.structure import align
from partita.structure.alignment import worst_match


def noisy_truth(rng, n=400, latents=6, noise=0.5):
    truth = rng.standard_normal((n, latents))
    return truth + noise * rng.standard_normal((n, latents)), truth


def test_matrix_is_scikit_learn_regression():
    rng = np.random.default_rng(0)
    truth = rng.standard_normal((300, 5))
    codes = truth @ rng.standard_normal((5, 6)) + rng.standard_normal((300, 6))
    groups, truth_groups = ((0, 3), (1, 2, 5), (4,)), ((0, 1), (2, 3, 4))
    found = align(codes, truth, groups, truth_groups)
    for a, true in enumerate(truth_groups):
        for b, block in enumerate(groups):
            x, y = codes[:, block], truth[:, true]
            expected = r2_score(y, LinearRegression().fit(x, y).predict(x))
            assert found.matrix[a, b] == pytest.approx(expected, abs=1e-12)


def test_perfect_groups_in_another_order():
    rng = np.random.default_rng(1)
    truth = rng.standard_normal((200, 6))
    codes = truth[:, [4, 5, 0, 1, 2, 3]] @ np.kron(np.eye(3), [[1.0, 2.0], [-0.5, 1.0]])
    found = align(codes, truth, (2, 2, 2), (2, 2, 2))
    assert found.r2 == pytest.approx(1)
    assert found.mse == pytest.approx(0, abs=1e-20)
    assert found.assignment == (1, 2, 0)


def test_the_worst_match_is_of_one_group_and_nothing_where_sizes_differ():
    rng = np.random.default_rng(2)
    truth = rng.standard_normal((200, 4))
    codes = np.concatenate([truth[:, 2:], rng.standard_normal((200, 2))], 1)
    matrix = align(codes, truth, (2, 2), (2, 2)).matrix
    assert worst_match(codes, truth, (2, 2), (2, 2)) == matrix[0, 1] < 0.1
    assert worst_match(codes, truth, (2, 2), (1, 3)) == 0.0


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 10_000))
def test_invariant_to_linear_maps_inside_groups_and_to_relabelling(seed):
    rng = np.random.default_rng(seed)
    codes, truth = noisy_truth(rng, n=100)
    found = align(codes, truth, (2, 2, 2), (2, 2, 2))
    mixed = codes.copy()
    for block in ((0, 1), (2, 3), (4, 5)):
        mixed[:, block] = mixed[:, block] @ (rng.standard_normal((2, 2)) + 3 * np.eye(2)) + rng.standard_normal(2)
    other = align(mixed, truth, ((2, 3), (5, 4), (1, 0)), (2, 2, 2))
    assert other.r2 == pytest.approx(found.r2, abs=1e-9)
    assert other.mse == pytest.approx(found.mse, abs=1e-9)


def test_more_true_groups_than_learned_counts_the_missing_one_as_nothing():
    rng = np.random.default_rng(2)
    truth = rng.standard_normal((500, 3))
    found = align(truth[:, :2], truth, (1, 1), (1, 1, 1))
    assert found.matrix.shape == (3, 2)
    assert found.assignment == (0, 1, -1)
    assert found.r2 == pytest.approx(2 / 3)
    assert found.mse == pytest.approx(truth[:, 2].var() / 3)


def test_more_learned_groups_than_true():
    rng = np.random.default_rng(3)
    truth = rng.standard_normal((100, 2))
    codes = np.concatenate([rng.standard_normal((100, 1)), truth], 1)
    found = align(codes, truth, (1, 1, 1), (1, 1))
    assert found.matrix.shape == (2, 3)
    assert found.assignment == (1, 2)
    assert found.r2 == pytest.approx(1)


def test_held_out_rows_expose_overfitting():
    rng = np.random.default_rng(4)
    codes, truth = rng.standard_normal((40, 20)), rng.standard_normal((40, 2))
    fitted = align(codes, truth, (20,), (2,))
    tested = align(codes, truth, (20,), (2,), held_out=0.5)
    assert fitted.r2 > 0.3
    assert tested.r2 < 0


def test_constant_truth_and_constant_codes():
    rng = np.random.default_rng(5)
    truth = np.concatenate([rng.standard_normal((50, 1)), np.full((50, 2), 0.3)], 1)
    found = align(np.concatenate([truth[:, :1], np.zeros((50, 1))], 1), truth, (1, 1), ((0, 1), (2,)))
    assert found.matrix[0, 0] == pytest.approx(1)
    assert found.matrix[1].tolist() == [0, 0]


def test_tensors_are_arrays():
    rng = np.random.default_rng(6)
    codes, truth = noisy_truth(rng)
    found = align(torch.from_numpy(codes).requires_grad_(), torch.from_numpy(truth), (3, 3), (3, 3))
    assert found.r2 == align(codes, truth, (3, 3), (3, 3)).r2


@pytest.mark.parametrize(
    ("codes", "truth", "groups", "message"),
    [
        (np.zeros((4, 2)), np.zeros((5, 2)), (2,), "codes has 4 rows but truth has 5"),
        (np.full((4, 2), np.nan), np.zeros((4, 2)), (2,), "codes holds nan at row 0, column 0"),
        (np.zeros((4, 2)), np.zeros((4, 2)), (3,), "add up to 3"),
        (np.zeros((4, 2, 2)), np.zeros((4, 2)), (2,), "must be a matrix"),
        (["a", "b"], np.zeros((2, 2)), (1,), "array of numbers"),
    ],
)
def test_bad_input_is_one_clear_line(codes, truth, groups, message):
    with pytest.raises(ValueError, match=message):
        align(codes, truth, groups, (2,))
