"""Learned groups beside true ones: alignment matrices and aligned latents."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from partita.data import Dataset
from partita.plot._style import ANGLE_MAP, FAINT, INK, VALUE_MAP, plain, styled


def truth_names(dataset: Dataset) -> list[str]:
    """Names of the true latents: that of a factor where the latent rises with it, else t0, t1, ..."""
    assert dataset.truth is not None
    count = dataset.truth.shape[1]
    if dataset.factors is None or dataset.factors.shape[1] != count:
        return [f"t{k}" for k in range(count)]
    names = []
    for k, name in enumerate(dataset.factor_names):
        order = np.lexsort((dataset.truth[:, k], dataset.factors[:, k]))
        rises = (np.diff(dataset.truth[order, k]) >= 0).all()
        names.append(plain(name, 18) if rises else f"t{k}")
    return names


def truth_partition(dataset: Dataset) -> tuple[tuple[int, ...], ...]:
    assert dataset.truth is not None
    return dataset.truth_groups or tuple((k,) for k in range(dataset.truth.shape[1]))


@styled
def alignment_matrix(
    matrix: np.ndarray,
    assignment: Sequence[int],
    true_names: Sequence[str],
    learned_names: Sequence[str],
    title: str = "",
) -> Figure:
    """R² of each true group (row) from each learned group (column); the matched cells are framed.

    Parameters
    ----------
    matrix : array (true groups, learned groups)
        R², from 0 to 1.
    assignment : sequence of int
        The learned group of each true one; -1 where none is left for it.
    true_names, learned_names : sequence of str
        Names of rows and of columns.
    title : str
        Above the matrix.

    Returns
    -------
    Figure
        With the matrix and its colour bar.

    Examples
    --------
    >>> figure = alignment_matrix(np.array([[0.9, 0.1], [0.2, 0.8]]), [0, 1], ["size", "place"], ["z0", "z1"])
    >>> len(figure.axes), len(figure.axes[0].patches)
    (2, 2)
    """
    return heat_map(
        matrix, true_names, learned_names,
        framed=[(a, b) for a, b in enumerate(assignment) if b >= 0],
        xlabel="learned group", ylabel="true group", scale="R², linear", title=title, limits=(0.0, 1.0),
    )  # fmt: skip


@styled
def heat_map(
    matrix: np.ndarray,
    row_names: Sequence[str],
    column_names: Sequence[str],
    *,
    xlabel: str,
    ylabel: str,
    scale: str,
    title: str = "",
    framed: Sequence[tuple[int, int]] = (),
    limits: tuple[float, float] | None = None,
) -> Figure:
    """A small matrix with its numbers written in, and some cells framed."""
    matrix = np.asarray(matrix, float)
    rows, columns = matrix.shape
    cell = 0.55 if max(rows, columns) <= 6 else 0.42
    beside, below = (max((len(name) for name in names), default=0) for names in (row_names, column_names))
    turned = below > 7
    low, high = limits or (0.0, max(float(np.nanmax(matrix)), 1e-9))
    figure = Figure(
        figsize=(cell * columns + 1.55 + 0.07 * beside, cell * rows + 0.95 + (0.06 * below if turned else 0))
    )
    axes = figure.add_subplot()
    image = axes.imshow(matrix, cmap=VALUE_MAP, vmin=low, vmax=high, aspect="equal")
    for (r, c), value in np.ndenumerate(matrix):
        dark = np.clip((value - low) / (high - low), 0, 1) < 0.55
        text = f"{value:.2f}".replace("-", "−")
        axes.text(c, r, text, ha="center", va="center", fontsize=8, color="white" if dark else "black")
    for r, c in framed:
        axes.add_patch(Rectangle((c - 0.46, r - 0.46), 0.92, 0.92, fill=False, edgecolor="#D55E00", linewidth=2.2))
    axes.set_xticks(range(columns), column_names, rotation=40 if turned else 0, ha="right" if turned else "center")
    axes.set_yticks(range(rows), row_names)
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.set(xlabel=xlabel, ylabel=ylabel)
    axes.set_title(plain(title, 34), loc="left")
    figure.colorbar(image, ax=axes, label=scale, shrink=0.9, aspect=14).outline.set_visible(False)  # type: ignore
    return figure


def recovered(codes: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """`truth` as predicted from `codes` by least squares with an intercept."""
    design = np.concatenate([codes, np.ones((len(codes), 1))], 1).astype(np.float64)
    return design @ np.linalg.lstsq(design, truth, rcond=None)[0]


@styled
def aligned_plane(truth: np.ndarray, found: np.ndarray | None, names: Sequence[str], title: str = "") -> Figure:
    """A true group of two or more beside what its learned group says of it, coloured by the angle of the truth.

    The first two coordinates are drawn. A point has one colour in both panels.

    Parameters
    ----------
    truth : array (n, h)
        The true group, of two latents or more.
    found : array (n, h) or None
        What the learned group says of it (`recovered`); None where no learned group is left for it.
    names : sequence of str
        Of the first two true latents.
    title : str
        Above both panels.

    Returns
    -------
    Figure
        With two panels and their colour bar.

    Examples
    --------
    >>> truth = np.random.default_rng(0).normal(size=(20, 2))
    >>> len(aligned_plane(truth, recovered(2 * truth, truth), ["x", "y"]).axes)
    3
    """
    figure = Figure(figsize=(4.9, 2.6))
    left, right = figure.subplots(1, 2, sharex=True, sharey=True)
    centred = truth[:, :2] - truth[:, :2].mean(0)
    angle = np.degrees(np.arctan2(centred[:, 1], centred[:, 0]))
    for axes, points, heading in ((left, truth, "truth"), (right, found, "recovered")):
        if points is None:
            axes.text(0.5, 0.5, "no learned group left for it", ha="center", color=FAINT, transform=axes.transAxes)
        else:
            axes.scatter(
                points[:, 0],
                points[:, 1],
                c=angle,
                cmap=ANGLE_MAP,
                vmin=-180,
                vmax=180,
                s=_size(len(points)),
                linewidths=0,
            )
        axes.set(xlabel=names[0], title=heading)
        axes.set_box_aspect(1)
        axes.tick_params(labelleft=True)
    left.set_ylabel(names[1])
    right.set_ylabel(names[1])
    figure.colorbar(
        ScalarMappable(Normalize(-180, 180), ANGLE_MAP),
        ax=[left, right],
        label="angle of the truth, degrees",
        ticks=[-180, -90, 0, 90, 180],
        aspect=22,
    )
    if title:
        figure.suptitle(title, x=0.01, ha="left", fontsize=9.5)
    return figure


@styled
def aligned_line(
    truth: np.ndarray, found: np.ndarray | None, name: str, other: np.ndarray | None, other_name: str, title: str = ""
) -> Figure:
    """A single true latent: recovered value against true value, with the diagonal.

    Parameters
    ----------
    truth : array (n,)
        The true latent.
    found : array (n,) or None
        What the learned group says of it (`recovered`); None where no learned group is left for it.
    name : str
        Of the true latent.
    other : array (n,) or None
        A latent of another true group. It colours the points: bands of colour show that it leaks in.
    other_name : str
        Its name, for the colour bar.
    title : str
        Above the panel.

    Returns
    -------
    Figure
        With one panel, and a colour bar where there is `other`.

    Examples
    --------
    >>> truth = np.linspace(0, 1, 20)
    >>> len(aligned_line(truth, truth**2, "x", truth[::-1], "y").axes)
    2
    """
    figure = Figure(figsize=(4.4 if other is not None else 3.6, 3.0))
    axes = figure.add_subplot()
    low, high = float(truth.min()), float(truth.max())
    axes.plot([low, high], [low, high], color=FAINT, linewidth=0.8, linestyle="dashed")
    if found is None:
        axes.text(0.5, 0.5, "no learned group left for it", ha="center", color=FAINT, transform=axes.transAxes)
    else:
        shown = truth + _jitter(truth)
        look: dict[str, Any] = {"color": INK, "alpha": 0.6}
        if other is not None:
            low, high = np.quantile(other, [0.02, 0.98])  # a few far points must not use up the colours
            look = {"c": other, "cmap": VALUE_MAP, "vmin": low, "vmax": high}
        dots = axes.scatter(shown, found, s=_size(len(truth)), linewidths=0, **look)
        if other is not None:
            figure.colorbar(dots, ax=axes, label=f"true {other_name}", aspect=22, extend="both")
    axes.set(xlabel=f"true {name}", ylabel=f"recovered {name}")
    axes.set_title(title, loc="left")
    return figure


def _size(points: int) -> float:
    return float(np.clip(6000 / max(points, 1), 4, 14))


def _jitter(values: np.ndarray) -> np.ndarray:
    """Spreads points sideways where the truth takes few values, so that they do not hide each other."""
    levels = np.unique(values)
    if len(levels) > 40 or len(levels) < 2:
        return np.zeros(len(values))
    return np.random.default_rng(0).uniform(-0.2, 0.2, len(values)) * float(np.diff(levels).min())
