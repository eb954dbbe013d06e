"""`.safetensors`: activations and other arrays, read by rows from where they lie."""

import json
from pathlib import Path

import numpy as np

from partita.data._card import FileCard
from partita.data._nearest import listed
from partita.data._reading import existing_file, reading
from partita.data._shards import ArrayOnDisk, numbered, rows_of
from partita.data.arrays import described, from_array, observation_key
from partita.data.dataset import Dataset
from partita.data.rows import settled

CARD = FileCard(
    name="safetensors",
    files=(".safetensors",),
    becomes="a row each of the one table (rows, width), a token each of (sequences, tokens, width)",
    written_by="safetensors, transformers",
)
SHARDS_CARD = FileCard(".safetensors shards", (), "the rows of one file after the other", "safetensors, transformers")
TYPES = {
    "F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "i1",
    "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "u1", "BOOL": "?",
}  # fmt: skip


def load_safetensors(
    path: Path,
    *,
    key: str | None = None,
    layout: str | None = None,
    scale: float | None = None,
    stream: bool | None = None,
) -> Dataset:
    """The array `key` of a `.safetensors` file, or of all those in a folder, one after the other.

    Arrays with one number a row are kept as columns. Rows are read from disk as they are needed where all would take
    more than 40 % of the free memory, or with `stream=True`; bfloat16 becomes float32.
    """
    paths = numbered(path, ".safetensors") if path.is_dir() else [path]
    if not paths:
        raise ValueError(f"{path}: no images here, no suite2p traces, and no .npy or .safetensors files")
    files = [arrays_in(each) for each in paths]
    with reading(path):
        key = key or observation_key({name: each.shape for name, each in files[0].items()}, path)
        for arrays in files:
            if key not in arrays:
                where = next(iter(arrays.values())).path.name if arrays else "a file"
                raise ValueError(f"{where} has no array of numbers {key!r}; it has {listed(arrays)}")
        tables = [arrays[key].by_tokens() for arrays in files]
        if len(tables[0].shape) < 2:
            raise ValueError(f"{key!r} has shape {tables[0].shape}; observations need at least two dimensions")
        rows = rows_of(tables, layout)
        alike = set.intersection(*(_lists(arrays, table.shape[0]) for arrays, table in zip(files, tables)))
        return from_array(
            settled(rows, stream),
            columns={name: np.concatenate([arrays[name].whole() for arrays in files]) for name in sorted(alike)},
            layout="nchw",
            name=path.stem,
            scale=scale,
            description=described(path, {"key": key, "layout": layout, "scale": scale, "stream": stream}),
        )


def arrays_in(path: Path) -> dict[str, ArrayOnDisk]:
    """Where the arrays of a file are, by name. The library looks first whether the file is whole."""
    from safetensors import safe_open

    path = existing_file(path)
    with reading(path):
        with safe_open(str(path), framework="np"):
            pass
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            header = json.loads(file.read(length))
        header.pop("__metadata__", None)
        return {
            name: ArrayOnDisk(
                path, 8 + length + each["data_offsets"][0], tuple(each["shape"]),
                np.dtype(TYPES[each["dtype"]]), each["dtype"] == "BF16",
            )
            for name, each in header.items() if each["dtype"] in TYPES and 0 not in each["shape"]
        }  # fmt: skip


def _lists(arrays: dict[str, ArrayOnDisk], rows: int) -> set[str]:
    return {name for name, each in arrays.items() if each.shape == (rows,)}
