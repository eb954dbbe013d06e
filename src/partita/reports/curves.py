"""Numbers over training and over seeds, as pictures."""

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from partita.measures.quantities import in_order
from partita.metrics import Score
from partita.plot._style import COLOURS, DASHES, FAINT, INK, plain, styled
from partita.plot.history import Curve, draw_quantity
from partita.reports.study import Setting


def quantities_of(settings: Sequence[Setting]) -> list[str]:
    """Every logged quantity of any run, the well-known ones first."""
    return in_order({name for setting in settings for record in setting.records for name in record.history} - {"step"})


def line_style(position: int) -> tuple[str, str]:
    """Colour and dash of the setting at this position."""
    return COLOURS[position % len(COLOURS)], DASHES[position // len(COLOURS) % len(DASHES)]


@styled
def learning_curve(settings: Sequence[Setting], quantity: str) -> Figure:
    """One quantity over training: a thin line a run, a colour a setting, a cross where a run diverged.

    The vertical axis spans what comes after the first fifth of the log points, so that the first fall of the loss does
    not flatten everything after it.

    Parameters
    ----------
    settings : sequence of Setting
        As `settings_of` gives them.
    quantity : str
        Of those that were logged: "loss", say.

    Returns
    -------
    Figure
        With one pair of axes.

    Examples
    --------
    >>> from partita.reports.study import Record
    >>> from partita.studies.run import Run
    >>> run = Run("beta_vae", {}, {}, {}, steps=20, batch_size=2, learning_rate=0.001, seed=0)
    >>> history = {"step": np.array([0, 10, 20]), "loss": np.array([9.0, 5.0, 4.0])}
    >>> setting = Setting("beta_vae", (Record(run, "finished", "", history, None),))
    >>> len(learning_curve([setting], "loss").axes[0].lines)
    1
    """
    figure = Figure(figsize=(3.8, 2.6))
    axes = figure.add_subplot()
    curves = [
        Curve(record.history, *line_style(position), record.status == "diverged")
        for position, setting in enumerate(settings)
        for record in setting.records
    ]
    draw_quantity(curves, quantity, axes)
    return figure


@styled
def seed_strip(
    rows: Sequence[tuple[str, Sequence[float], Score | None]], label: str, colours: Sequence[str] | None = None
) -> Figure:
    """Every run as a dot, a row a setting; the bar is the mean with its bootstrap interval over seeds.

    Parameters
    ----------
    rows : sequence of (str, sequence of float, Score or None)
        Of each setting its name, a value a run, and their summary by `over_runs`.
    label : str
        What the values are, for the horizontal axis.
    colours : sequence of str, optional
        One a row; else those of `line_style`.

    Returns
    -------
    Figure
        With one pair of axes.

    Examples
    --------
    >>> from partita.metrics import over_runs
    >>> values = [0.5, 0.6, 0.7]
    >>> figure = seed_strip([("beta_vae", values, over_runs(values))], "MIG")
    >>> figure.axes[0].get_xlabel()
    'MIG'
    """
    colours = colours or [line_style(position)[0] for position in range(len(rows))]
    figure = Figure(figsize=(4.7, 0.75 + 0.3 * max(len(rows), 2)))
    axes = figure.add_subplot()
    for position, ((_, values, summary), colour) in enumerate(zip(rows, colours)):
        spread = np.linspace(-0.12, 0.12, len(values)) if len(values) > 1 else np.zeros(len(values))
        axes.plot(values, position + spread, "o", color=colour, markersize=4, alpha=0.65, markeredgewidth=0)
        if summary is None or summary.n < 2:
            continue
        axes.plot([summary.value] * 2, [position - 0.3, position + 0.3], color=INK, linewidth=1.6)
        if summary.interval is not None:
            axes.plot(summary.interval, [position] * 2, color=INK, linewidth=0.9)
    axes.set_yticks(range(len(rows)), [plain(name, 30) for name, _, _ in rows])
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", color=FAINT, alpha=0.25, linewidth=0.6)
    axes.set(xlabel=label, ylabel="setting")
    axes.locator_params(axis="x", nbins=5)
    return figure
