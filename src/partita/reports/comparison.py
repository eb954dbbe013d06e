"""A comparison as figures: differences, ranks, profiles, and scores against weights."""

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from partita.plot._style import FAINT, INK, plain, styled
from partita.reports.curves import line_style
from partita.studies.compare import Compared

DIFFERS, ALIKE, UNDECIDED = "#0072B2", "#009E73", "#8a8a8a"
MOST_PAIRS = 30
MOST_BANDS = 3  # of more, nothing could be seen


@styled
def difference_plot(compared: Compared) -> Figure:
    """The mean difference of each pair with its bootstrap interval, and the margin of "no difference" as a band.

    Parameters
    ----------
    compared : Compared
        One score of a `Comparison`.

    Returns
    -------
    Figure
        Of at most 30 pairs, those furthest apart.

    Examples
    --------
    >>> import numpy as np
    >>> from partita.studies.compare import Compared
    >>> from partita.studies._compare_rows import difference_rows
    >>> rows = difference_rows(("vae", "pdisvae"), np.array([[0.5, 0.9], [0.6, 0.8]]), 0.05, "higher")
    >>> score = Compared("R2", "R²", "", "higher", "", 0.05, None, (), tuple(rows), None, (), ())
    >>> difference_plot(score).axes[0].get_xlabel()
    'difference in R²'
    """
    rows = sorted(compared.differences, key=lambda row: -abs(row["mean"]))[:MOST_PAIRS]
    rows = [row for row in compared.differences if row in rows]
    figure = Figure(figsize=(5.6, 0.8 + 0.28 * max(len(rows), 2)))
    axes = figure.add_subplot()
    axes.axvspan(-compared.margin, compared.margin, color=FAINT, alpha=0.15, linewidth=0)
    axes.axvline(0, color=FAINT, linewidth=0.7)
    for place, row in enumerate(rows):
        colour = _colour(row["verdict"])
        if row["low"] is not None:
            axes.plot([row["low"], row["high"]], [place, place], color=colour, linewidth=1.6)
        axes.plot(row["mean"], place, "o", color=colour, markersize=5)
    axes.set_yticks(range(len(rows)), [f"{plain(row['first'], 24)} − {plain(row['second'], 24)}" for row in rows])
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.set(xlabel=f"difference in {compared.header}")
    axes.locator_params(axis="x", nbins=6)
    return figure


def _colour(verdict: str) -> str:
    if verdict == "undecided":
        return UNDECIDED
    return ALIKE if verdict.startswith("no difference") else DIFFERS


@styled
def rank_plot(compared: Compared) -> Figure:
    """A critical-difference plot (Demšar 2006): mean ranks, the best on the left; a bar joins contenders whose ranks
    lie within Nemenyi's critical difference.

    Parameters
    ----------
    compared : Compared
        One score of a `Comparison`, one of which more or less is better.

    Returns
    -------
    Figure
        ValueError where nothing is better.

    Examples
    --------
    >>> import numpy as np
    >>> from partita.studies._compare_rows import rank_row
    >>> ranks = rank_row(("vae", "pdisvae"), np.array([[0.5, 0.9], [0.6, 0.8]]), "higher")
    >>> score = Compared("R2", "R²", "", "higher", "", 0.05, None, (), (), ranks, (), ())
    >>> sorted(text.get_text().strip() for text in rank_plot(score).axes[0].texts)[-1]
    'pdisvae  1.00'
    """
    if compared.ranks is None:
        raise ValueError(f"of {compared.score} neither more nor less is better, so it ranks nobody")
    ranks, critical = compared.ranks["ranks"], compared.ranks["critical"]
    names = sorted(ranks, key=lambda name: ranks[name])
    count, half = len(names), (len(names) + 1) // 2
    bars = compared.ranks["alike"]
    depth = 0.9 + 0.35 * len(bars) + 0.55 * half
    figure = Figure(figsize=(5.6, 0.5 + 0.42 * (depth + 1.2)))
    axes = figure.add_subplot()
    axes.plot([1, count], [0, 0], color=INK, linewidth=1)
    for tick in range(1, count + 1):
        axes.plot([tick, tick], [0, 0.18], color=INK, linewidth=0.8)
        axes.annotate(f"{tick}", (tick, 0.26), ha="center", va="bottom", fontsize=8)
    reach = 0.06 * max(count - 1, 1)
    for place, name in enumerate(names):
        left = place < half
        level = -(0.9 + 0.35 * len(bars) + 0.55 * (place if left else count - 1 - place))
        side = 1 - reach if left else count + reach
        axes.plot([ranks[name], ranks[name], side], [0, level, level], color=FAINT, linewidth=0.9)
        text = f"{plain(name, 26)}  {ranks[name]:.2f}" if left else f"{ranks[name]:.2f}  {plain(name, 26)}"
        axes.text(side, level, f"{text} " if left else f" {text}", ha="right" if left else "left", va="center")
    for place, together in enumerate(bars):
        own = [ranks[name] for name in together]
        level = -(0.4 + 0.35 * place)
        axes.plot([min(own) - 0.02, max(own) + 0.02], [level, level], color=DIFFERS, linewidth=3.2)
    top = 1.15
    axes.plot([1, min(1 + critical, count)], [top, top], color=INK, linewidth=1.2)
    more = "" if 1 + critical <= count else " (more than all ranks)"
    axes.annotate(f"critical difference {critical:.2f}{more}", (1, top + 0.12), ha="left", va="bottom", fontsize=8)
    axes.set(xlim=(1 - 0.75 * max(count - 1, 1), count + 0.75 * max(count - 1, 1)), ylim=(-depth - 0.3, top + 0.7))
    axes.axis("off")
    return figure


