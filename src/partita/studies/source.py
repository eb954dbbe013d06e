"""The data of a run: described in it, loaded again from that description, and checked to be the same."""

import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from partita.data import Dataset, remake


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
    digest = hashlib.blake2b(repr((x.shape, str(x.dtype))).encode(), digest_size=16)
    for start in range(0, len(x), 4096):
        digest.update(np.ascontiguousarray(x[start : start + 4096]).data)
    return digest.hexdigest()
