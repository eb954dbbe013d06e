import numpy as np

from partita.data import load


def test_805_squares_in_a_bow_tie():
    data = load("pdsprites")
    assert data.x.shape == (805, 1, 32, 32)
    assert len(np.unique(data.x.reshape(805, -1), axis=0)) == 805
    assert set(np.unique(data.x)) == {0, 1}
    column, row, size = (data.factors - (8, 8, 0)).T
    assert len(set(zip(column, row))) == 161
    assert (np.abs(column) >= np.abs(row)).all()
    for image, i, j, level in zip(data.x[:, 0], column, row, size):
        side = (4, 6, 8, 10, 12)[level]
        rows, columns = np.nonzero(image)
        assert image.sum() == side**2
        assert (np.ptp(rows), np.ptp(columns)) == (side - 1, side - 1)
        assert rows.mean() + 0.5 == 16 + j
        assert columns.mean() + 0.5 == 16 + i


def test_truth_is_place_and_size():
    data = load("pdsprites")
    assert data.truth_groups == ((0, 1), (2,))
    np.testing.assert_array_equal(data.truth.min(0), -1)
    np.testing.assert_array_equal(data.truth.max(0), 1)
    np.testing.assert_array_equal(data.truth[:, 2], np.array([-1, -0.5, 0, 0.5, 1])[data.factors[:, 2]])
    assert data.factor_sizes == (17, 17, 5)
    assert data.grid is None
