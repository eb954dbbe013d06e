import numpy as np
import pytest
from PIL import Image

from partita.data import from_array, hold_out, load, subsample
from partita.reports import contact_sheet, write_contact_sheet
from partita.reports.contact import BLANK, panels_of


def test_two_factors_on_the_axes_and_the_others_in_the_middle():
    sprites = load("dsprites", every=(1, 1, 4, 8, 8))
    panels = panels_of(sprites)
    assert [(panel.xlabel.split()[0], panel.ylabel.split()[0]) for panel in panels] == [
        ("scale", "shape"),
        ("orientation", "posX"),
        ("posX", "posY"),
    ]
    places = panels[2]
    for down in range(4):
        for across in range(4):
            assert sprites.factors[places.rows[down, across]].tolist() == [1, 3, 5, across, down]
    assert places.xticks == ["0", "1", "2", "3"]


def test_combinations_that_do_not_occur_stay_empty():
    """pdSprites: the place of the square leaves two triangles empty."""
    sprites = load("pdsprites")
    panel = panels_of(sprites)[0]
    column, row = np.meshgrid(np.arange(0, 17, 2), np.arange(0, 17, 2))
    np.testing.assert_array_equal(panel.rows < 0, np.abs(row - 8) > np.abs(column - 8))
    seen = panel.rows >= 0
    np.testing.assert_array_equal(sprites.factors[panel.rows[seen]][:, :2], np.stack([column[seen], row[seen]], 1))


def test_parts_of_a_grid_show_the_nearest_row():
    part = hold_out(load("dsprites", every=(1, 1, 8, 8, 8)), {"posX": [2], "posY": [2]})
    panel = panels_of(part)[0]
    assert (panel.rows >= 0).all()  # the middle of posX and posY is held out; a neighbour stands in


def images(n=40, shape=(8, 6)):
    return np.random.default_rng(0).integers(0, 256, (n, *shape), np.uint8)


def test_one_factor_is_shown_with_examples():
    digits = np.arange(40) % 3
    panel = panels_of(from_array(images(), factors=digits, factor_names=["digit"]))[0]
    assert panel.rows.shape == (3, 8)
    assert (digits[panel.rows] == np.arange(3)[:, None]).all()
    many = panels_of(from_array(images(), factors=np.arange(40) % 10, factor_names=["digit"]))[0]
    assert (np.arange(40)[many.rows[:4]] % 10 == np.arange(10)).all()
    few = panels_of(from_array(images(4), factors=[0, 0, 0, 1], factor_names=["digit"]))[0]
    assert (few.rows[1] >= 0).sum() == 1


def test_many_attributes_get_a_row_each():
    attributes = np.random.default_rng(1).integers(0, 2, (40, 20))
    panel = panels_of(from_array(images(), factors=attributes))[0]
    assert panel.rows.shape == (16, 8)
    for k, row in enumerate(panel.rows):
        assert attributes[row, k].tolist() == [0] * 4 + [1] * 4


@pytest.mark.parametrize(
    "make",
    [
        lambda: load("groups", size=60),
        lambda: load("independent", size=60),
        lambda: load("groups", groups=(3, 1), size=60),
        lambda: subsample(load("pdsprites"), size=50),
        lambda: from_array(images()),
        lambda: from_array(images(1)),
        lambda: from_array(images(5), factors=np.zeros(5, int)),
        lambda: from_array(images(30, (5, 7, 3))),
        lambda: from_array(np.random.default_rng(0).normal(size=(30, 5, 4)), samples="pixels"),
        lambda: from_array(np.random.default_rng(0).normal(size=(30, 5)), factors=np.arange(30) % 3),
        lambda: from_array(np.random.default_rng(0).normal(size=(30, 5)), labels=np.arange(30.0)),
        lambda: from_array(np.arange(30.0)[:, None]),
        lambda: from_array(np.zeros((3, 2))),
        lambda: from_array(np.ones((1, 4)), name="$one\nrow"),
    ],
)
def test_every_kind_of_data_has_a_sheet(make, tmp_path):
    path = write_contact_sheet(make(), tmp_path / "sheet.png")
    picture = np.asarray(Image.open(path).convert("L"))
    assert picture.shape[0] > 200
    assert picture.std() > 5


def test_the_pixels_of_the_picture_are_those_of_the_data():
    """Left to right in the first panel: the squares of pdSprites, white on black, and grey where there is none."""
    sprites = load("pdsprites")
    canvas = contact_sheet(sprites).axes[0].images[0].get_array()
    rows = panels_of(sprites)[0].rows
    np.testing.assert_array_equal(canvas[:32, :32, 0], sprites.x[rows[0, 0], 0] * 255)
    assert (canvas[:32, 4 * 34 : 4 * 34 + 32] == BLANK).all()


def test_where_it_cannot_be_written(tmp_path):
    data = load("groups", size=60)
    with pytest.raises(ValueError, match=r"sheet.xyz: give a name that ends in .png or .svg or .pdf"):
        write_contact_sheet(data, tmp_path / "sheet.xyz")
    with pytest.raises(OSError, match=r"nowhere/sheet.png: cannot be written: there is no folder"):
        write_contact_sheet(data, tmp_path / "nowhere/sheet.png")
