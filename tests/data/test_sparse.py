import numpy as np
import pytest
from scipy import sparse

from partita.data._sparse import SparseTable
from partita.data.rows import DiskRows

RNG = np.random.default_rng(0)
WHOLE = (RNG.random((50, 30)) < 0.1) * RNG.integers(1, 9, (50, 30)).astype(np.float32)


class OnDisk:
    """An array of which only slices are asked for."""

    def __init__(self, values):
        self.values, self.shape, self.ndim, self.dtype = values, values.shape, values.ndim, values.dtype

    def __len__(self):
        return len(self.values)

    def __getitem__(self, index):
        assert isinstance(index, slice)
        return self.values[index]


def table(by_rows=True, held=np.asarray, **changes):
    packed = sparse.csr_array(WHOLE) if by_rows else sparse.csc_array(WHOLE)
    parts = {name: getattr(packed, name) for name in ("data", "indices", "indptr")} | changes
    return SparseTable(lambda: (held(parts["data"]), held(parts["indices"])), parts["indptr"], WHOLE.shape, by_rows)


@pytest.mark.parametrize("held", [np.asarray, OnDisk])
@pytest.mark.parametrize("by_rows", [True, False])
@pytest.mark.parametrize("kept", [None, np.array([3, 7, 29])])
@pytest.mark.parametrize("stream", [True, False])
def test_rows_are_those_of_the_whole_table(tmp_path, held, by_rows, kept, stream):
    found = table(by_rows, held)
    found = found if kept is None else found.keeping(kept)
    expected = WHOLE if kept is None else WHOLE[:, kept]
    rows = found.as_observations(tmp_path, stream)
    assert isinstance(rows, DiskRows) == stream
    for index in ([4, 4, 1, 49, 2, 3], [], slice(10, 20), slice(None)):
        np.testing.assert_array_equal(rows[index], expected[index])
    if by_rows:  # as where entries do not fit into memory
        from_disk = DiskRows(expected.shape, np.float32, found.whole_rows)
        np.testing.assert_array_equal(from_disk[[4, 4, 1, 49, 2, 3]], expected[[4, 4, 1, 49, 2, 3]])
        np.testing.assert_array_equal(np.asarray(from_disk), expected)
    together = [(start, block.toarray()) for start, block in found.blocks()]
    np.testing.assert_array_equal(np.concatenate([block for _, block in together]), expected)


def test_entries_are_held_where_they_fit_and_rows_do_not(tmp_path, monkeypatch):
    asked = []

    def held(values):
        asked.append(len(values))
        return OnDisk(values)

    found = table(held=held)
    fits = 2.5 * 32 * found.entries
    assert fits * 0.4 < WHOLE.nbytes
    monkeypatch.setattr("partita.data._sparse.free_memory", lambda: fits)
    rows = found.as_observations(tmp_path, None)
    assert isinstance(rows, DiskRows)
    before = len(asked)
    np.testing.assert_array_equal(rows[[9, 2]], WHOLE[[9, 2]])
    assert len(asked) == before
    monkeypatch.setattr("partita.data._sparse.free_memory", lambda: 1000)
    rows = found.as_observations(tmp_path, None)
    before = len(asked)
    with monkeypatch.context() as room:
        room.setattr("partita.data._memory.free_memory", lambda: 10**6)
        np.testing.assert_array_equal(rows[[9, 2]], WHOLE[[9, 2]])
    assert len(asked) > before  # from the file


def test_entries_in_one_place_are_added(tmp_path):
    twice = SparseTable(lambda: (np.ones(2, np.float32), np.array([1, 1])), np.array([0, 2]), (1, 3), by_rows=True)
    np.testing.assert_array_equal(twice.as_observations(tmp_path, False), [[0, 2, 0]])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"indptr": np.arange(51)[::-1]}, "does not divide"),
        ({"indptr": np.zeros(51)}, "not a sparse table: values are float32"),
        ({"indptr": np.arange(7)}, "not a sparse table of shape"),
        ({"data": np.ones(3, np.float32)}, "not a sparse table of shape"),
        ({"data": np.array(["a"] * int((WHOLE > 0).sum()))}, "values are <U1"),
    ],
)
def test_what_is_no_sparse_table_is_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        table(**changes)
    with pytest.raises(ValueError, match="outside of 0 to 29"):
        table(indices=np.full(int((WHOLE > 0).sum()), -1)).whole_rows(np.arange(50))
