"""The user's own arrays: any reasonable shape and type becomes a Dataset."""

import os
from collections.abc import Callable, Mapping, Sequence
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from partita.data._layout import arranged, arranged_shape, checked_axis
from partita.data._movies import check_samples, pixel_courses
from partita.data._nearest import listed
from partita.data._npy import Header
from partita.data._some_rows import spread_rows
from partita.data.dataset import Dataset, all_finite
from partita.data.rows import DiskRows

OBSERVATION_KEYS = ("x", "X", "images", "imgs", "data", "frames")
FACTOR_KEYS = ("factors", "latents_classes")
LABEL_KEYS = ("labels", "u", "y")


def from_array(
    x: Any,
    *,
    factors: Any = None,
    factor_names: Sequence[str] = (),
    factor_sizes: Sequence[int] = (),
    labels: Any = None,
    truth: Any = None,
    truth_groups: Sequence[Sequence[int]] | None = None,
    columns: Mapping[str, Any] | None = None,
    feature_names: Sequence[str] = (),
    samples: str | None = None,
    layout: str | None = None,
    name: str = "array",
    scale: float | None = None,
    description: Mapping[str, Any] | None = None,
) -> Dataset:
    """A data set from arrays in memory.

    `x`: (n, features); (n, height, width), which becomes one channel; or images with the channels before or after the
    pixels: `layout="nchw"` or `"nhwc"`, by default where the shape tells (1 to 4 channels, or square images). 8-bit
    images stay 8-bit, everything else becomes float32. `scale` multiplies the observations; by default 8-bit images
    are brought into 0..1 (by 1/255, or by 1 when they hold only 0 and 1) and other data stay as they are.

    A movie (time, height, width) with `samples="pixels"` becomes one time course a pixel that changes, with factors row
    and column; labels and columns, which belong to the frames, are left out. `samples="frames"` makes each frame
    an image.

    Parameters
    ----------
    x : array
        The observations.
    factors : array (n, F), optional
        Class indices of factors of variation, with `factor_names` and `factor_sizes` where they are known.
    labels : array (n,) or (n, m), optional
        Auxiliary labels u.
    truth : array (n, T), optional
        True latents, with their partition `truth_groups`.
    columns : mapping of names to arrays (n,), optional
        What else is known of each row: numbers or words.
    feature_names : sequence of str
        What the features are called.
    samples, layout, scale
        As above.
    name : str
        What it is called.
    description : mapping, optional
        JSON from which the same data can be made again.

    Returns
    -------
    Dataset

    Examples
    --------
    >>> import numpy as np
    >>> from_array(np.zeros((5, 8, 8), np.uint8), name="dark")
    Dataset('dark', 5 x (1, 8, 8) uint8)
    """
    check_samples(samples)
    if samples == "pixels":
        x, factors, factor_sizes = pixel_courses(as_numbers(x, name), name)
        factor_names, labels, columns = ("row", "column"), None, None
    images = x if isinstance(x, DiskRows) else as_observations(as_numbers(x, name), name, layout)
    if scale is None:
        scale = default_scale(images)
    return Dataset(
        name=name,
        x=images,
        x_scale=scale,
        factors=column_or_table(factors),
        factor_names=tuple(factor_names),
        factor_sizes=tuple(factor_sizes),
        labels=column_or_table(labels),
        truth=column_or_table(truth),
        truth_groups=None if truth_groups is None else tuple(tuple(group) for group in truth_groups),
        columns=columns or {},
        feature_names=tuple(feature_names),
        description=description or {"name": name},
    )


def default_scale(x: Any) -> float:
    """1/255 for 8-bit images, 1 for those of only 0 and 1 and for everything else."""
    if x.dtype != np.uint8:
        return 1.0
    # Of an array on disk a few rows must do.
    rows = x if isinstance(x, np.ndarray) else x[spread_rows(len(x), 64)]
    return 1 / 255 if rows.max(initial=0) > 1 else 1.0


