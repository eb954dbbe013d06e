"""A file that somebody drops on the page, as one observation: an image, an array, or a row of a table."""

from math import prod
from pathlib import Path, PurePosixPath, PureWindowsPath

import numpy as np

from partita.data._csv_table import CsvTable
from partita.data._images import read_image
from partita.data._nearest import listed
from partita.data._npy import read_npy

MOST_BYTES = 16 << 20
IMAGES = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp", ".tif", ".tiff")
KINDS = (*IMAGES, ".npy", ".csv")


def read_observation(
    folder: Path, content: bytes, name: str, shape: tuple[int, ...], feature_names: tuple[str, ...], top: float
) -> np.ndarray:
    """The observation (*shape) in the units of the data; of images, `top` is the brightest value. ValueError, in one
    line that names the file and nothing of this computer.

    The bytes go through the readers of `partita.data`, which bound what they allocate and never unpickle, by way of a
    file in `folder` whose name is ours: of the name that came along, the ending alone counts.
    """
    shown = PurePosixPath(PureWindowsPath(name).name).name[:80] or "the file"
    suffix = PurePosixPath(shown).suffix.lower()
    if suffix not in KINDS:
        raise ValueError(f"{shown}: drop an image ({listed(IMAGES)}), an array (.npy) or a row of a table (.csv)")
    if len(content) > MOST_BYTES:
        raise ValueError(f"{shown}: files of at most {MOST_BYTES >> 20} MB are taken")
    path = folder / f"dropped{suffix}"
    path.write_bytes(content)
    try:
        with np.errstate(over="ignore"):  # what is too large for float32 is refused below
            x = _read(path, suffix, shape, feature_names, top)
    except (ValueError, OSError) as error:
        raise ValueError(f"{shown}: {str(error).replace(str(path), '').lstrip(': ')}") from None
    if not np.isfinite(x).all():
        raise ValueError(f"{shown}: holds values that are missing or not finite")
    return x


def _read(path: Path, suffix: str, shape: tuple[int, ...], feature_names: tuple[str, ...], top: float) -> np.ndarray:
    if suffix in IMAGES:
        return _image(path, shape, top)
    if suffix == ".csv":
        return _table_row(path, shape, feature_names)
    array = read_npy(path)
    if array.dtype.kind not in "biuf":
        raise ValueError(f"holds {array.dtype}, and numbers are expected")
    if array.size != prod(shape) or tuple(n for n in array.shape if n > 1) != tuple(n for n in shape if n > 1):
        raise ValueError(f"holds an array of shape {array.shape}, and one observation is {shape}")
    return array.reshape(shape).astype(np.float32)


def _image(path: Path, shape: tuple[int, ...], top: float) -> np.ndarray:
    if len(shape) != 3 or shape[0] not in (1, 3):
        raise ValueError(f"is an image, and one observation is {shape}: drop an array (.npy) or a row (.csv)")
    pixels = read_image(path, size=(shape[1], shape[2]), channels=shape[0])
    return pixels.astype(np.float32) * np.float32(top / 255)


def _table_row(path: Path, shape: tuple[int, ...], feature_names: tuple[str, ...]) -> np.ndarray:
    """The first row; columns by name where both sides have names, else in order."""
    columns = CsvTable(path).columns()
    missing = [name for name in feature_names if name not in columns]
    if feature_names and len(missing) < len(feature_names):
        if missing:
            raise ValueError(f"has no column {listed(map(repr, missing), 3)}")
        columns = {name: columns[name] for name in feature_names}
    if len(columns) != prod(shape):
        raise ValueError(f"has {len(columns)} columns, and one observation has {prod(shape)} numbers")
    words = [name for name, values in columns.items() if values.dtype == object]
    if words:
        raise ValueError(f"has text in column {words[0]!r}, and numbers are expected")
    return np.array([values[0] for values in columns.values()], np.float32).reshape(shape)
