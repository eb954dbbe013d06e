"""Panels side by side, or the one that was handed in."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from partita.plot._style import Drawing, plain

NAMES_UP_TO = 24  # features with their names at the axis


def panels(count: int, size: tuple[float, float], ax: Axes | None, what: str, columns: int = 3) -> tuple:
    """The figure and its axes: `count` of them, `size` inches each, or `ax`."""
    if ax is not None:
        if count != 1:
            raise ValueError(f"ax has room for one {what}, and there are {count}: say which one")
        return figure_of(ax), [ax]
    if count < 1:
        raise ValueError(f"there is no {what} to draw")
    across = min(columns, count)
    down = -(-count // across)
    figure = Drawing(figsize=(size[0] * across, size[1] * down))
    return figure, [figure.add_subplot(down, across, number + 1) for number in range(count)]


def figure_of(ax: Axes) -> Figure:
    figure = ax.figure
    return figure if isinstance(figure, Figure) else figure.figure  # type: ignore[union-attr]  of a part of a figure


def name_features(axes: Axes, count: int, names: Sequence[str], label: str = "feature (index)") -> None:
    """The horizontal axis of features: their names where there are few."""
    if names and count <= NAMES_UP_TO:
        axes.set_xticks(range(count), [plain(name, 14) for name in names], rotation=60, ha="right", fontsize=7)
        axes.set_xlabel("feature")
        return
    axes.set_xlabel(label)
    axes.locator_params(axis="x", integer=True)