def as_numbers(x: Any, name: str) -> np.ndarray:
    """`x` as an array of uint8 or float32."""
    try:
        array = np.asarray(x)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name}: cannot be made an array of numbers: {error}") from None
    if array.dtype.kind not in "biuf":
        raise ValueError(f"{name}: expected numbers, got {array.dtype} of shape {array.shape}")
    if array.dtype == bool:
        return array.astype(np.uint8)
    if array.dtype == np.uint8:
        return array
    finite = all_finite(array) if array.ndim else True
    with np.errstate(over="ignore"):
        single = array.astype(np.float32, copy=False)
    if finite and array.ndim and not all_finite(single):
        raise ValueError(f"{name}: values up to {np.abs(array).max():.3g} exceed single precision; rescale them first")
    return single


def as_observations(x: np.ndarray, name: str, layout: str | None = None) -> np.ndarray:
    """`x` as (n, features) float32 or (n, channels, height, width), in one piece."""
    return np.ascontiguousarray(arranged(x, name, layout), dtype=np.float32 if x.ndim == 2 else None)


def bytes_needed(header: Header, samples: str | None = None, layout: str | None = None) -> int:
    """The most that an array takes while it is read and becomes observations, itself included: what is copied stays
    beside its copy. ValueError where its shape is that of no observations."""
    stored, shape = header.dtype, header.shape
    seen = np.dtype(np.uint8 if stored in (np.uint8, np.bool_) else np.float32)
    sizes = [stored.itemsize] + [seen.itemsize] * (seen != stored)  # as in `as_numbers`
    if samples == "pixels":
        sizes += [seen.itemsize, 4]  # the pixels that change; their courses
    else:
        arranged_shape(shape, "the array", layout)
        last = len(shape) == 4 and checked_axis(shape, "the array", layout) == 3
        if header.fortran or last or (len(shape) == 2 and seen == np.uint8):
            sizes.append(4 if len(shape) == 2 else seen.itemsize)
    return prod(shape) * sum(sizes)


def bytes_of_columns(header: Header) -> int:
    """The most that factors or labels take: as they are read, side by side, and as whole numbers or float32."""
    return prod(header.shape) * (2 * header.dtype.itemsize + 8)


def column_or_table(values: Any) -> np.ndarray | None:
    if values is None:
        return None
    values = np.asarray(values)
    return values[:, None] if values.ndim == 1 else values


def columns_of(names: Sequence[str] | str | None, read: Callable[[str], np.ndarray]) -> np.ndarray | None:
    """The named arrays side by side, (n, m)."""
    if not names:
        return None
    names = [names] if isinstance(names, str) else names
    parts = [column_or_table(read(name)) for name in names]
    sizes = {len(part) for part in parts if part is not None and part.ndim == 2}
    if len(sizes) != 1:
        raise ValueError(f"the arrays {listed(names)} cannot stand side by side: lengths {listed(sorted(sizes))}")
    return np.concatenate(parts, 1)  # pyright: ignore


def observation_key(plain: Mapping[str, tuple[int, ...]], path: Path) -> str:
    """Which of the arrays (name -> shape) holds the observations: a usual name, or the only one that can."""
    tables = [key for key, shape in plain.items() if len(shape) >= 2]
    for key in OBSERVATION_KEYS:
        if key in tables or (key in plain and not tables):
            return key
    if len(tables) == 1:
        return tables[0]
    found = listed(f"{key} {shape}" for key, shape in plain.items()) if plain else "no array of numbers"
    raise ValueError(f"{path}: which array holds the observations? Give key=...; the file has {found}")


def described(path: str | os.PathLike, options: Mapping[str, Any]) -> dict[str, Any]:
    """From which file, and with which options, the same data can be loaded again."""
    given = {option: value for option, value in options.items() if value is not None and value != []}
    return {"path": str(path), "options": given}
