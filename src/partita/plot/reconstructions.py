"""What a model keeps of an observation."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from partita.data._some_rows import some_rows
from partita.plot._images import as_rgb, image_grid
from partita.plot._opened import Opened, opened
from partita.plot._panels import name_features, panels
from partita.plot._style import COLOURS, INK, styled

IMAGES_SHOWN = 8
VECTORS_SHOWN = 6
MARKERS_UP_TO = 60  # features; beyond that a line is clearer than dots


@styled
def reconstructions(
    model: Any, X: Any, *, rows: Sequence[int] | None = None, covariates: Any = None, ax: Axes | None = None
) -> Figure:
    """Observations, and the same decoded from the means of their posteriors. What is missing the latents do not carry.

    Parameters
    ----------
    model : a fitted `Disentangler`, or `(store, run)` of a study.
    X : rows to look at it with: an array like that it was fitted on, or a data set.
    rows : which; some drawn at random, the same every time, where nothing is said.
    covariates : of the rows, as in `fit`, where the estimator was fitted with some.
    ax : to draw into: any images, or one vector.

    Returns
    -------
    Figure

    Examples
    --------
    >>> import partita as pt
    >>> data = pt.data.load("groups", size=80)
    >>> model = pt.Disentangler("pca", latents=2).fit(data.x)
    >>> [line.get_label() for line in reconstructions(model, data.x, rows=[3]).axes[0].lines]
    ['original', 'decoded']
    """
    seen = opened(model, X, covariates=covariates)
    shown = rows_shown(seen) if rows is None else np.asarray(rows, int)
    originals, decoded = seen.observed(shown), seen.reconstructed(shown)
    if seen.is_image:
        tiles = np.stack([as_rgb(originals, *seen.span), as_rgb(decoded, *seen.span)])
        names = [str(row) for row in shown]
        label = "observation (row of the data set)"
        return image_grid(tiles, ["original", "decoded"], names, xlabel=label, ylabel="image", ax=ax)
    figure, axes = panels(len(shown), (3.4, 2.1), ax, "row")
    for panel, row, x, y in zip(axes, shown, originals, decoded):
        _panel(seen, panel, int(row), x, y)
    return figure


def rows_shown(seen: Opened) -> np.ndarray:
    return some_rows(len(seen.x), IMAGES_SHOWN if seen.is_image else VECTORS_SHOWN)


def _panel(seen: Opened, panel: Axes, row: int, original: np.ndarray, decoded: np.ndarray) -> None:
    features = np.arange(len(original))
    dots = "o" if len(features) <= MARKERS_UP_TO else "-"
    panel.plot(features, original, dots, color=INK, markersize=3.5, linewidth=0.5, label="original")
    mark = "." if len(features) == 1 else None
    panel.plot(features, decoded, color=COLOURS[1], linewidth=1.2, marker=mark, label="decoded")
    title = f"row {row}" if seen.places is None else "pixel {}, {}".format(*seen.places[row])
    panel.set(ylabel="value (data units)", title=title)
    name_features(panel, len(features), seen.feature_names, seen.features_are)
    look: dict[str, Any] = {"ncols": 2, "borderaxespad": 0.1, "columnspacing": 1.0}
    panel.legend(fontsize=7, loc="lower right", bbox_to_anchor=(1.0, 1.0), **look)
