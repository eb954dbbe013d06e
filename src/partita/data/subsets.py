"""Parts of a data set with structure of their own: fewer rows, correlated or held-out factors, labels and their masks.

Every step is seeded, leaves the data set it starts from alone, and notes itself in the description, from which
`remake` makes the same data again.
"""

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from partita.data._nearest import nearest
from partita.data.dataset import Dataset
from partita.data.factors import FactorGrid
from partita.data.load import load
from partita.data.rows import DiskRows

Combination = Mapping[str, Sequence[int] | int]


def subsample(dataset: Dataset, *, size: int, seed: int = 0) -> Dataset:
    """`size` rows drawn without replacement, in their old order.

    Parameters
    ----------
    dataset : Dataset
        Is not changed.
    size : int
        How many.
    seed : int
        Which.

    Returns
    -------
    Dataset

    Examples
    --------
    >>> from partita.data import load
    >>> subsample(load("groups"), size=10).size
    10
    """
    if not isinstance(size, int) or not 1 <= size <= dataset.size:
        raise ValueError(f"size must be 1 to {dataset.size} rows, got {size!r}")
    rows = np.sort(_generator(seed).choice(dataset.size, size, replace=False))
    return _taken(dataset, rows, {"step": "subsample", "size": size, "seed": seed})


def hold_out(dataset: Dataset, combinations: Combination | Sequence[Combination], *, part: str = "train") -> Dataset:
    """The rows outside (`part="train"`) or inside (`part="test"`) the held-out combinations of factors.

    A combination such as `{"shape": [2], "scale": [0, 1]}` holds where every named factor has one of the classes; of
    several combinations any one is enough.

    Parameters
    ----------
    dataset : Dataset
        Is not changed.
    combinations : mapping or sequence of them
        Factors by name, each with its classes.
    part : str
        "train" or "test".

    Returns
    -------
    Dataset

    Examples
    --------
    >>> from partita.data import load
    >>> sprites = load("pdsprites")
    >>> small = {"size": [0]}
    >>> hold_out(sprites, small).size, hold_out(sprites, small, part="test").size
    (644, 161)
    """
    if part not in ("train", "test"):
        raise ValueError(f"part must be train or test, got {part!r}")
    listed = [combinations] if isinstance(combinations, Mapping) else list(combinations)
    plain = [{name: [int(k) for k in np.atleast_1d(classes)] for name, classes in one.items()} for one in listed]
    held = np.zeros(dataset.size, dtype=bool)
    for combination in plain:
        if not combination:
            raise ValueError("a held-out combination names no factor")
        held |= _matching(dataset, combination)
    rows = np.flatnonzero(held == (part == "test"))
    if not len(rows):
        raise ValueError(f"held-out combinations {plain} leave no row for the {part} part")
    return _taken(dataset, rows, {"step": "hold_out", "combinations": plain, "part": part})


def correlate(dataset: Dataset, *, factors: Sequence[str], sigma: float = 0.2, seed: int = 0) -> Dataset:
    """Rows thinned out until two factors are correlated: p(a, b) proportional to exp(-(a - b)^2 / (2 sigma^2)).

    a and b are the classes scaled to 0..1, as in Traeuble et al. (ICML 2021), where a small sigma is a strong
    correlation. The most probable cell keeps all its rows; others keep a random part of the right expected size.

    Parameters
    ----------
    dataset : Dataset
        Is not changed.
    factors : two names
        Which become correlated.
    sigma : float
        How wide the band around the diagonal is.
    seed : int
        Which rows go.

    Returns
    -------
    Dataset

    Examples
    --------
    >>> from partita.data import load
    >>> correlate(load("pdsprites"), factors=("column", "row"), sigma=0.1).size < 805
    True
    """
    if isinstance(factors, str) or len(factors) != 2 or factors[0] == factors[1]:
        raise ValueError(f"factors must name two different factors, got {factors!r}")
    if not (np.isfinite(sigma) and sigma > 0):
        raise ValueError(f"sigma must be positive, got {sigma!r}")
    grid = _grid(dataset)
    first, second = (grid.position(name) for name in factors)
    a, b = (dataset.factors[:, k] / max(1, grid.sizes[k] - 1) for k in (first, second))  # pyright: ignore
    cell = dataset.factors[:, first] * grid.sizes[second] + dataset.factors[:, second]  # pyright: ignore
    counts = np.bincount(cell, minlength=grid.sizes[first] * grid.sizes[second])
    share = np.exp(-((a - b) ** 2) / (2 * sigma**2)) / counts[cell]
    kept = _systematic(share / share.max(), cell, _generator(seed))
    step = {"step": "correlate", "factors": list(factors), "sigma": float(sigma), "seed": seed}
    return _taken(dataset, np.flatnonzero(kept), step)


def label(dataset: Dataset, *, factors: Sequence[str] | str, form: str = "scaled") -> Dataset:
    """Auxiliary labels u from factors: classes scaled to -1..1 (`form="scaled"`), or 0/1 a class (`"onehot"`).

    Parameters
    ----------
    dataset : Dataset
        Is not changed.
    factors : str or sequence of str
        Factors by name.
    form : str
        "scaled" or "onehot".

    Returns
    -------
    Dataset

    Examples
    --------
    >>> from partita.data import load
    >>> label(load("pdsprites"), factors="size", form="onehot").labels.shape
    (805, 5)
    """
    if form not in ("scaled", "onehot"):
        raise ValueError(f"form must be scaled or onehot, got {form!r}")
    grid, names = _grid(dataset), [factors] if isinstance(factors, str) else list(factors)
    columns = []
    for k in (grid.position(name) for name in names):
        classes = dataset.factors[:, k]  # pyright: ignore
        columns.append(
            2 * classes[:, None] / max(1, grid.sizes[k] - 1) - 1
            if form == "scaled"
            else classes[:, None] == np.arange(grid.sizes[k])
        )
    if not columns:
        raise ValueError("factors names no factor to take labels from")
    labels = np.concatenate(columns, 1).astype(np.float32)
    return replace(
        dataset, labels=labels, description=_noted(dataset, {"step": "label", "factors": names, "form": form})
    )


