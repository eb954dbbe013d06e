import numpy as np
import pytest

from partita.data import load, remake

from . import layouts
from .layouts import ACCEPTED, AROUND, TRACES

CELLS = np.flatnonzero(ACCEPTED[:, 0])


@pytest.mark.parametrize("inner", ["", "suite2p"])
def test_accepted_cells_of_all_planes(tmp_path, inner):
    layouts.suite2p(tmp_path)
    data = load(tmp_path / inner)
    corrected = (TRACES - 0.7 * AROUND)[CELLS, :39].T
    np.testing.assert_allclose(data.x, np.concatenate([corrected, corrected], 1), rtol=1e-5)
    assert data.feature_names[:2] == ("plane0 0", "plane0 2")
    np.testing.assert_array_equal(remake(data.description).x, data.x)


def test_one_plane_other_signals_and_all_regions(tmp_path):
    plane = layouts.suite2p(tmp_path) / "suite2p/plane0"
    np.testing.assert_array_equal(load(plane, neuropil=0.0).x, TRACES[CELLS].T)
    np.testing.assert_allclose(load(plane, signal="spks", accepted=False).x, np.maximum(TRACES - 10, 0).T)


@pytest.mark.parametrize(
    ("file", "array", "message"),
    [
        ("F.npy", np.array([{}], object), "F.npy: .*never unpickled"),
        ("F.npy", np.zeros((6, 40, 2), np.float32), r"F.npy: traces \(cells, frames\) were expected"),
        ("iscell.npy", np.zeros((5, 2)), "iscell.npy: says"),
        ("iscell.npy", np.zeros((6, 2)), "no cell is left; accepted=false"),
        ("Fneu.npy", np.zeros((6, 3), np.float32), "Fneu.npy: has shape"),
    ],
)
def test_wrong_files_are_named(tmp_path, file, array, message):
    plane = layouts.suite2p(tmp_path, planes=1) / "suite2p/plane0"
    np.save(plane / file, array, allow_pickle=True)
    with pytest.raises(ValueError, match=message):
        load(plane)
    with pytest.raises(ValueError, match="signal must be 'F' or 'spks'"):
        load(plane, signal="dF")
