"""The gate that the arrays of every metric go through."""

import numpy as np
import pytest

from partita.metrics._inputs import codes_and_labels


@pytest.mark.parametrize(
    ("codes", "factors", "message"),
    [
        (np.zeros((4, 2)), np.zeros((5, 2)), "codes has 4 rows but factors has 5"),
        (np.full((4, 2), np.nan), np.zeros((4, 2)), "codes holds nan at row 0, column 0"),
        (np.zeros((4, 2)), np.full((4, 1), np.inf), "factors holds inf"),
        (np.zeros((0, 2)), np.zeros((0, 1)), "codes is empty"),
        (np.zeros((4, 2, 2)), np.zeros((4, 1)), "codes must be a matrix"),
        ([["a", "b"]], np.zeros((1, 1)), "codes must be an array of numbers"),
    ],
)
def test_bad_input_is_one_clear_line(codes, factors, message):
    with pytest.raises(ValueError, match=message) as caught:
        codes_and_labels(codes, factors, "mig")
    assert "\n" not in str(caught.value)
