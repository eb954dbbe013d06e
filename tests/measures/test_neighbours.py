import numpy as np
import pytest
from sklearn.feature_selection import mutual_info_classif, mutual_info_regression

from partita.measures._arrays import as_matrix, as_pair
from partita.measures._neighbours import label_information, multi_information, vector_information


def test_label_information_is_scikit_learns():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 6, 3000)
    for x in (labels + rng.standard_normal(3000), np.cos(labels) + 0.01 * rng.standard_normal(3000)):
        expected = mutual_info_classif(x[:, None], labels, n_neighbors=10, random_state=0)[0]
        assert label_information(x[:, None], labels) == pytest.approx(expected, abs=1e-9)


def test_information_between_coordinates_is_scikit_learns():
    rng = np.random.default_rng(1)
    x = rng.standard_normal(2000)
    y = x + 0.5 * rng.standard_normal(2000)
    expected = mutual_info_regression(x[:, None], y, n_neighbors=5, random_state=0)[0]
    assert vector_information(x[:, None], y[:, None]) == pytest.approx(expected, abs=1e-9)


def test_one_column_and_a_dead_second_one_are_the_same():
    rng = np.random.default_rng(2)
    labels = rng.integers(0, 4, 500)
    x = labels[:, None] + rng.standard_normal((500, 1))
    padded = np.concatenate([x, np.zeros((500, 1))], 1)
    assert label_information(padded, labels) == pytest.approx(label_information(x, labels), abs=0.02)


def test_vector_label_information_of_separated_clusters_is_the_label_entropy():
    rng = np.random.default_rng(3)
    labels = rng.integers(0, 4, 2000)
    centres = np.array([[0, 0], [0, 9], [9, 0], [9, 9]])
    x = centres[labels] + rng.standard_normal((2000, 2))
    counts = np.bincount(labels) / 2000
    assert label_information(x, labels) == pytest.approx(-(counts * np.log(counts)).sum(), abs=0.01)


@pytest.mark.parametrize("groups", [((0,), (1,), (2,)), ((0, 1), (2,))])
def test_multi_information_of_a_gaussian(groups):
    rng = np.random.default_rng(4)
    covariance = np.array([[1.0, 0.5, 0.5], [0.5, 1.0, 0.5], [0.5, 0.5, 1.0]])
    x = rng.standard_normal((5000, 3)) @ np.linalg.cholesky(covariance).T  # the same numbers on every machine
    within = sum(np.linalg.slogdet(covariance[np.ix_(g, g)])[1] for g in groups)
    exact = 0.5 * (within - np.linalg.slogdet(covariance)[1])
    assert multi_information(x, groups) == pytest.approx(exact, abs=0.03)


def test_independent_groups_carry_nothing_and_classes_of_one_are_left_out():
    rng = np.random.default_rng(5)
    x = rng.standard_normal((3000, 4))
    assert abs(multi_information(x, ((0, 1), (2, 3)))) < 0.03
    assert label_information(x[:5], np.arange(5)) == 0.0
    with pytest.raises(ValueError, match="more than 5 rows"):
        multi_information(x[:5], ((0, 1), (2, 3)))


def test_arrays_are_checked_once():
    assert as_matrix([1, 2, 3], "x").shape == (3, 1)
    with pytest.raises(ValueError, match="x holds nan at row 1, column 0"):
        as_matrix([0.0, np.nan], "x")
    with pytest.raises(ValueError, match="a has 2 rows but b has 3"):
        as_pair(np.zeros(2), np.zeros(3), ("a", "b"))
