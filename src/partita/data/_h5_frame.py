"""Data frames inside HDF5 files, as anndata writes them: columns of numbers, words, or classes with their words."""

from typing import Any

import numpy as np

from partita.data._hdf5 import inner_item
from partita.data._memory import check_fits

BYTES_A_WORD = 100  # as a Python object, of usual length
LONGEST_WORD = 10_000
WORDS_AT_ONCE = 1000


def frame_index(file: Any, key: str) -> list[str]:
    """What the rows of a data frame are called."""
    frame = inner_item(file, key)
    names = _fields(frame)
    if names is not None:
        return list(_words(frame.fields(names[0])[()]))
    name = frame.attrs.get("_index", "_index")
    return list(words(file, f"{key}/{_text(name)}"))


def frame_columns(file: Any, key: str, rows: int) -> dict[str, np.ndarray]:
    """Columns by name, but for the index: numbers (missing ones NaN), or words as objects (missing ones "")."""
    frame = inner_item(file, key)
    fields = _fields(frame)
    if fields is not None:
        return {name: _of_record(file, frame, name) for name in fields[1:]} if len(frame) == rows else {}
    index = _text(frame.attrs.get("_index", "_index"))
    found = {}
    for name in frame:
        if name not in (index, "__categories"):
            column = _column(file, f"{key}/{name}", f"{key}/__categories/{name}")
            if column is not None and column.shape == (rows,):
                found[name] = column
    return found


def words(file: Any, key: str) -> np.ndarray:
    """An array of text, as objects."""
    array = inner_item(file, key)
    if not hasattr(array, "dtype") or array.shape is None or array.ndim != 1:
        raise ValueError(f"{key!r} is no list of words")
    check_fits(BYTES_A_WORD * len(array), f"{key!r}, {len(array):,} words,")
    if array.dtype.kind in "biuf":
        return np.array([str(value) for value in array[()]], object)
    if array.dtype.kind not in "SO":
        raise ValueError(f"{key!r} is no list of words, but {array.dtype}")
    if array.dtype.kind == "S":
        check_fits(2 * array.nbytes, f"{key!r}, {array.dtype},")
    blocks = [_words(array[at : at + WORDS_AT_ONCE]) for at in range(0, len(array), WORDS_AT_ONCE)]
    return np.concatenate([np.array([], object), *blocks])


def _column(file: Any, key: str, categories: str) -> np.ndarray | None:
    import h5py

    column = inner_item(file, key)
    if isinstance(column, h5py.Group):
        if "categories" in column and "codes" in column:
            return _coded(numbers(file, f"{key}/codes"), words(file, f"{key}/categories"), key)
        if "values" in column and "mask" in column:
            values, mask = numbers(file, f"{key}/values"), numbers(file, f"{key}/mask")
            return np.where(mask.astype(bool), np.nan, values) if values.shape == mask.shape else None
        return None
    if column.shape is None or column.ndim != 1:
        return None
    if categories in file:  # as anndata 0.6 and 0.7 wrote them
        return _coded(numbers(file, key), words(file, categories), key)
    return numbers(file, key) if column.dtype.kind in "biuf" else words(file, key)


def numbers(file: Any, key: str) -> np.ndarray:
    """A whole array of numbers; yes and no as booleans."""
    array = inner_item(file, key)
    if not hasattr(array, "dtype") or array.shape is None or array.dtype.kind not in "biuf":
        raise ValueError(f"has no array of numbers {key!r}")
    check_fits(2 * array.nbytes, f"array {key!r}, {array.dtype} {array.shape},")
    return array[()]


def _coded(codes: np.ndarray, levels: np.ndarray, key: str) -> np.ndarray:
    if codes.dtype.kind not in "iu" or (len(codes) and (codes.min() < -1 or codes.max() >= len(levels))):
        raise ValueError(f"classes of {key!r} are not among its {len(levels)} words")
    return np.append(levels, "")[codes]  # the class -1 is none


def _of_record(file: Any, frame: Any, name: str) -> np.ndarray:
    """A column of a table of records, as anndata wrote before 0.7: words of classes stand in uns."""
    values, categories = frame.fields(name)[()], f"uns/{name}_categories"
    if values.dtype.kind in "iu" and categories in file:
        return _coded(values, words(file, categories), name)
    return values if values.dtype.kind in "biuf" else _words(values)


def _fields(frame: Any) -> list[str] | None:
    """The columns of a table of records; None of a group."""
    if not hasattr(frame, "dtype"):
        return None
    if frame.dtype.names is None or frame.ndim != 1 or any(frame.dtype[name].shape for name in frame.dtype.names):
        raise ValueError(f"{frame.name!r} is no data frame")
    check_fits(2 * frame.nbytes + BYTES_A_WORD * len(frame), f"{frame.name!r}")
    return list(frame.dtype.names)


def _words(values: np.ndarray) -> np.ndarray:
    """As text, each distinct one kept once."""
    known: dict[Any, str] = {}
    return np.array([known.setdefault(value, _text(value)) for value in values.tolist()] or [], object)


def _text(value: Any) -> str:
    return (value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value))[:LONGEST_WORD]
