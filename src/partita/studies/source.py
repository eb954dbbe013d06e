"""The data of a run: described in it, loaded again from that description, and checked to be the same."""

import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from partita.data import Dataset, remake

BYTES_READ_WHOLE = 1 << 30
BYTES_A_STRETCH = 1 << 22
STRETCHES = 16


def described(dataset: Dataset) -> dict[str, Any]:
    """The data set as a run remembers it. A file may change behind its name, so its content is remembered too."""
    description = dict(dataset.description)
    if "path" in description:
        description["digest"] = _digest(dataset.x)
    return description


def reload(description: Mapping[str, Any]) -> Dataset:
    """The data set a run was trained on; ValueError when the file now holds something else."""
    where = description.get("name") or description.get("path")
    if where is None:
        raise ValueError("the run does not say which data it was trained on")
    dataset = remake(description)
    expected = description.get("digest")
    if expected is not None and expected != _digest(dataset.x):
        raise ValueError(f"{where} is not the data this was trained on: its content has changed since")
    return dataset


def labels_of(dataset: Dataset) -> np.ndarray | None:
    """What methods with labels learn from: the data set's labels, or else all its factors as numbers."""
    return dataset.labels if dataset.labels is not None else dataset.factors


def _digest(x: Any) -> str:
    """A hash of the content; of very large arrays, of stretches spread evenly over them, first and last rows included.

    Which rows depends on shape and type alone, so that data give the same hash in memory and on disk.
    """
    digest = hashlib.blake2b(repr((x.shape, str(x.dtype))).encode(), digest_size=16)
    width = max(1, x.nbytes // len(x))
    stretch = max(1, BYTES_A_STRETCH // width)
    starts = range(0, len(x), stretch)
    if x.nbytes > BYTES_READ_WHOLE:
        starts = np.linspace(0, max(0, len(x) - stretch), STRETCHES).astype(int).tolist()
    for start in starts:
        digest.update(np.ascontiguousarray(x[start : start + stretch]).data)
    return digest.hexdigest()
