"""The data of a run: known by their content, found again wherever the file is now, and checked to be the same."""

import hashlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from partita.data import Dataset, remake
from partita.data._fetch import places
from partita.data._nearest import listed

BYTES_READ_WHOLE = 1 << 30
BYTES_A_STRETCH = 1 << 22
STRETCHES = 16
# Where a file was is no part of what it is.
WHERE = ("path", "places")


def described(dataset: Dataset) -> dict[str, Any]:
    """The data set as a run remembers it: how to make it again, and a hash of the content of what is no named data set.

    `digest` is of the observations, `known` of factors and labels; `path` and `places` say where the file was, as given
    and from the root.
    """
    description = dict(dataset.description)
    if "path" not in description and "options" in description:  # made or fetched by name
        return description
    description["digest"] = _digest(dataset.x)
    if "path" in description:
        known = _digest_of_known(dataset)
        description |= {} if known is None else {"known": known}
        description["places"] = [os.path.abspath(description["path"])]
    return description


def identity(description: Mapping[str, Any]) -> dict[str, Any]:
    """What of a description tells which data they are; in those of partita 0.1, which have no places, that is all."""
    return {key: value for key, value in description.items() if "places" not in description or key not in WHERE}


def same_data(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two descriptions are of the same data; what partita 0.1 wrote is compared by what it knew."""
    if "places" in one and "places" in other:
        return identity(one) == identity(other)
    return without(one, *WHERE, "known") == without(other, *WHERE, "known")


def without(description: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in description.items() if key not in keys}


def seen_from(description: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """The description with one place more: the file's, as the study's folder sees it, for when both are moved."""
    if "places" not in description:
        return dict(description)
    absolute = description["places"][0]
    return {**description, "places": [absolute, os.path.relpath(absolute, folder)]}


def reload(description: Mapping[str, Any], folder: Path | None = None) -> Dataset:
    """The data set a run was trained on. A file is looked for where it was, seen from here and from the study's folder,
    and in PARTITA_DATA; ValueError when what is there holds something else, OSError when it is nowhere.

    Parameters
    ----------
    description : mapping
        The data as the run remembers them: `run.data`.
    folder : Path, optional
        The study's folder.

    Returns
    -------
    Dataset
        With the content the run was trained on.

    Examples
    --------
    >>> import tempfile
    >>> from partita.data import load
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "rows.npy"
    ...     np.save(path, np.eye(4))
    ...     again = reload(described(load(str(path))))
    >>> again.size, again.shape
    (4, (4,))
    """
    if "path" not in description and "name" not in description:
        raise ValueError("the run does not say which data it was trained on")
    if "path" not in description:
        return remake(description)
    refused: list[ValueError] = []
    looked_at = list(dict.fromkeys(candidates(description, folder)))
    for place in looked_at:
        if not os.path.lexists(place):
            continue
        try:
            dataset = remake({**description, "path": str(place)})
        except ValueError as error:
            refused.append(error)
            continue
        if _holds(dataset, description):
            return dataset
        refused.append(ValueError(f"{place} is not the data this was trained on: its content has changed since"))
    if refused:
        raise refused[0]
    raise OSError(
        f"{Path(description['path']).name}, which this was trained on (content {description.get('digest')}), is not "
        f"found: looked for {listed(looked_at, 4)}; put it back, or set PARTITA_DATA to the folder where it is now"
    )


def labels_of(dataset: Dataset) -> np.ndarray | None:
    """What methods with labels learn from: the data set's labels, or else all its factors as numbers."""
    return dataset.labels if dataset.labels is not None else dataset.factors


def candidates(description: Mapping[str, Any], folder: Path | None) -> Iterator[Path]:
    hints = [Path(hint) for hint in (description["path"], *description.get("places", ()))]
    yield from (hint for hint in hints if hint.is_absolute())
    home = None if folder is None else folder.absolute()
    for hint in hints:
        if not hint.is_absolute():
            yield Path(os.path.abspath(hint))
            yield from () if home is None else (Path(os.path.abspath(at / hint)) for at in (home, *home.parents))
    yield from (place / hints[0].name for place in places(None))


def _holds(dataset: Dataset, description: Mapping[str, Any]) -> bool:
    expected, known = description.get("digest"), description.get("known")
    same = expected is None or expected == _digest(dataset.x)
    return same and (known is None or known == _digest_of_known(dataset))


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


def _digest_of_known(dataset: Dataset) -> str | None:
    """A hash of factors and labels, where there are any: two files may hold the same observations and other labels."""
    known = {"factors": dataset.factors, "labels": dataset.labels}
    given = {name: array for name, array in known.items() if array is not None}
    if not given:
        return None
    names = (dataset.factor_names, dataset.factor_sizes)
    digest = hashlib.blake2b(repr((names, [(name, a.shape) for name, a in given.items()])).encode(), digest_size=16)
    for array in given.values():
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()