@styled
def profile_plot(compared: Compared) -> Figure:
    """Performance profiles (Agarwal et al. 2021): the share of runs that do at least so well; of two or three
    contenders with Wilson's intervals.

    Parameters
    ----------
    compared : Compared
        One score of a `Comparison`, one of which more or less is better.

    Returns
    -------
    Figure
        A line a contender.

    Examples
    --------
    >>> import numpy as np
    >>> from partita.studies._compare_rows import profile_rows
    >>> rows = profile_rows(("vae", "pdisvae"), np.array([[0.5, 0.9], [0.6, 0.8]]), "higher")
    >>> score = Compared("R2", "R²", "", "higher", "", 0.05, None, (), (), None, tuple(rows), ())
    >>> len(profile_plot(score).axes[0].lines)
    2
    """
    figure = Figure(figsize=(5.6, 3.2))
    axes = figure.add_subplot()
    labels = list(dict.fromkeys(row["contender"] for row in compared.profiles))
    for place, label in enumerate(labels):
        rows = [row for row in compared.profiles if row["contender"] == label]
        at = [row["at"] for row in rows]
        colour, dash = line_style(place)
        axes.plot(
            at,
            [row["share"] for row in rows],
            color=colour,
            linestyle=dash,
            linewidth=1.5,
            label=plain(label, 30),
            drawstyle="steps-pre" if compared.better == "lower" else "steps-post",
        )
        if len(labels) <= MOST_BANDS:
            axes.fill_between(at, [row["low"] for row in rows], [row["high"] for row in rows], color=colour, alpha=0.1,
                              linewidth=0)  # fmt: skip
    sign = "≤" if compared.better == "lower" else "≥"
    axes.set(xlabel=f"{compared.header} threshold", ylabel=f"share of runs {sign} it", ylim=(-0.03, 1.03))
    axes.legend(fontsize=8, loc="best")
    return figure


@styled
def weight_plots(compared: Compared) -> list[Figure]:
    """The score against each number that a method was trained with several values of: median, and quartiles as a band.

    Parameters
    ----------
    compared : Compared
        One score of a `Comparison`.

    Returns
    -------
    list of Figure
        One a number (a weight, say beta), with a line for each method, data set and choice of everything else.

    Examples
    --------
    >>> about = {"method": "beta_vae", "data": "groups", "weight": "beta", "others": "", "runs": 3}
    >>> rows = [about | {"at": at, "median": 0.5, "quartile_1": 0.4, "quartile_3": 0.6} for at in (1.0, 4.0)]
    >>> score = Compared("R2", "R²", "", "higher", "", 0.05, None, (), (), None, (), tuple(rows))
    >>> [figure.axes[0].get_xlabel() for figure in weight_plots(score)]
    ['beta']
    """
    return [_weight_plot(compared, name) for name in dict.fromkeys(row["weight"] for row in compared.curves)]


def _weight_plot(compared: Compared, weight: str) -> Figure:
    figure = Figure(figsize=(4.6, 3.0))
    axes = figure.add_subplot()
    lines: dict[str, list] = {}
    several = len({row["data"] for row in compared.curves}) > 1
    for row in compared.curves:
        if row["weight"] == weight:
            name = " ".join(filter(None, [row["method"], row["others"], f"on {row['data']}" if several else ""]))
            lines.setdefault(name, []).append(row)
    for place, (name, rows) in enumerate(lines.items()):
        colour, dash = line_style(place)
        at = [row["at"] for row in rows]
        axes.plot(
            at, [row["median"] for row in rows], "o", linestyle=dash, color=colour, markersize=4, label=plain(name, 34)
        )
        axes.fill_between(at, [row["quartile_1"] for row in rows], [row["quartile_3"] for row in rows], color=colour,
                          alpha=0.15, linewidth=0)  # fmt: skip
    _spread_axis(axes, [row["at"] for rows in lines.values() for row in rows])
    axes.set(xlabel=weight.replace("_", " "), ylabel=compared.header)
    axes.legend(fontsize=8, loc="best")
    return figure


def _spread_axis(axes, values: Sequence[float]) -> None:
    """Powers of ten where values span one; the values themselves as ticks, where they are few."""
    found = sorted(set(values))
    if found[0] > 0 and found[-1] / found[0] >= 10:
        axes.set_xscale("log")
        axes.minorticks_off()
    if len(found) <= 8:
        axes.set_xticks(found, [np.format_float_positional(value, trim="-") for value in found])
