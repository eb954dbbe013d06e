"""Contact sheets of vectors: true latents by group, or a movie's pixels, or components; always some rows."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from partita.data import Dataset
from partita.data._some_rows import some_rows
from partita.plot._style import CHANGE_MAP, COLOURS, FAINT, VALUE_MAP, plain, styled

POINTS_SHOWN = 2000
ROWS_SHOWN = 40
GROUPS_SHOWN = 8


@styled
def vector_sheet(dataset: Dataset) -> Figure:
    """Panels of what is known of the rows, then a panel of some rows themselves."""
    rows = some_rows(dataset.size, POINTS_SHOWN)
    draw = _truth if dataset.truth is not None else _map if dataset.places is not None else _components
    groups = _groups(dataset)
    panels = {_truth: len(groups), _map: 2, _components: 1}[draw] + 1
    columns = min(panels, 4)
    lines = -(-panels // columns)
    figure = Figure(figsize=(3.1 * columns + 0.4, 2.9 * lines + 0.4))
    title = f"{plain(dataset.name)}: {dataset.size:,} x {dataset.shape[0]:,} numbers"
    figure.suptitle(title, x=0.02, ha="left", fontsize=10)
    axes = [figure.add_subplot(lines, columns, number + 1) for number in range(panels)]
    draw(dataset, rows, groups, axes[:-1])
    _rows(dataset, axes[-1])
    return figure


def _truth(dataset: Dataset, rows: np.ndarray, groups: Sequence[Sequence[int]], axes: Sequence[Axes]) -> None:
    """A scatter of the first two true latents of a group, a histogram of a group of one."""
    assert dataset.truth is not None
    truth = dataset.truth[rows]
    for number, (group, panel) in enumerate(zip(groups, axes)):
        colour = COLOURS[number % len(COLOURS)]
        if len(group) == 1:
            panel.hist(truth[:, group[0]], bins=40, color=colour)
            panel.set(xlabel=f"true latent {group[0]}", ylabel="rows", title=f"group {number}")
            continue
        panel.plot(*truth[:, group[:2]].T, ".", color=colour, markersize=2)
        panel.set_aspect("equal")
        more = f" (2 of {len(group)} latents)" if len(group) > 2 else ""
        labels = {"xlabel": f"true latent {group[0]}", "ylabel": f"true latent {group[1]}"}
        panel.set(title=f"group {number}{more}", **labels)


def _map(dataset: Dataset, rows: np.ndarray, groups, axes: Sequence[Axes]) -> None:
    """Where a movie changes, and when."""
    assert dataset.factors is not None
    courses = dataset.observations()
    field = np.full(dataset.factor_sizes, np.nan)
    field[tuple(dataset.factors.T)] = courses.std(1)
    picture = axes[0].imshow(field, cmap=VALUE_MAP, interpolation="nearest")
    axes[0].set(xlabel="column", ylabel="row", title="standard deviation over time")
    axes[0].figure.colorbar(picture, ax=axes[0], shrink=0.75)
    frames = np.arange(courses.shape[1])
    low, middle, high = np.quantile(courses, (0.1, 0.5, 0.9), axis=0)
    axes[1].fill_between(frames, low, high, color=COLOURS[0], alpha=0.25, linewidth=0, label="10 to 90 % of the pixels")
    axes[1].plot(frames, middle, color=COLOURS[0], linewidth=0.8, label="median pixel")
    axes[1].legend(fontsize=7, loc="lower right", bbox_to_anchor=(1.0, 1.0), borderaxespad=0.1)
    axes[1].set(xlabel="frame", ylabel="value (data units)")


def _components(dataset: Dataset, rows: np.ndarray, groups, axes: Sequence[Axes]) -> None:
    """The first two principal components, coloured by the first factor or label where there is one."""
    x = dataset.observations(rows).astype(np.float64)
    centred = x - x.mean(0)
    _, values, directions = np.linalg.svd(centred, full_matrices=False)
    share = values**2 / max(float((values**2).sum()), 1e-300)
    places = centred @ directions[:2].T
    colour, name = _colour(dataset, rows)
    if places.shape[1] == 1:
        axes[0].hist(x[:, 0], bins=40, color=COLOURS[0])
        axes[0].set(xlabel="feature 0", ylabel="rows")
        return
    drawn = axes[0].scatter(*places.T, c=colour, s=4, cmap=VALUE_MAP if name else None, linewidths=0)
    if name:
        axes[0].figure.colorbar(drawn, ax=axes[0], label=plain(name), shrink=0.75)
    labels = [f"component {k} ({share[k]:.0%} of the variance)" for k in (0, 1)]
    axes[0].set(xlabel=labels[0], ylabel=labels[1], title="principal components")


def _colour(dataset: Dataset, rows: np.ndarray) -> tuple[np.ndarray | str, str]:
    if dataset.factors is not None:
        return dataset.factors[rows, 0], dataset.factor_names[0]
    if dataset.labels is not None:
        return dataset.labels[rows, 0], "label 0"
    return COLOURS[0], ""


def _rows(dataset: Dataset, panel: Axes) -> None:
    """Some rows as a picture: features on one axis, rows on the other."""
    chosen = np.linspace(0, dataset.size - 1, min(ROWS_SHOWN, dataset.size)).astype(int)
    x = dataset.observations(chosen)
    most = max(float(np.abs(x).max()), 1e-12)
    span: dict[str, Any] = {"cmap": CHANGE_MAP, "vmin": -most, "vmax": most} if x.min() < 0 else {"cmap": VALUE_MAP}
    picture = panel.imshow(x, aspect="auto", interpolation="nearest", **span)
    ticks = np.linspace(0, len(chosen) - 1, min(5, len(chosen))).astype(int)
    panel.set_yticks(ticks, [f"{chosen[tick]:,}" for tick in ticks])
    panel.locator_params(axis="x", integer=True, nbins=5)
    movie = "frame" if dataset.places is not None else "feature (index)"
    panel.set(xlabel=movie, ylabel="row of the data set", title="some rows")
    panel.spines[:].set_edgecolor(FAINT)
    panel.figure.colorbar(picture, ax=panel, label="value", shrink=0.75)


def _groups(dataset: Dataset) -> list[tuple[int, ...]]:
    if dataset.truth is None:
        return []
    own = dataset.truth_groups or tuple((k,) for k in range(dataset.truth.shape[1]))
    return list(own[:GROUPS_SHOWN])
