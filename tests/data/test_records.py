import numpy as np
import pytest

from partita.data._records import Records


@pytest.fixture
def stored(tmp_path):
    array = np.random.default_rng(0).normal(size=(40, 3, 2))
    (tmp_path / "rows.bin").write_bytes(b"head" + array.tobytes())
    with (tmp_path / "rows.bin").open("rb+") as file:
        yield array, file


@pytest.fixture(params=["wide", "narrow"], autouse=True)
def width(request, monkeypatch):
    monkeypatch.setattr("partita.data._records.NARROW", 0 if request.param == "wide" else 4096)
    return request.param


@pytest.mark.parametrize("wanted", [[3], [5, 4, 3], [0, 1, 2, 7, 8, 39], [2, 2, 3, 2], list(range(40)), []])
def test_rows_in_any_order(stored, wanted):
    array, file = stored
    rows = Records(file.fileno(), 4, array.shape, array.dtype)
    np.testing.assert_array_equal(rows.read(np.array(wanted, int)), array[wanted])


def test_a_file_cut_off_later_is_refused(stored):
    array, file = stored
    rows = Records(file.fileno(), 4, array.shape, array.dtype)
    np.testing.assert_array_equal(rows.read(np.array([7])), array[[7]])
    file.truncate(400)
    with pytest.raises(ValueError, match="has become shorter"):
        rows.read(np.array([2, 30]))
