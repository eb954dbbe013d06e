"""Where the rows lie in each group of latents."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from partita.data import Dataset
from partita.plot._opened import Opened, opened, parts_shown
from partita.plot._panels import panels
from partita.plot._style import COLOURS, FAINT, VALUE_MAP, latents_named, plain, styled
from partita.plot.planes import most_used


@styled
def groups(
    model: Any,
    X: Any,
    *,
    colour: Any = None,
    label: str = "",
    groups: Sequence | None = None,
    covariates: Any = None,
    ax: Axes | None = None,
) -> Figure:
    """Posterior means of rows, a panel a group: two latents against each other, of more than two the two most used.

    The dashed circles are 1 and 2 standard deviations of the prior. A ring or clusters, which no rotation unties, are
    dependence inside the group. A group of one latent is drawn against the colour's values, or as a histogram.

    Parameters
    ----------
    model : a fitted `Disentangler`, or `(store, run)` of a study.
    X : rows to look at it with: an array like that it was fitted on, or a data set.
    colour : a value or a word a row of X; of a data set also the name of a factor or column. The row's number where
        nothing is said.
    label : what the colour means.
    groups : which, by their latents, such as `[(0, 3)]`; all where nothing is said.
    covariates : of the rows, as in `fit`, where the estimator was fitted with some.
    ax : to draw into, where there is one group.

    Returns
    -------
    Figure

    Examples
    --------
    >>> import partita as pt
    >>> data = pt.data.load("groups", size=80)
    >>> model = pt.Disentangler("pca", latents=3).fit(data.x)
    >>> figure = groups(model, data.x, colour=data.truth[:, 0], label="t0", groups=[(0, 1), (2,)])
    >>> [axes.get_ylabel() for axes in figure.axes][:2]
    ['mean of z1', 'mean of z2']
    """
    seen = opened(model, X, covariates=covariates)
    shown = parts_shown(groups, seen.groups, seen.latents)
    shade = _shade(seen, X, colour, label)
    figure, axes = panels(len(shown), (4.0, 3.1), ax, "group")
    for group, panel in zip(shown, axes):
        (_line if len(group) == 1 else _plane)(seen, group, shade, panel)
    return figure


@dataclass(frozen=True)
class Shade:
    """A value or class of each row drawn, and what that is."""

    values: np.ndarray
    label: str
    classes: tuple[str, ...] = ()
    given: bool = True


def _shade(seen: Opened, X: Any, colour: Any, label: str) -> Shade:
    if colour is None:
        return Shade(seen.rows, "row of the data set", given=False)
    if isinstance(colour, str):
        label, colour = label or colour, _named(X, colour)
    values = np.asarray(colour)
    if values.shape != (len(seen.x),):
        raise ValueError(f"colour needs a value for each of the {len(seen.x)} rows of X, got shape {values.shape}")
    values, name = values[seen.rows], plain(label or "colour", 40)
    distinct = np.unique(values)
    if values.dtype.kind in "fiu" and (values.dtype.kind == "f" or len(distinct) > len(COLOURS)):
        return Shade(values, name)
    if len(distinct) > len(COLOURS):
        raise ValueError(f"colour has {len(distinct)} words, and {len(COLOURS)} can be told apart: give numbers")
    return Shade(np.searchsorted(distinct, values), name, tuple(plain(each) for each in distinct))


def _named(X: Any, name: str) -> np.ndarray:
    if not isinstance(X, Dataset):
        raise ValueError(f"colour {name!r} is a name, and X an array: give a value for each row")
    if X.factors is not None and name in X.factor_names:
        return X.factors[:, X.factor_names.index(name)]
    if name in X.columns:
        return X.columns[name]
    raise ValueError(f"{X.name} has no factor or column {name!r}; there are {[*X.factor_names, *X.columns]}")


def _plane(seen: Opened, group: Sequence[int], shade: Shade, panel: Axes) -> None:
    first, second = most_used(seen, group)
    turn = np.linspace(0, 2 * np.pi, 200)
    for radius in (1, 2):
        panel.plot(radius * np.cos(turn), radius * np.sin(turn), color=FAINT, linewidth=0.6, linestyle="dashed")
    _scatter(panel, seen.means[:, first], seen.means[:, second], shade)
    panel.set_aspect("equal", "datalim")
    panel.set(xlabel=f"mean of z{first}", ylabel=f"mean of z{second}", title=latents_named(group))


def _line(seen: Opened, group: Sequence[int], shade: Shade, panel: Axes) -> None:
    means = seen.means[:, group[0]]
    panel.set_title(latents_named(group))
    if not shade.given:
        panel.hist(means, bins=40, color=COLOURS[0])
        panel.set(xlabel=f"mean of z{group[0]}", ylabel="rows")
        return
    jitter = np.random.default_rng(0).uniform(-0.25, 0.25, len(means)) if shade.classes else 0.0
    _scatter(panel, shade.values + jitter, means, shade, key=False)  # the axis says it
    if shade.classes:
        panel.set_xticks(range(len(shade.classes)), shade.classes)
    panel.set(xlabel=shade.label, ylabel=f"mean of z{group[0]}")


def _scatter(panel: Axes, x: np.ndarray, y: np.ndarray, shade: Shade, key: bool = True) -> None:
    size = float(np.clip(6000 / max(len(x), 1), 4, 14))
    if not shade.classes:
        dots = panel.scatter(x, y, c=shade.values, cmap=VALUE_MAP, s=size, linewidths=0)
        if key:
            panel.figure.colorbar(dots, ax=panel, label=shade.label, aspect=22)
        return
    for number, name in enumerate(shade.classes):
        own = shade.values == number
        panel.scatter(x[own], y[own], color=COLOURS[number], s=size, linewidths=0, label=name)
    if key:
        panel.legend(title=shade.label, fontsize=7, title_fontsize=7, loc="upper left", bbox_to_anchor=(1.0, 1.0))
