"""What a group does to an observation, over two of its axes."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from partita.plot._images import as_rgb, image_grid
from partita.plot._opened import Opened, opened, parts_shown
from partita.plot._panels import name_features, panels
from partita.plot._style import CHANGE_MAP, latents_named, styled
from partita.plot.traversals import STEPS, in_signs

RADIUS = 1.5
ANGLES = np.arange(0, 360, 10)


@styled
def planes(
    model: Any, X: Any, *, groups: Sequence | None = None, covariates: Any = None, ax: Axes | None = None
) -> Figure:
    """Decoded observations over the plane of each group; of a group of more than two, over its two most used latents.

    Of images a grid, each latent from -2 to 2 standard deviations of the prior, all others as in the observation whose
    code is nearest to 0. Of vectors a walk round the circle of radius 1.5, all others at 0: how each feature differs
    from the centre. What stays white does not depend on the group.

    Parameters
    ----------
    model : a fitted `Disentangler`, or `(store, run)` of a study.
    X : rows to look at it with: an array like that it was fitted on, or a data set.
    groups : which, by their latents, such as `[(0, 3)]`; all of two or more where nothing is said.
    covariates : of the rows, as in `fit`, where the estimator was fitted with some.
    ax : to draw into, where there is one group.

    Returns
    -------
    Figure

    Examples
    --------
    >>> import partita as pt
    >>> data = pt.data.load("groups", size=80)
    >>> model = pt.Disentangler("pca", latents=2).fit(data.x)
    >>> planes(model, data.x, groups=[(0, 1)]).axes[0].get_ylabel()
    'angle in the plane, degrees'
    """
    seen = opened(model, X, covariates=covariates)
    shown = [group for group in parts_shown(groups, seen.groups, seen.latents) if len(group) > 1]
    if not shown:
        raise ValueError("no group has two latents, so there is no plane: plot.traversals shows one latent at a time")
    pairs = [most_used(seen, group) for group in shown]
    if seen.is_image:
        axes = [ax] if len(pairs) == 1 else panels(len(pairs), (4.6, 4.6), ax, "group", 2)[1]
        return [_images(seen, pair, panel) for pair, panel in zip(pairs, axes)][-1]
    figure, axes = panels(len(pairs), (3.9, 2.7), ax, "group")
    for pair, panel in zip(pairs, axes):
        _walk(seen, pair, panel)
    return figure


def most_used(seen: Opened, group: Sequence[int]) -> tuple[int, int]:
    """The two latents of a group with the largest KL, in their order."""
    first, second = sorted(sorted(group, key=lambda k: -seen.used[k])[:2], key=list(group).index)
    return first, second


def _images(seen: Opened, pair: tuple[int, int], ax: Axes | None) -> Figure:
    across, up = np.meshgrid(STEPS, STEPS[::-1])
    z = np.tile(seen.means[seen.typical].astype(np.float32), (across.size, 1))
    z[:, pair[0]], z[:, pair[1]] = across.ravel(), up.ravel()
    tiles = as_rgb(seen.decode(z), *seen.span)
    tiles = tiles.reshape(len(STEPS), len(STEPS), *tiles.shape[1:])
    names = [latents_named([k]) for k in pair]
    return image_grid(tiles, in_signs(STEPS[::-1]), in_signs(STEPS), xlabel=names[0], ylabel=names[1], ax=ax)


def _walk(seen: Opened, pair: tuple[int, int], panel: Axes) -> None:
    turn = np.radians(ANGLES)
    z = np.zeros((len(ANGLES) + 1, seen.latents), np.float32)
    z[1:, pair[0]], z[1:, pair[1]] = RADIUS * np.cos(turn), RADIUS * np.sin(turn)
    decoded = seen.decode(z)
    change = decoded[1:] - decoded[0]
    most = max(float(np.abs(change).max()), 1e-9)
    extent = (-0.5, change.shape[1] - 0.5, -5.0, 355.0)
    look = {"cmap": CHANGE_MAP, "vmin": -most, "vmax": most, "origin": "lower", "interpolation": "nearest"}
    image = panel.imshow(change, aspect="auto", extent=extent, **look)
    panel.set_yticks([0, 90, 180, 270])
    panel.set(ylabel="angle in the plane, degrees", title=f"z{pair[0]} (0°), z{pair[1]} (90°)")
    name_features(panel, change.shape[1], seen.feature_names, seen.features_are)
    panel.figure.colorbar(image, ax=panel, label="change (data units)", aspect=18).outline.set_visible(False)  # type: ignore
