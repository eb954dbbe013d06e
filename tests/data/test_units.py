import numpy as np
import pytest
from sklearn.datasets import load_wine

from partita.data import from_array, load
from partita.data._units import Units, units_note

RNG = np.random.default_rng(0)


def test_measured_as_by_numpy():
    x = RNG.normal(size=(500, 3)) * (0.5, 2.0, 0.0) + (0.0, 5.0, 7.0)
    units = Units.of(x.astype(np.float32), 2.0)
    assert units.low == pytest.approx(2 * x[:, 0].std(), rel=1e-6)
    assert units.high == pytest.approx(2 * x[:, 1].std(), rel=1e-6)
    assert units.size == pytest.approx(2 * np.sqrt((x[:, 1] ** 2).mean()), rel=1e-6)  # the constant one does not count


def test_large_and_uneven_units_are_said():
    movie = RNG.normal(100, 50, size=(30, 8, 9)).astype(np.int16)
    assert "sizes up to 1" in units_note(from_array(movie, samples="pixels"))
    assert "divide all by" in units_note(from_array(movie))
    wine = units_note(from_array(load_wine().data, name="wine"))
    assert "features of wine have standard deviations from 0.124 to 314" in wine
    assert "standardise each" in wine


@pytest.mark.parametrize("name", ["groups", "independent", "pdsprites"])
def test_nothing_is_said_of_what_is_as_expected(name):
    assert units_note(load(name)) is None
    assert units_note(from_array(RNG.integers(0, 256, (30, 8, 9), np.uint8))) is None
    assert units_note(from_array(np.ones((4, 3)))) is None
