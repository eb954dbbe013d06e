"""Which features each latent moves."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from partita.plot._opened import Opened, opened
from partita.plot._panels import figure_of, panels
from partita.plot._style import CHANGE_MAP, FAINT, Drawing, plain, styled

FEATURES_NAMED = 40


@styled
def loadings(
    model: Any, X: Any, *, latents: Sequence[int] | None = None, covariates: Any = None, ax: Axes | None = None
) -> Figure:
    """How each feature changes with each latent (`Disentangler.loadings`), the latents in the order of their groups.

    Red rises with the latent, blue falls. It is exact where the decoder is linear, else an average over codes of X. Of
    vectors one picture, features downwards; of images one a latent.

    Parameters
    ----------
    model : a fitted `Disentangler`, or `(store, run)` of a study.
    X : rows to look at it with: an array like that it was fitted on, or a data set.
    latents : which; all of them, group by group, where nothing is said.
    covariates : of the rows, as in `fit`, where the estimator was fitted with some.
    ax : to draw into: any vectors, or images with one latent.

    Returns
    -------
    Figure

    Examples
    --------
    >>> import numpy as np
    >>> import partita as pt
    >>> data = pt.data.load("groups", size=80)
    >>> model = pt.Disentangler("pca", latents=2).fit(data.x)
    >>> drawn = loadings(model, data.x).axes[0].images[0].get_array()
    >>> np.allclose(drawn, model.loadings())
    True
    """
    seen = opened(model, X, covariates=covariates)
    order = [k for group in seen.groups for k in group] if latents is None else [int(k) for k in latents]
    found = seen.loadings[:, order]
    most = max(float(np.abs(found).max()), 1e-12)
    look = {"cmap": CHANGE_MAP, "vmin": -most, "vmax": most, "interpolation": "nearest"}
    if not seen.is_image:
        return _matrix(seen, order, found, look, latents is None, ax)
    figure, axes = panels(len(order), (1.9, 1.9), ax, "latent", columns=4)
    for panel, k, column in zip(axes, order, found.T):
        picture = panel.imshow(column.reshape(seen.shape).mean(0), **look)
        panel.set(title=f"z{k}", xlabel="column", ylabel="row", xticks=[], yticks=[])
    figure.colorbar(picture, ax=axes, label="change (data units)", shrink=0.8)
    return figure


def _matrix(seen: Opened, order: Sequence[int], found: np.ndarray, look: dict, whole: bool, ax: Axes | None) -> Figure:
    features = len(found)
    if ax is None:
        height = float(np.clip(0.16 * features, 2.4, 6.4))
        ax = Drawing(figsize=(0.34 * len(order) + 2.2, height + 0.6)).add_subplot()
    picture = ax.imshow(found, aspect="auto", **look)
    ax.set_xticks(range(len(order)), [f"z{k}" for k in order], rotation=90 if len(order) > 12 else 0)
    if seen.feature_names and features <= FEATURES_NAMED:
        ax.set_yticks(range(features), [plain(name, 16) for name in seen.feature_names], fontsize=7)
    else:
        ax.locator_params(axis="y", integer=True)
    if whole:
        for end in np.cumsum([len(group) for group in seen.groups])[:-1]:
            ax.axvline(end - 0.5, color=FAINT, linewidth=0.8)
    ax.set(xlabel="latent", ylabel="feature" if seen.feature_names else seen.features_are)
    ax.figure.colorbar(picture, ax=ax, label="change for 1 of the latent (data units)")
    return figure_of(ax)
