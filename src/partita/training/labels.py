"""Labels as models see them: numbers between 0 and 1, and which rows show theirs."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from partita.recipes import Recipe

MOST_VALUES = 50


@dataclass(frozen=True)
class LabelScale:
    """u = (y - offset) * factor, a pair of numbers a label.

    A label of d different values, evenly spaced, becomes 1/2d, 3/2d, ..., 1 - 1/2d; with more than 50 values, 0.01 to
    0.99. So logits of labels are finite.
    """

    offset: tuple[float, ...]
    factor: tuple[float, ...]

    def of(self, y: Any, rows: int) -> np.ndarray:
        """Labels of the same kind, (rows, m) float32; what lies outside the range becomes 0 or 1."""
        y = _table(y, rows)
        if y.shape[1] != len(self.offset) or np.isnan(y).any():
            raise ValueError(f"expected {len(self.offset)} labels in every row, got shape {y.shape}, or NaN among them")
        return np.clip((y - self.offset) * self.factor, 0, 1).astype(np.float32)


@dataclass(frozen=True)
class Labels:
    """u (n, m) float32 between 0 and 1, 0.5 in rows that do not show theirs; `labelled` (n,) booleans; their scale."""

    u: np.ndarray
    labelled: np.ndarray
    scale: LabelScale


def prepare_labels(y: Any, rows: int, labelled: np.ndarray | None = None, scale: LabelScale | None = None) -> Labels:
    """Labels of any range, (n,) or (n, m), scaled by the rows that show them, or by the `scale` of a model that goes
    on; a row with a NaN shows none.

    ValueError when they are not numbers, not `rows` many, all missing, constant, or more than there are labelled rows.
    """
    y = _table(y, rows)
    shown = ~np.isnan(y).any(1)
    if labelled is not None:
        shown &= np.asarray(labelled, bool)
    if not shown.any():
        raise ValueError("no row shows its labels: the method needs some")
    if scale is not None:
        u = np.full(y.shape, 0.5, np.float32)
        u[shown] = scale.of(y[shown], int(shown.sum()))
        return Labels(u, shown, scale)
    if y.shape[1] >= shown.sum():
        raise ValueError(f"{y.shape[1]} labels a row are too many for {shown.sum()} labelled rows; choose fewer")
    low, high = y[shown].min(0), y[shown].max(0)
    if (low == high).any():
        constant = int(np.argmax(low == high))
        raise ValueError(
            f"label {constant} is constant ({low[constant]:g} in every labelled row): it says nothing, leave it out"
        )
    margin = np.array([0.5 / min(len(np.unique(column)), MOST_VALUES) for column in y[shown].T])
    factor = (1 - 2 * margin) / (high - low)
    offset = low - margin / factor
    u = np.where(shown[:, None], (y - offset) * factor, 0.5)
    return Labels(u.astype(np.float32), shown, LabelScale(tuple(offset.tolist()), tuple(factor.tolist())))


def required_labels(
    recipe: Recipe,
    method: str,
    y: Any,
    rows: int,
    labelled: np.ndarray | None = None,
    scale: LabelScale | None = None,
) -> Labels | None:
    """The labels that the method needs; None when it needs none. ValueError, in one line, when they are not there."""
    if recipe.labels == "none":
        return None
    if y is None:
        raise ValueError(
            f"{method} learns from labels: it requires y to be passed, but the target y is None "
            "(for a study: data with labels or factors)"
        )
    labels = prepare_labels(y, rows, labelled, scale)
    if recipe.labels == "all" and not labels.labelled.all():
        raise ValueError(
            f"{method} needs labels in every row, and {rows - labels.labelled.sum()} of {rows} rows have none; "
            f"use ss_{method}"
        )
    return labels


def _table(y: Any, rows: int) -> np.ndarray:
    """(rows, m) float64, NaN where a label is missing."""
    try:
        y = np.asarray(y, np.float64)
    except (TypeError, ValueError):
        raise ValueError("labels must be numbers, NaN where a row has none") from None
    y = y[:, None] if y.ndim == 1 else y
    if y.ndim != 2 or y.shape[1] == 0:
        raise ValueError(f"labels must be (n,) or (n, m) numbers, got shape {y.shape}")
    if len(y) != rows:
        raise ValueError(f"there are labels for {len(y)} rows, but {rows} observations")
    if np.isinf(y).any():
        raise ValueError("labels hold infinite values; rows without labels are NaN")
    return y
