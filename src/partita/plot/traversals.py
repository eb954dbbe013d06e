"""What each latent does to an observation."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from partita.plot._images import as_rgb, image_grid
from partita.plot._opened import Opened, opened
from partita.plot._panels import name_features, panels
from partita.plot._style import VALUE_MAP, readable, styled

STEPS = np.linspace(-2, 2, 9)
LINES_UP_TO = 200  # features; of more the lines are thinner


@styled
def traversals(
    model: Any, X: Any, *, latents: Sequence[int] | None = None, covariates: Any = None, ax: Axes | None = None
) -> Figure:
    """One latent at a time goes from -2 to 2 standard deviations of the prior, and the result is decoded.

    Of images a row a latent, all others as in the observation whose code is nearest to 0; groups stand apart. Of
    vectors a panel a latent, all others at 0. The KL beside each latent says how much it carries: near 0 nats, nothing.

    Parameters
    ----------
    model : a fitted `Disentangler`, or `(store, run)` of a study.
    X : rows to look at it with: an array like that it was fitted on, or a data set.
    latents : which; all of them, group by group, where nothing is said.
    covariates : of the rows, as in `fit`, where the estimator was fitted with some.
    ax : to draw into: any images, or vectors with one latent.

    Returns
    -------
    Figure

    Examples
    --------
    >>> import partita as pt
    >>> data = pt.data.load("groups", size=80)
    >>> model = pt.Disentangler("pca", latents=2).fit(data.x)
    >>> len(traversals(model, data.x).axes)  # two panels, each with its colour bar
    4
    """
    seen = opened(model, X, covariates=covariates)
    order = [k for group in seen.groups for k in group] if latents is None else [int(k) for k in latents]
    if not set(order) <= set(range(seen.latents)):
        raise ValueError(f"there are no latents {order}: they are 0 to {seen.latents - 1}")
    if seen.is_image:
        return _rows_of_images(seen, order, latents is None, ax)
    figure, axes = panels(len(order), (3.6, 2.2), ax, "latent")
    for k, panel in zip(order, axes):
        _curves(seen, k, panel)
    return figure


def decoded_along(seen: Opened, latent: int, base: np.ndarray) -> np.ndarray:
    """Decoded observations while one latent takes the values STEPS and all others are as in `base`."""
    z = np.tile(base.astype(np.float32), (len(STEPS), 1))
    z[:, latent] = STEPS
    return seen.decode(z)


def _rows_of_images(seen: Opened, order: Sequence[int], everything: bool, ax: Axes | None) -> Figure:
    base = seen.means[seen.typical]
    tiles = np.stack([as_rgb(decoded_along(seen, k, base), *seen.span) for k in order])
    ends = np.cumsum([len(group) for group in seen.groups])[:-1].tolist()
    apart = everything and any(len(group) > 1 for group in seen.groups)
    return image_grid(
        tiles, [f"z{k}  {readable(float(seen.used[k]))}" for k in order], in_signs(STEPS),
        xlabel="value of the latent, in standard deviations of the prior", ylabel="latent and its KL, nats",
        breaks=set(ends) if apart else (), ax=ax,
    )  # fmt: skip


def _curves(seen: Opened, latent: int, panel: Axes) -> None:
    decoded = decoded_along(seen, latent, np.zeros(seen.latents))
    norm, features = Normalize(-2, 2), np.arange(decoded.shape[1])
    width = 1.0 if len(features) <= LINES_UP_TO else 0.4
    for value, curve in zip(STEPS, decoded):
        mark = "." if len(features) == 1 else None
        panel.plot(features, curve, color=colormaps[VALUE_MAP](norm(value)), linewidth=width, marker=mark)
    panel.set(ylabel="decoded (data units)", title=f"z{latent}, KL {readable(float(seen.used[latent]))} nats")
    name_features(panel, len(features), seen.feature_names, seen.features_are)
    bar = ScalarMappable(norm, VALUE_MAP)
    panel.figure.colorbar(bar, ax=panel, label=f"value of z{latent}", ticks=[-2, 0, 2], aspect=18)


def in_signs(steps: np.ndarray) -> list[str]:
    return [f"{value:g}".replace("-", "−") for value in steps]
