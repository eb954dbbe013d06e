import logging

import h5py
import numpy as np
import pytest

from partita.data import batches, load, remake, subsample

from . import layouts
from .layouts import AGES, CELLS, COUNTS, DONORS, GENES, NAMES


@pytest.mark.parametrize("kind", ["csr", "csc", "dense"])
@pytest.mark.parametrize("options", [{}, {"compression": "gzip", "chunks": True}])
@pytest.mark.parametrize("stream", [None, True])
def test_cells_are_rows_and_columns_of_obs_are_kept(tmp_path, kind, options, stream):
    layouts.h5ad(tmp_path / "a.h5ad", kind, **options)
    data = load(tmp_path / "a.h5ad", stream=stream)
    assert data.in_memory == (stream is None)
    np.testing.assert_array_equal(np.asarray(data.x), COUNTS)
    wanted = [5, 3, 3, 59, 0]
    np.testing.assert_array_equal(data.observations(wanted), COUNTS[wanted])
    for index, batch in zip(([7, 2], [1]), batches(data, [np.array([7, 2]), np.array([1])])):
        np.testing.assert_array_equal(batch, COUNTS[index])
    assert list(data.columns) == ["total", "age", "donor", "doublet"]
    assert list(data.columns["donor"]) == list(DONORS)
    np.testing.assert_array_equal(data.columns["age"], AGES)
    np.testing.assert_allclose(data.columns["total"], COUNTS.sum(1))
    assert data.feature_names == tuple(NAMES)
    assert data.factor_names == ("donor", "doublet")
    assert list(data.factors[:4, 0]) == [0, 1, 2, 0]
    np.testing.assert_array_equal(remake(data.description).x[:4], COUNTS[:4])


def test_rows_chosen_keep_their_columns(tmp_path):
    layouts.h5ad(tmp_path / "a.h5ad")
    some = subsample(load(tmp_path / "a.h5ad"), size=20, seed=1)
    assert {len(column) for column in some.columns.values()} == {20}
    np.testing.assert_allclose(some.columns["total"], some.x.sum(1))


def test_factors_and_labels_by_name(tmp_path):
    layouts.h5ad(tmp_path / "a.h5ad")
    data = load(tmp_path / "a.h5ad", factors="doublet", labels=["age", "total"])
    assert data.factor_names == ("doublet",)
    np.testing.assert_allclose(data.labels, np.stack([AGES, COUNTS.sum(1)], 1), rtol=1e-6)
    assert load(tmp_path / "a.h5ad", factors=[]).factors is None


@pytest.mark.parametrize("kind", ["csr", "csc", "dense"])
def test_genes_by_number_by_mark_and_by_name(tmp_path, kind):
    layouts.h5ad(tmp_path / "a.h5ad", kind)
    total = COUNTS.sum(1, keepdims=True)
    variance = np.log1p(COUNTS * np.divide(1e4, total, where=total > 0, out=np.zeros_like(total))).var(0)
    best = np.sort(np.argsort(-variance)[:7])
    data = load(tmp_path / "a.h5ad", genes=7)
    assert data.feature_names == tuple(NAMES[k] for k in best)
    np.testing.assert_array_equal(data.x, COUNTS[:, best])
    np.testing.assert_allclose(data.columns["total"], COUNTS.sum(1))  # of all genes
    marked = load(tmp_path / "a.h5ad", genes="highly_variable", stream=True)
    np.testing.assert_array_equal(np.asarray(marked.x), COUNTS[:, ::5])
    assert load(tmp_path / "a.h5ad", genes=["GENE9", "GENE2"]).feature_names == ("GENE2", "GENE9")


def test_files_of_before_2020(tmp_path):
    layouts.old_h5ad(tmp_path / "a.h5ad")
    data = load(tmp_path / "a.h5ad")
    np.testing.assert_array_equal(data.x, COUNTS)
    assert list(data.columns["donor"]) == list(DONORS)
    assert data.feature_names == tuple(NAMES)


