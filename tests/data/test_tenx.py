import h5py
import numpy as np
import pytest

from partita.data import load

from . import layouts
from .layouts import COUNTS, GENES, NAMES

PROTEINS = ["Gene Expression"] * (GENES - 5) + ["Antibody Capture"] * 5


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("stream", [None, True])
def test_counts_of_cell_ranger(tmp_path, version, stream):
    layouts.tenx(tmp_path / "filtered_feature_bc_matrix.h5", version)
    data = load(tmp_path / "filtered_feature_bc_matrix.h5", stream=stream)
    np.testing.assert_array_equal(data.observations(), COUNTS)
    np.testing.assert_array_equal(data.observations([50, 2]), COUNTS[[50, 2]])
    assert data.feature_names == tuple(NAMES)
    assert data.columns["barcode"][1] == "AAAC1-1"
    np.testing.assert_allclose(data.columns["total"], COUNTS.sum(1))


def test_other_kinds_of_features(tmp_path):
    layouts.tenx(tmp_path / "a.h5", kinds=PROTEINS)
    genes, proteins = load(tmp_path / "a.h5"), load(tmp_path / "a.h5", kind="Antibody Capture")
    np.testing.assert_array_equal(genes.x, COUNTS[:, :-5])
    np.testing.assert_array_equal(proteins.x, COUNTS[:, -5:])
    np.testing.assert_allclose(genes.columns["total"], COUNTS[:, :-5].sum(1))
    assert set(load(tmp_path / "a.h5", genes=4).feature_names) < set(NAMES[:-5])
    with pytest.raises(ValueError, match=r"a.h5: has no features of kind 'CRISPR'; it has Antibody Capture, Gene"):
        load(tmp_path / "a.h5", kind="CRISPR")
    with pytest.raises(ValueError, match="a.h5: has no genome 'mm10'; it has matrix"):
        load(tmp_path / "a.h5", genome="mm10")


def test_numbers_that_are_no_counts_are_said_to_be_none(tmp_path, caplog):
    layouts.tenx(tmp_path / "a.h5")
    with h5py.File(tmp_path / "a.h5", "r+") as file:
        values = file["matrix/data"][()] * 0.5
        del file["matrix/data"]
        file["matrix/data"] = values
    assert load(tmp_path / "a.h5").x.max() > 0
    assert "a.h5: its numbers are not counts (the first is 0.5)" in caplog.text
