import numpy as np
import pytest

from partita.recipes import HoldOut, build
from partita.recipes.hold_out import parse_validation


@pytest.mark.parametrize("blocks", [False, True])
@pytest.mark.parametrize(
    ("size", "judging", "diagnosis"), [(1000, 0.1, 0.0), (1000, 0.1, 0.2), (97, 0.2, 0.1), (40, 0.0, 0.25)]
)
def test_every_row_has_one_purpose(size, judging, diagnosis, blocks):
    rows = HoldOut(judging, diagnosis, blocks).rows(size)
    together = np.concatenate([rows.training, rows.judging, rows.diagnosis])
    np.testing.assert_array_equal(np.sort(together), np.arange(size))
    assert len(rows.judging) == pytest.approx(judging * size, abs=0.03 * size)
    assert len(rows.diagnosis) == pytest.approx(diagnosis * size, abs=0.03 * size)
    for part in (rows.training, rows.judging, rows.diagnosis):
        assert (np.diff(part) > 0).all()


def test_blocks_are_contiguous_and_single_rows_are_not():
    stretches = [len(np.split(held, np.flatnonzero(np.diff(held) > 1) + 1)) for held in (
        HoldOut(0.1, blocks=blocks).rows(5000).judging for blocks in (True, False)
    )]  # fmt: skip
    assert 1 < stretches[0] <= 5
    assert stretches[1] > 400


def test_nothing_held_out_is_every_row_in_order():
    rows = HoldOut().rows(7)
    assert rows.training.tolist() == list(range(7))
    assert not len(rows.judging)
    assert not HoldOut()


@pytest.mark.parametrize("validation", [0, 1, -0.1, 1.5, "tenth", "blocks:", "blocks:2", float("nan"), True])
def test_odd_shares_are_refused(validation):
    with pytest.raises(ValueError, match="between 0 and 1"):
        parse_validation(validation)


def test_too_few_rows_and_methods_without_a_likelihood_say_so():
    with pytest.raises(ValueError, match="0.1 of 5 rows are too few to hold out"):
        HoldOut(0.1).rows(5)
    with pytest.raises(ValueError, match="leaves 1 to train on"):
        HoldOut(0.5, 0.4).rows(10)
    with pytest.raises(ValueError, match="infogan has no likelihood"):
        build("infogan", validation=0.1, shape=(1, 28, 28), network="infogan")


def test_rows_that_nobody_asked_to_hold_out_are_left_where_they_are_few():
    unasked = HoldOut(0.1, by="bound", unasked=True)
    assert not len(unasked.rows(5).judging)
    assert unasked.rows(5).training.tolist() == list(range(5))
    np.testing.assert_array_equal(unasked.rows(200).judging, HoldOut(0.1).rows(200).judging)
    house = {"groups": (2, 2), "latents": 4, "shape": (8,), "network": "linear"}
    assert build("pdisvae", start="unmixed", **house).hold_out == unasked
    assert build("pdisvae", start="unmixed", validation=0.2, **house).hold_out == HoldOut(0.2, by="bound")
    assert build("pdisvae", validation=0.2, **house).hold_out == HoldOut(0.2)