def test_a_normalised_matrix_is_said_to_be_one(tmp_path, caplog):
    normal = np.log1p(COUNTS * 0.37).astype(np.float32)
    layouts.h5ad(tmp_path / "a.h5ad", table=normal, layers={"counts": COUNTS, "scaled": normal * 2})
    with caplog.at_level(logging.WARNING, "partita"):
        data = load(tmp_path / "a.h5ad")
    (said,) = caplog.messages
    assert "a.h5ad: the numbers of X are not counts" in said
    assert "already normalised" in said
    assert "layer=counts" in said
    np.testing.assert_array_equal(data.x, normal)
    caplog.clear()
    np.testing.assert_array_equal(load(tmp_path / "a.h5ad", layer="counts").x, COUNTS)
    assert caplog.messages == []
    layouts.h5ad(tmp_path / "b.h5ad", table=normal)
    load(tmp_path / "b.h5ad")
    assert "the file has none" in caplog.messages[0]


def test_missing_classes_and_nullable_numbers(tmp_path):
    layouts.h5ad(tmp_path / "a.h5ad")
    with h5py.File(tmp_path / "a.h5ad", "r+") as file:
        file["obs/donor/codes"][4] = -1
        group = file.create_group("obs/weight")
        group.attrs["encoding-type"] = "nullable-integer"
        group["values"], group["mask"] = np.arange(CELLS), np.arange(CELLS) == 2
    data = load(tmp_path / "a.h5ad")
    assert data.columns["donor"][4] == ""
    assert np.isnan(data.columns["weight"][2])
    assert "donor" not in data.factor_names
    with pytest.raises(ValueError, match=r"a.h5ad: column 'donor' says nothing of row 4"):
        load(tmp_path / "a.h5ad", factors="donor")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"layer": "count"}, "no layer 'count'"),
        ({"genes": "GENE99"}, "no gene 'GENE99'.*highly_variable"),
        ({"genes": 0}, "at least 1"),
        ({"factors": "donors"}, "no column 'donors'.*did you mean 'donor'"),
        ({"labels": "donor"}, "holds words"),
    ],
)
def test_bad_options(tmp_path, options, message):
    layouts.h5ad(tmp_path / "a.h5ad")
    with pytest.raises(ValueError, match=f"a.h5ad: .*{message}"):
        load(tmp_path / "a.h5ad", **options)


def broken(change):
    def write(path):
        layouts.h5ad(path)
        with h5py.File(path, "r+") as file:
            change(file)

    return write


def outside(file):
    file["X/indices"][3] = GENES + 5


def longer(file):
    file["X/indptr"][-1] += 9


def backwards(file):
    file["X/indptr"][5] = 10_000


def other_shape(file):
    file["X"].attrs["shape"] = np.array([CELLS, 2])


def no_x(file):
    del file["X"]


def linked(file):
    del file["X"]
    file["X"] = h5py.ExternalLink("/etc/secret.h5", "X")


def unknown_kind(file):
    file["X"].attrs["encoding-type"] = "coo_matrix"


@pytest.mark.parametrize("change", [outside, longer, backwards, other_shape, no_x, linked, unknown_kind])
def test_wrong_content_is_refused_in_one_line(tmp_path, change):
    broken(change)(tmp_path / "a.h5ad")
    with pytest.raises(ValueError, match="a.h5ad: ") as caught:
        load(tmp_path / "a.h5ad")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("suffix", [".h5ad", ".nwb", ".mat", ".safetensors", ".h5"])
@pytest.mark.parametrize("content", [b"a,b\n1,2\n", b"\x89HDF\r\n\x1a\n" + bytes(40), b"PK\x03\x04" + bytes(60)])
def test_the_right_name_and_the_wrong_content(tmp_path, suffix, content):
    path = tmp_path / f"wrong{suffix}"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="wrong") as caught:
        load(path)
    assert "\n" not in str(caught.value)


def test_an_empty_cell_and_a_table_that_claims_a_trillion_cells(tmp_path):
    table = COUNTS.copy()
    table[3] = 0
    layouts.h5ad(tmp_path / "a.h5ad", table=table)
    assert load(tmp_path / "a.h5ad", genes=3).columns["total"][3] == 0
    with h5py.File(tmp_path / "bomb.h5ad", "w") as file:
        group = file.create_group("X")
        group.attrs.update({"encoding-type": "csr_matrix", "shape": np.array([10**12, 30_000])})
        for name in ("data", "indices"):
            group.create_dataset(name, (10**12,), "i4", chunks=(1024,), compression="gzip")
        group.create_dataset("indptr", (10**12 + 1,), "i8", chunks=(1024,), compression="gzip")
    with pytest.raises(ValueError, match="bomb.h5ad: .*GiB"):
        load(tmp_path / "bomb.h5ad")
