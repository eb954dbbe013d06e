"""10x Genomics `.h5`: the counts of cells and genes that Cell Ranger writes, of version 2 and of 3 and later."""

from pathlib import Path
from typing import Any

import numpy as np

from partita.data._card import FileCard
from partita.data._cells import Genes, cells, is_counts, say_normalised
from partita.data._h5_frame import numbers, words
from partita.data._h5ad import h5_sparse
from partita.data._nearest import listed
from partita.data._reading import existing_file, reading
from partita.data.dataset import Dataset

CARD = FileCard(
    name="10x Genomics",
    files=(".h5", ".hdf5"),
    becomes="a cell a row: counts of genes, or of another kind of features; the total of each cell is kept",
    written_by="Cell Ranger",
)
ARRAYS = ("barcodes", "data", "indices", "indptr", "shape")
EXPRESSION = "Gene Expression"


def is_10x(path: Path) -> bool:
    import h5py

    path = existing_file(path)
    with reading(path), h5py.File(path, "r") as file:
        return bool(_groups(file))


def load_10x(
    path: Path, *, genes: Genes = None, kind: str | None = None, genome: str | None = None, stream: bool | None = None
) -> Dataset:
    """Cells of a 10x `.h5` file. `kind` is a type of features, "Gene Expression" unless said where there are several;
    `genome` chooses one of version 2; `genes` and `stream` are as for `.h5ad`."""
    import h5py

    path = existing_file(path)
    with reading(path), h5py.File(path, "r") as file:
        group = _group(file, genome)
        shape = numbers(file, f"{group}/shape")
        if shape.shape != (2,) or shape.dtype.kind not in "iu":
            raise ValueError(f"{group}/shape should be the numbers of features and cells, and is {shape.tolist()}")
        table = h5_sparse(path, file, group, (int(shape[1]), int(shape[0])), by_rows=True)
        names = words(file, f"{group}/features/name" if f"{group}/features" in file else f"{group}/gene_names")
        barcodes = words(file, f"{group}/barcodes")
        kinds = words(file, f"{group}/features/feature_type") if f"{group}/features/feature_type" in file else None
    with reading(path):
        if len(names) != table.shape[1] or len(barcodes) != table.shape[0]:
            raise ValueError(f"names {len(barcodes):,} cells and {len(names):,} features for a table {table.shape}")
        if not is_counts(table):
            say_normalised(table, "its numbers", path, "Cell Ranger writes counts: take its own file")
        of_kind = _of_kind(kinds, kind, len(names))
        if of_kind is not None:
            table, names = table.keeping(of_kind), names[of_kind]
        return cells(
            table, list(names), {"barcode": barcodes}, path,
            kept=genes, marked={}, factors=(), labels=None, stream=stream,
            options={"genes": genes, "kind": kind, "genome": genome, "stream": stream},
        )  # fmt: skip


def _groups(file: Any) -> list[str]:
    """Groups that hold a table: "matrix", or of version 2 a genome each."""
    return [name for name in file if _is_group(file, name) and all(each in file[name] for each in ARRAYS)]


def _group(file: Any, genome: str | None) -> str:
    names = _groups(file)
    if genome is not None and genome not in names:
        raise ValueError(f"has no genome {genome!r}; it has {listed(names)}")
    if len(names) > 1 and genome is None:
        raise ValueError(f"has the genomes {listed(names)}; name one with genome=")
    return genome or names[0]


def _is_group(file: Any, name: str) -> bool:
    import h5py

    return isinstance(file.get(name, getlink=True), h5py.HardLink) and file.get(name, getclass=True) is h5py.Group


def _of_kind(kinds: np.ndarray | None, kind: str | None, count: int) -> np.ndarray | None:
    """Which features to look at; None where they are all of one kind."""
    if kinds is None or len(kinds) != count:
        if kind is not None:
            raise ValueError(f"does not say of which kind its features are, and kind={kind!r} was asked for")
        return None
    there = sorted(set(kinds))
    wanted = kind or (EXPRESSION if EXPRESSION in there else there[0])
    if wanted not in there:
        raise ValueError(f"has no features of kind {wanted!r}; it has {listed(there)}")
    return None if len(there) == 1 else np.flatnonzero(kinds == wanted)