def mask_labels(dataset: Dataset, *, labelled: int | float, seed: int = 0) -> Dataset:
    """Only some rows may show their labels: `labelled` is how many, or which fraction if it is a float.

    Parameters
    ----------
    dataset : Dataset
        Is not changed.
    labelled : int or float
        Rows, or their share.
    seed : int
        Which.

    Returns
    -------
    Dataset

    Examples
    --------
    >>> from partita.data import load
    >>> shown = mask_labels(label(load("pdsprites"), factors="size"), labelled=0.2)
    >>> int(shown.labelled.sum())
    161
    """
    if dataset.labels is None:
        raise ValueError(f"data set {dataset.name!r} has no labels to mask; make them with label(...) first")
    count = round(labelled * dataset.size) if isinstance(labelled, float) else int(labelled)
    if not 0 <= count <= dataset.size or (isinstance(labelled, float) and not 0 <= labelled <= 1):
        raise ValueError(f"labelled must be 0 to {dataset.size} rows, or a fraction 0.0 to 1.0, got {labelled!r}")
    mask = np.zeros(dataset.size, dtype=bool)
    mask[_generator(seed).choice(dataset.size, count, replace=False)] = True
    step = {"step": "mask_labels", "labelled": labelled, "seed": seed}
    return replace(dataset, labelled=mask, description=_noted(dataset, step))


STEPS = {step.__name__: step for step in (subsample, hold_out, correlate, label, mask_labels)}


def remake(description: Mapping[str, Any]) -> Dataset:
    """The data set that a description describes: loaded or made by name or path, then taken through its steps.

    Parameters
    ----------
    description : mapping
        `Dataset.description`.

    Returns
    -------
    Dataset

    Examples
    --------
    >>> from partita.data import load
    >>> remake(load("groups", size=50).description).size
    50
    """
    source = description.get("name") if "options" in description and "name" in description else description.get("path")
    if not isinstance(source, str):
        raise ValueError(f"this data set cannot be made again from its description: {dict(description)}")
    dataset = load(source, **description.get("options", {}))
    for noted in description.get("steps", ()):
        options = dict(noted)
        name = options.pop("step", None)
        if name not in STEPS:
            raise ValueError(f"unknown step {name!r}{nearest(str(name), STEPS)}; there are {', '.join(STEPS)}")
        try:
            dataset = STEPS[name](dataset, **options)
        except TypeError:
            known = ", ".join(list(inspect.signature(STEPS[name]).parameters)[1:])
            raise ValueError(f"step {name!r} takes {known}, got {', '.join(options)}") from None
    return dataset


def _taken(dataset: Dataset, rows: np.ndarray, step: dict[str, Any]) -> Dataset:
    of = lambda array: None if array is None else array[rows]  # noqa: E731
    x = dataset.x
    taken = x[rows] if isinstance(x, np.ndarray) else DiskRows((len(rows), *x.shape[1:]), x.dtype, lambda r: x[rows[r]])
    return replace(
        dataset,
        x=taken,
        factors=of(dataset.factors),
        labels=of(dataset.labels),
        labelled=of(dataset.labelled),
        truth=of(dataset.truth),
        columns={name: column[rows] for name, column in dataset.columns.items()},
        description=_noted(dataset, step),
    )


def _noted(dataset: Dataset, step: dict[str, Any]) -> dict[str, Any]:
    return {**dataset.description, "steps": [*dataset.description.get("steps", []), step]}


def _grid(dataset: Dataset) -> FactorGrid:
    if dataset.factors is None:
        raise ValueError(f"data set {dataset.name!r} has no factors")
    return FactorGrid(dataset.factor_names, dataset.factor_sizes)


def _matching(dataset: Dataset, combination: Mapping[str, Sequence[int]]) -> np.ndarray:
    grid = _grid(dataset)
    matching = np.ones(dataset.size, dtype=bool)
    for name, classes in combination.items():
        k = grid.position(name)
        strange = [value for value in classes if not 0 <= value < grid.sizes[k]]
        if strange:
            raise ValueError(f"factor {name!r} has classes 0 to {grid.sizes[k] - 1}, got {strange[0]}")
        matching &= np.isin(dataset.factors[:, k], classes)  # pyright: ignore
    return matching


def _systematic(probability: np.ndarray, cell: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Which rows to keep: in each cell a random choice, whose number differs from its expectation by less than one."""
    order = np.lexsort((rng.random(len(cell)), cell))
    steps = np.floor(np.cumsum(probability[order]) + rng.random() - 1e-12)
    kept = np.zeros(len(cell), dtype=bool)
    kept[order] = np.diff(steps, prepend=steps[0] - (steps[0] >= 1)) > 0
    return kept


def _generator(seed: int) -> np.random.Generator:
    if not isinstance(seed, int) or seed < 0:
        raise ValueError(f"seed must be a whole number of at least 0, got {seed!r}")
    return np.random.default_rng(seed)
