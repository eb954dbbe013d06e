"""Which latents depend on each other, as a tree with its cut."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from partita.distributions import Groups
from partita.plot._opened import opened
from partita.plot._panels import figure_of
from partita.plot._style import COLOURS, FAINT, INK, Drawing, plain, styled
from partita.structure.discovery import Discovery, discover_groups
from partita.structure.merging import Merge


@styled
def dependence(
    model: Any,
    X: Any = None,
    *,
    at: float | None = None,
    time: bool = False,
    covariates: Any = None,
    ax: Axes | None = None,
) -> Figure:
    """The tree of `structure.discover_groups`: latents that share most meet first, each branch at the nats they share.

    What is shared is counted beyond chance, and written at each branch (a branch is never drawn left of those it
    joins). Coloured branches make groups: those that passed the test, or that share at least `at` nats. Grey ones are
    where groups would meet next: the gap between the two says how clear the groups are. The dotted line is what a pair
    of latents shares that nothing singles out.

    Parameters
    ----------
    model : a fitted `Disentangler`, `(store, run)` of a study, or what `discover_groups` found.
    X : rows to encode: an array like that it was fitted on, or a data set.
    at : where to cut, in nats; where the tests say so, where nothing is said.
    time : whether rows follow each other in time.
    covariates : of the rows, as in `fit`, where the estimator was fitted with some.
    ax : to draw into.

    Returns
    -------
    Figure

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> angle = rng.uniform(0, 2 * np.pi, 200)
    >>> codes = np.stack([np.cos(angle), rng.uniform(size=200), np.sin(angle)], 1)
    >>> figure = dependence(discover_groups(codes, unmix=False))
    >>> figure.axes[0].get_title(loc="left")
    '2 groups: (z0 z2) (z1)'
    """
    found = model if isinstance(model, Discovery) else _discovered(model, X, time, covariates)
    cut = found.cut(at)
    letter = "y" if found.unmixed else "z"
    count = len(found.dependence)
    if ax is None:
        ax = Drawing(figsize=(4.6, 0.9 + 0.27 * max(count, 3))).add_subplot()
    order = leaves_in_order(found.tree, count)
    colours = _colours(cut)
    nodes = {(k,): (None, float(place)) for place, k in enumerate(order)}
    most = max((merge.shared for merge in found.tree), default=0.0)
    edge = 1.25 * max(most, at or 0.0, found.background, 1e-3)
    for merge in found.tree:
        _branch(ax, merge, nodes, edge, _colour_of(merge, cut, colours))
    for start, place in nodes.values():
        ax.plot([edge if start is None else start, 0], [place, place], color=FAINT, linewidth=1.0)
    _frame(ax, order, letter, edge, at, found.background)
    names = " ".join("(" + " ".join(f"{letter}{k}" for k in group) + ")" for group in cut)
    ax.set_title(plain(f"{len(cut)} group{'s' if len(cut) != 1 else ''}: {names}", 60), loc="left")
    return figure_of(ax)


def _discovered(model: Any, X: Any, time: bool, covariates: Any) -> Discovery:
    codes = opened(model, X, covariates=covariates).encode(slice(None))[0]
    return discover_groups(codes, unmix=False, time=time)


def leaves_in_order(tree: Sequence[Merge], count: int) -> list[int]:
    """The latents so that no branches cross."""
    parts: dict[frozenset[int], list[int]] = {frozenset([k]): [k] for k in range(count)}
    for merge in tree:
        joined = [parts.pop(frozenset(group)) for group in merge.groups]
        whole = [k for part in sorted(joined, key=min) for k in part]
        parts[frozenset(whole)] = whole
    return [k for part in sorted(parts.values(), key=min) for k in part]


def _colours(cut: Groups) -> dict[int, str]:
    several = [group for group in cut if len(group) > 1]
    return {k: COLOURS[number % len(COLOURS)] for number, group in enumerate(several) for k in group}


def _colour_of(merge: Merge, cut: Groups, colours: dict[int, str]) -> str:
    """That of the group inside which this merge is; grey where it joins groups."""
    members = {k for group in merge.groups for k in group}
    return colours[min(members)] if any(members <= set(group) for group in cut) else FAINT


def _branch(ax: Axes, merge: Merge, nodes: dict, edge: float, colour: str) -> None:
    """From each part across to where they meet, and the line that joins them; the parts give way to the whole."""
    met = [nodes.pop(tuple(group)) for group in merge.groups]
    starts = [edge if start is None else start for start, _ in met]
    here = max(min(merge.shared, *starts), 0.0)
    for start, (_, place) in zip(starts, met):
        ax.plot([start, here], [place, place], color=colour, linewidth=1.4, solid_capstyle="round")
    places = [place for _, place in met]
    ax.plot([here, here], [min(places), max(places)], color=colour, linewidth=1.4)
    middle = float(np.mean(places))
    ax.text(here, middle, f" {merge.shared:.2f}".replace("-", "−"), fontsize=7, va="bottom", color=INK)
    nodes[tuple(sorted(k for group in merge.groups for k in group))] = (here, middle)


def _frame(ax: Axes, order: Sequence[int], letter: str, edge: float, at: float | None, background: float) -> None:
    ax.set_xscale("function", functions=(lambda v: np.sqrt(np.maximum(v, 0.0)), np.square))
    ax.set_xlim(edge, 0.0)
    ax.set_ylim(len(order) - 0.5, -0.5)
    ax.set_yticks(range(len(order)), [f"{letter}{k}" for k in order])
    ax.tick_params(axis="y", length=0)
    ax.locator_params(axis="x", nbins=5)
    if at is not None:
        ax.axvline(at, color=INK, linewidth=0.8, linestyle="dashed")
    if background > 0:
        ax.axvline(background, color=FAINT, linewidth=0.8, linestyle="dotted")
    ax.set(xlabel="nats shared beyond chance (the less, the further right)", ylabel="latent")
