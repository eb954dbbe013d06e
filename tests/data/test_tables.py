import numpy as np
import pytest

from partita.data import load
from partita.data._csv_table import CELLS_A_BLOCK


@pytest.fixture
def table(tmp_path):
    def write(text):
        path = tmp_path / "table.csv"
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    return write


def test_without_header(table):
    np.testing.assert_array_equal(load(table("1,2\n3,4.5\n")).x, [[1, 2], [3, 4.5]])
    chosen = load(table("1,2,0\n3,4.5,1\n"), columns=[1], labels=0, factors=2)
    np.testing.assert_array_equal(chosen.x, np.array([[2], [4.5]]))
    np.testing.assert_array_equal(chosen.labels, [[1], [3]])
    assert chosen.factor_names == ("2",)


def test_covariates_are_kept_by_name_and_not_observed(table):
    path = table("gene1,gene2,donor,total\n1,2,anna,10\n3,4,ben,\n")
    data = load(path, covariates=["donor", "total"])
    np.testing.assert_array_equal(data.x, [[1, 2], [3, 4]])
    assert list(data.columns["donor"]) == ["anna", "ben"]
    np.testing.assert_array_equal(data.columns["total"], [10, np.nan])
    assert data.feature_names == ("gene1", "gene2")
    assert list(load(path, factors="donor", covariates="total").columns) == ["donor", "total"]


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_header_and_delimiters(table, delimiter):
    path = table("a,b,age\r\n1,2,30\r\n3,-4e-1,40\r\n\r\n".replace(",", delimiter))
    data = load(path, labels="age")
    np.testing.assert_array_equal(data.x, np.array([[1, 2], [3, -0.4]], np.float32))
    np.testing.assert_array_equal(data.labels, [[30], [40]])


def test_columns_by_name_and_text_as_factor(table):
    path = table('a,"b, too",kind\n1,2,cat\n3,4,ant\n5,6,cat\n')
    data = load(path, columns=["b, too"], factors="kind")
    np.testing.assert_array_equal(data.x, [[2], [4], [6]])
    np.testing.assert_array_equal(data.factors, [[1], [0], [1]])
    assert data.factor_names == ("kind",)
    again = load(data.description["path"], **data.description["options"])
    np.testing.assert_array_equal(again.factors, data.factors)


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("a,b,c\n1,x,2\n3,y,z\n", {}, r"text in column 'b', 'c' \(the first is 'x' in row 1\); leave"),
        ("a,b\n1,2\n3,\n4,n/a\n", {}, r"text in column 'b' \(the first is 'n/a' in row 3\)"),
        ("a,b\n1,\n3,4\n", {}, "column 'b' has no number in row 1: the cell is empty"),
        ("1,2\n3, \n", {}, "column '1' has no number in row 2: the cell is empty"),
        ('a,b\n1,2\n\n3,""\n', {}, "column 'b' has no number in row 2: the cell is empty"),
        ("a,b\n1,2\n3,NaN\n", {}, "column 'b' has no number in row 2: the cell says 'NaN'"),
        ("a,b\n1,2\n3,\n", {"columns": "a", "labels": "b"}, "column 'b' has no number in row 2: the cell is empty"),
        ("a,b\n1,2\n3\n", {}, "row 2 has 1 cells"),
        ("a,b\n", {}, "no rows"),
        ("a,a\n1,2\n", {}, "same name"),
        ("a,b\n1,2\n", {"labels": "aa"}, "no column 'aa'.*did you mean 'a'"),
        ("a,b\n1,2\n", {"labels": ["a", "b"]}, "no column is left"),
        ("a,b\n1,2\n", {"columns": ["a", "a"]}, "named twice"),
        ("a,b\n1,inf\n", {}, "NaN or infinite"),
        (b"a,b\n1,\xff\xfe\n", {}, "damaged|decode"),
        (b"\x00\x01\x02", {}, "table.csv"),
        ("", {}, "empty"),
        ("\n1,2\n", {}, "first line is empty"),
        ('a,b\n1,"2\n', {}, "table.csv"),
    ],
)
def test_bad_tables(table, text, options, message):
    with pytest.raises(ValueError, match=message) as caught:
        load(table(text), **options)
    assert "table.csv" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_text_far_down_in_a_column_of_numbers(table):
    """Tables are read in blocks: what begins as numbers may turn out to be text, kept as it was written."""
    rows = 2 * CELLS_A_BLOCK // 3
    path = table("a,b,kind\n" + "".join(f"{k},0.5,{k % 3}.0\n" for k in range(rows)) + "7,8,last\n")
    data = load(path, factors="kind")
    assert data.x.shape == (rows + 1, 2)
    np.testing.assert_array_equal(data.x[:, 0], [*range(rows), 7])
    np.testing.assert_array_equal(data.factors[-4:, 0], [*((k % 3) for k in range(rows - 3, rows)), 3])
    with pytest.raises(ValueError, match=rf"text in column 'kind' \(the first is 'last' in row {rows + 1}\)"):
        load(path)


@pytest.fixture
def parquet(tmp_path):
    pa = pytest.importorskip("pyarrow", reason="parquet needs pyarrow")
    from pyarrow import parquet

    def write(**columns):
        path = tmp_path / "table.parquet"
        parquet.write_table(pa.table(columns), path)
        return path

    return write


def test_parquet(parquet):
    path = parquet(a=[1, 2, 3], b=[0.5, 1.5, 2.5], good=[True, False, True], kind=["cat", "ant", "cat"])
    data = load(path, columns=["b", "a"], labels="good", factors="kind")
    np.testing.assert_array_equal(data.x, [[0.5, 1], [1.5, 2], [2.5, 3]])
    np.testing.assert_array_equal(data.labels, [[1], [0], [1]])
    np.testing.assert_array_equal(data.factors, [[1], [0], [1]])
    with pytest.raises(ValueError, match="table.parquet: text in column 'kind'"):
        load(path)


def test_parquet_of_several_groups_types_and_missing_text(parquet, tmp_path):
    import pyarrow as pa
    from pyarrow import parquet as files

    kind = pa.array(["b", None, "a", "b"] * 50).dictionary_encode()
    table = pa.table({"n": pa.array(range(200), pa.int16()), "kind": kind, "other": [[1]] * 200})
    files.write_table(table, tmp_path / "t.parquet", row_group_size=30)
    data = load(tmp_path / "t.parquet", columns="n", factors="kind")  # what is not asked for may be anything
    np.testing.assert_array_equal(data.x[:, 0], np.arange(200))
    np.testing.assert_array_equal(data.factors[:4, 0], [2, 0, 1, 2])  # None, a, b


def test_bad_parquet(parquet, tmp_path):
    with pytest.raises(ValueError, match="column 'a' has no number in row 2: it is null"):
        load(parquet(a=[1.0, None]))
    with pytest.raises(ValueError, match="column 'a' holds list"):
        load(parquet(a=[[1.0], [2.0]]))
    with pytest.raises(ValueError, match="no rows"):
        load(parquet(a=[]))
    path = parquet(a=list(range(1000)))
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(ValueError, match="table.parquet"):
        load(path)
