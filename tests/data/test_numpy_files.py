from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from partita.data import load, remake

from .layouts import COUNTS, DONORS, NAMES

SHARED = Path(__file__).parents[2] / "../shared/data"
RNG = np.random.default_rng(0)


@pytest.mark.parametrize("kind", ["csr", "csc"])
def test_sparse_tables_of_scipy(tmp_path, kind):
    table = sparse.csr_array(COUNTS) if kind == "csr" else sparse.csc_array(COUNTS)
    sparse.save_npz(tmp_path / "a.npz", table)
    data = load(tmp_path / "a.npz")
    np.testing.assert_array_equal(data.x, COUNTS)
    np.testing.assert_array_equal(remake(data.description).x, COUNTS)


def test_what_is_known_of_rows_and_features_is_kept_by_name(tmp_path):
    table = sparse.csr_array(COUNTS)
    parts = {name: getattr(table, name) for name in ("data", "indices", "indptr", "shape")}
    np.savez(tmp_path / "a.npz", **parts, donor=DONORS, total=COUNTS.sum(1), genes=NAMES, when=np.arange(7))
    data = load(tmp_path / "a.npz", factors="donor", labels="total")
    assert list(data.columns) == ["donor", "total"]
    assert list(data.columns["donor"]) == list(DONORS)
    assert data.feature_names == tuple(NAMES)
    assert data.factor_names == ("donor",)
    assert list(data.factors[:4, 0]) == [0, 1, 2, 0]
    np.testing.assert_allclose(data.labels[:, 0], COUNTS.sum(1))


def test_a_list_called_x_is_no_table(tmp_path):
    np.savez(tmp_path / "a.npz", counts=np.ones((5, 3)), x=np.arange(5.0))
    data = load(tmp_path / "a.npz")
    assert data.shape == (3,)
    np.testing.assert_array_equal(data.columns["x"], np.arange(5))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"indices": np.full(int((COUNTS > 0).sum()), 99)}, "a place of an entry is 99, outside of 0 to 24"),
        ({"indptr": np.arange(5)}, "not a sparse table"),
        ({"shape": np.array([60, 25, 1])}, "a sparse table .* was expected"),
        ({"format": np.array("coo")}, "csr or csc, was expected, not coo"),
    ],
)
def test_sparse_tables_that_are_none(tmp_path, change, message):
    table = sparse.csr_array(COUNTS)
    parts = {name: getattr(table, name) for name in ("data", "indices", "indptr", "shape")} | change
    np.savez(tmp_path / "a.npz", **parts)
    with pytest.raises(ValueError, match=f"a.npz: .*{message}"):
        load(tmp_path / "a.npz")


REAL = {
    "covid_cells/covid_cells_1000genes.npz": ((10706, 1000), ["donor", "total"]),
    "glove/glove_10k.npz": ((10000, 100), ["words"]),
    "head_direction/head_direction.npz": ((5293, 15), ["direction", "x", "z"]),
}


@pytest.mark.parametrize("name", REAL)
def test_real_sets_of_three_kinds_of_users(name):
    if not (SHARED / name).exists():
        pytest.skip(f"{name} is not in ../shared/data")
    shape, columns = REAL[name]
    data = load(SHARED / name)
    assert data.x.shape == shape
    assert list(data.columns) == columns
    assert {len(column) for column in data.columns.values()} == {shape[0]}
    if "covid" in name:
        assert len(data.feature_names) == 1000
        assert (data.x.sum(1) <= data.columns["total"]).all()
        assert load(SHARED / name, factors="donor").factor_sizes == (3,)
