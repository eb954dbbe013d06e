import numpy as np
import pytest

from partita.data import Dataset, FactorGrid

IMAGES = np.arange(5 * 1 * 4 * 4, dtype=np.uint8).reshape(5, 1, 4, 4)


def test_observations_are_scaled_single_precision_copies():
    data = Dataset("a", IMAGES, x_scale=1 / 255)
    assert data.size == 5
    assert data.shape == (1, 4, 4)
    seen = data.observations([3, 0])
    assert seen.dtype == np.float32
    np.testing.assert_allclose(seen, IMAGES[[3, 0]] / 255, rtol=1e-6)
    seen[:] = 0  # a copy: may be written to
    assert data.x.max() == 79
    np.testing.assert_array_equal(data.observations(slice(1, 3)), data.observations()[1:3])


def test_nothing_can_be_changed_afterwards():
    data = Dataset("a", IMAGES, factors=np.zeros((5, 1), int), labels=np.ones((5, 1)), truth=np.ones((5, 2)))
    for array in (data.x, data.factors, data.labels, data.truth):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    with pytest.raises(AttributeError):
        data.name = "b"  # pyright: ignore
    assert data.labels.dtype == np.float32
    assert data.truth.dtype == np.float64
    assert data.factors.dtype == np.int64


def test_one_row_is_a_data_set():
    assert Dataset("one", np.zeros((1, 3), np.float32)).size == 1


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"x": np.zeros((0, 3), np.float32)}, "empty"),
        ({"x": np.zeros((5, 0), np.float32)}, "empty"),
        ({"x": np.zeros((5, 4, 4), np.uint8)}, "channels, height, width"),
        ({"x": np.zeros((5, 3))}, "must be float32, got float64"),
        ({"x": np.zeros((5, 3), np.uint8)}, "must be float32, got uint8"),
        ({"x": [[1.0]]}, "must be an array, got list"),
        ({"x": np.array([[0, 1], [2, np.nan]], np.float32)}, "first in row 1, feature 1"),
        ({"x": np.array([[0, np.inf]], np.float32)}, "first in row 0, feature 1"),
        ({"x_scale": 0.0}, "x_scale"),
        ({"x_scale": np.nan}, "x_scale"),
        ({"factors": np.zeros((4, 1), int)}, "x has 5 rows, but factors has 4"),
        ({"factors": np.zeros(5, int)}, "two dimensions"),
        ({"factors": np.zeros((5, 1))}, "class indices, got float64"),
        ({"factors": np.full((5, 1), -1)}, "classes -1 to -1"),
        ({"factors": np.full((5, 1), 3), "factor_sizes": (3,)}, "allowed are 0 to 2"),
        ({"factors": np.zeros((5, 2), int), "factor_names": ("a",)}, "2 factors, but 1 factor names"),
        ({"factors": np.zeros((5, 2), int), "factor_names": ("a", "a")}, "must differ"),
        ({"factor_names": ("a",)}, "no factors"),
        ({"labels": np.full((5, 1), np.nan)}, "labels hold NaN"),
        ({"labels": np.zeros((6, 1))}, "labels has 6"),
        ({"labels": np.full((5, 1), 1e300)}, "labels hold NaN or infinite"),
        ({"labels": np.full((5, 1), "a")}, "labels must be"),
        ({"labelled": np.ones(5)}, "5 booleans"),
        ({"truth_groups": ((0,),)}, "no truth"),
        ({"truth": np.zeros((5, 2)), "truth_groups": ((0,),)}, "each of the 2 true latents once"),
        ({"truth": np.zeros((5, 2)), "truth_groups": ((0, 0, 1),)}, "each of the 2 true latents once"),
        ({"description": {"a": np.zeros(2)}}, "plain JSON"),
        ({"description": {"a": float("nan")}}, "plain JSON"),
    ],
)
def test_what_is_wrong_is_said(fields, message):
    with pytest.raises(ValueError, match=message) as caught:
        Dataset(**({"name": "mine", "x": IMAGES} | fields))
    assert "'mine'" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_grid_is_found_only_when_complete_and_in_order():
    grid = FactorGrid(("a", "b"), (2, 3))
    x = np.zeros((6, 2), np.float32)
    whole = Dataset("g", x, factors=grid.all_classes(), factor_names=grid.names, factor_sizes=grid.sizes)
    assert whole.grid == grid
    turned = Dataset("g", x, factors=grid.all_classes()[::-1], factor_names=grid.names, factor_sizes=grid.sizes)
    assert turned.grid is None
    part = Dataset("g", x[:5], factors=grid.all_classes()[:5], factor_names=grid.names, factor_sizes=grid.sizes)
    assert part.grid is None
    assert Dataset("g", x).grid is None


class OnDisk:
    """Rows made when they are asked for."""

    shape, dtype = (10, 2), np.dtype(np.float32)

    def __getitem__(self, index):
        rows = np.arange(20, dtype=np.float32).reshape(10, 2)
        rows[9] = np.nan
        return rows[index]


def test_an_array_on_disk_is_read_by_rows_and_checked_then():
    data = Dataset("disk", OnDisk())
    assert not data.in_memory
    np.testing.assert_array_equal(data.observations([4, 1]), [[8, 9], [2, 3]])
    with pytest.raises(ValueError, match="just read hold NaN"):
        data.observations([9])
