"""`.h5ad`: annotated tables of cells and genes, as anndata and scanpy write them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from partita.data._card import FileCard
from partita.data._cells import Genes, cells, is_counts, say_normalised
from partita.data._h5_frame import frame_columns, frame_index, numbers
from partita.data._hdf5 import OpenFile, check_chunk, h5_rows, inner_array, inner_item
from partita.data._memory import check_fits
from partita.data._nearest import listed, nearest
from partita.data._reading import existing_file, reading
from partita.data._sparse import DenseTable, SparseTable, Table
from partita.data.dataset import Dataset

CARD = FileCard(
    name="AnnData",
    files=(".h5ad",),
    becomes="a cell a row: X or a layer, sparse or not; columns of obs, and the total of each cell, are kept by name",
    written_by="anndata, scanpy, scvi-tools, CELLxGENE",
)

BYTES_A_LINE = 48  # as stored, as a whole number, and while it is compared with the next


def load_h5ad(
    path: Path,
    *,
    layer: str | None = None,
    genes: Genes = None,
    factors: Sequence[str] | str | None = None,
    labels: Sequence[str] | str | None = None,
    stream: bool | None = None,
) -> Dataset:
    """Cells of an `.h5ad` file: X, or `layer` ("counts", or "raw" for raw/X).

    `genes`: so many of largest variance (2000), a column of var that marks them ("highly_variable"), or their names.
    `factors` and `labels` are columns of obs; by default columns of words become factors. `stream=True` makes rows
    whole as they are needed; by default that happens where all would take more than 40 % of the free memory.
    """
    import h5py

    path = existing_file(path)
    with reading(path), h5py.File(path, "r") as file:
        layers = _layers(file)
        key = _chosen_layer(layer, layers)
        group = key.rpartition("X")[0] if key.startswith("raw/") else ""
        table = _table(path, file, key)
        columns = frame_columns(file, "obs", table.shape[0]) if "obs" in file else {}
        names, marked = _genes(file, f"{group}var", table.shape[1])
    with reading(path):
        if not is_counts(table):
            say_normalised(table, f"the numbers of {key}", path, _counts_elsewhere(path, key, layers))
        options = {"layer": layer, "genes": genes, "factors": factors, "labels": labels, "stream": stream}
        return cells(
            table, names, columns, path,
            kept=genes, marked=marked, factors=factors, labels=labels, stream=stream, options=options,
        )  # fmt: skip


def _layers(file: Any) -> dict[str, str]:
    """Where the tables of numbers are: X, those of layers, and raw/X."""
    found = {"X": "X"} if "X" in file else {}
    if "layers" in file:
        found |= {name: f"layers/{name}" for name in inner_item(file, "layers")}
    return found | ({"raw": "raw/X"} if "raw/X" in file else {})


def _chosen_layer(layer: str | None, layers: dict[str, str]) -> str:
    if layer is None and "X" not in layers:
        has = f"it has the layers {listed(layers)}; name one with layer=" if layers else "read it as .h5 with key="
        raise ValueError(f"is not as anndata writes: there is no X; {has}")
    if layer is not None and layer not in layers:
        raise ValueError(f"has no layer {layer!r}{nearest(layer, layers)}; it has {listed(layers)}")
    return layers[layer or "X"]


def _table(path: Path, file: Any, key: str) -> Table:
    item = inner_item(file, key)
    if hasattr(item, "dtype"):
        array = inner_array(file, key)
        if array.ndim != 2:
            raise ValueError(f"{key} has shape {array.shape}; cells and genes were expected")
        check_chunk(array, key)
        return DenseTable(h5_rows(path, key))
    kind = item.attrs.get("encoding-type", item.attrs.get("h5sparse_format", "csr"))
    kind = str(kind.decode() if isinstance(kind, bytes) else kind).removesuffix("_matrix")
    shape = item.attrs.get("shape", item.attrs.get("h5sparse_shape"))
    if kind not in ("csr", "csc") or shape is None or np.shape(shape) != (2,):
        raise ValueError(f"{key} is no table: of kind {kind!r} and shape {shape}; csr_matrix and csc_matrix are read")
    return h5_sparse(path, file, key, (int(shape[0]), int(shape[1])), by_rows=kind == "csr")


def h5_sparse(path: Path, file: Any, key: str, shape: tuple[int, int], *, by_rows: bool) -> SparseTable:
    """The sparse table in the group `key`: arrays data, indices and indptr."""
    for name in ("data", "indices", "indptr"):
        check_chunk(inner_array(file, f"{key}/{name}"), f"{key}/{name}")
    lines = inner_array(file, f"{key}/indptr").size
    check_fits(BYTES_A_LINE * lines, f"where each of {lines:,} lines of {key} begins", "take fewer cells")
    opened = OpenFile(path)
    arrays = lambda: (opened.array(f"{key}/data"), opened.array(f"{key}/indices"))  # noqa: E731
    return SparseTable(arrays, numbers(file, f"{key}/indptr"), shape, by_rows)


def _genes(file: Any, key: str, count: int) -> tuple[list[str], dict[str, np.ndarray]]:
    """Names of the genes, and the columns that mark some of them."""
    if key not in file:
        return [], {}
    columns = frame_columns(file, key, count)
    names = frame_index(file, key)
    if len(names) != count:
        raise ValueError(f"{key} names {len(names):,} genes, and there are {count:,}")
    return names, {name: column for name, column in columns.items() if column.dtype.kind == "b"}


def _counts_elsewhere(path: Path, key: str, layers: dict[str, str]) -> str:
    """Which layer has counts, if one has."""
    import h5py

    with h5py.File(path, "r") as file:
        for layer, other in layers.items():
            if other != key and is_counts(_table(path, file, other)):
                return f"layer={layer} takes the counts"
    return "counts of molecules are needed for count likelihoods, and the file has none"
