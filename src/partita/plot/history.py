"""Numbers over training."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from partita.estimator import Disentangler
from partita.measures.quantities import in_order, quantity
from partita.plot._opened import store_and_run
from partita.plot._panels import panels
from partita.plot._style import COLOURS, plain, styled


@dataclass(frozen=True)
class Curve:
    """What one run logged, and how its line looks."""

    history: Mapping[str, np.ndarray]
    colour: str = COLOURS[0]
    dash: str = "solid"
    diverged: bool = False


@styled
def history(model: Any, X: Any = None, *, quantities: Sequence[str] | None = None, ax: Axes | None = None) -> Figure:
    """Every logged quantity over training, a panel each; each point is the mean over the steps since the last.

    The vertical axis spans what comes after the first fifth of the log points, so that the first fall of the loss does
    not flatten everything after it. A cross ends a run that diverged.

    Parameters
    ----------
    model : a fitted `Disentangler`, or `(store, run)` of a study.
    X : not looked at.
    quantities : which, such as `["loss", "pc"]`; all of them where nothing is said.
    ax : to draw into, where there is one quantity.

    Returns
    -------
    Figure

    Examples
    --------
    >>> import partita as pt
    >>> model = pt.Disentangler("vae", latents=2, steps=20, network="linear").fit(pt.data.load("groups", size=80).x)
    >>> [axes.get_title(loc="left") for axes in history(model).axes][:1]
    ['objective (loss)']
    """
    curve = _curve(model)
    named = in_order(set(curve.history) - {"step"}) if quantities is None else list(quantities)
    for name in named:
        if name not in curve.history:
            raise ValueError(f"{name} was not logged; there are {', '.join(in_order(set(curve.history) - {'step'}))}")
    if not named:
        raise ValueError("nothing was logged: this method takes no steps")
    figure, axes = panels(len(named), (3.8, 2.6), ax, "quantity")
    for name, panel in zip(named, axes):
        draw_quantity([curve], name, panel)
    return figure


def _curve(model: Any) -> Curve:
    if isinstance(model, Disentangler):
        return Curve(model.history_)
    store, run = store_and_run(model)
    return Curve(store.history(run), diverged=(store.result(run) or {}).get("status") == "diverged")


def draw_quantity(curves: Sequence[Curve], name: str, axes: Axes) -> None:
    """One quantity of several runs, a line each."""
    late: list[np.ndarray] = []
    ends: list[tuple[float, float, str]] = []
    for curve in curves:
        values = np.asarray(curve.history.get(name, ()), float)
        logged = ~np.isnan(values)  # scores are logged now and then
        if not logged.any():
            continue
        steps, values = np.asarray(curve.history["step"])[logged], values[logged]
        axes.plot(steps, values, color=curve.colour, linestyle=curve.dash, linewidth=0.9, alpha=0.85)
        if len(values) == 1:
            axes.plot(steps, values, ".", color=curve.colour)
        known = np.flatnonzero(np.isfinite(values))
        late.append(values[max(1, len(values) // 5) if len(values) > 2 else 0 :])
        if curve.diverged and len(known):
            ends.append((float(steps[known[-1]]), float(values[known[-1]]), curve.colour))
    _fit(axes, late)
    for step, value, colour in ends:  # one that left the frame is marked where it left
        axes.plot(step, np.clip(value, *axes.get_ylim()), "x", color=colour, markersize=6, clip_on=False)
    row = quantity(name)
    axes.set(title=plain(row.label, 44), xlabel="training step", ylabel=row.unit)
    axes.locator_params(axis="x", nbins=5)


def _fit(axes: Axes, late: Sequence[np.ndarray]) -> None:
    values = np.concatenate(late) if late else np.array([])
    values = values[np.isfinite(values)]
    if len(values) == 0:
        return
    low, high = float(values.min()), float(values.max())
    if high / max(abs(low), 1e-9) > 1e4:  # a run on its way to infinity: the others set the frame
        high = float(np.quantile(values, 0.75))
    margin = 0.06 * (high - low) or 0.05 * max(abs(high), 1.0)
    axes.set_ylim(low - margin, high + margin)
