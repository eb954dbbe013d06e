"""Did it work: the verdict, its reasons, and how far each number is from its limit."""

from collections.abc import Mapping
from dataclasses import dataclass
from textwrap import wrap
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from partita.data import Dataset
from partita.estimator import Disentangler
from partita.measures.gaussian import kl_of_latents
from partita.plot._opened import opened
from partita.plot._panels import figure_of
from partita.plot._style import COLOURS, FAINT, INK, Drawing, signs, styled
from partita.structure._beside_pca import WORSE
from partita.structure.diagnosis import ACROSS, AGREEMENT, BETWEEN, HOLD, Diagnosis, diagnose_groups

WIDE = 72  # characters of a line
REACH = 4.0  # times its limit: what is further is drawn there


@dataclass(frozen=True)
class Limit:
    """A number of a diagnosis in words; it must not be below, or not above, `limit`."""

    words: str
    limit: float
    least: bool


LIMITS: dict[str, Limit] = {
    "cohesion": Limit("tie inside the weakest group", 1.0, True),
    "agreement": Limit("R² between halves of the rows", AGREEMENT, True),
    "second training": Limit("R² of a second training", AGREEMENT, True),
    "between": Limit("nats between groups", BETWEEN, False),
    "across": Limit("deviations, two latents across", ACROSS, False),
    "gaussian": Limit("single latents that are Gaussian", 1.0, False),
    "error beside PCA": Limit("squared error, in that of PCA", WORSE, False),
}


@styled
def diagnosis(
    model: Any, X: Any = None, *, time: bool = False, covariates: Any = None, ax: Axes | None = None
) -> Figure:
    """The verdict of `Disentangler.diagnose` with its reasons, and its numbers, each in units of its limit.

    Bars that end right of 1 are on the good side of their limit, those left of it (orange) speak against the groups.

    Parameters
    ----------
    model : a fitted `Disentangler`, `(store, run)` of a study, or a `Diagnosis`.
    X : rows, best those not trained on: an array like that it was fitted on, or a data set.
    time : whether rows follow each other in time.
    covariates : of the rows, as in `fit`, where the estimator was fitted with some.
    ax : to draw into: the bars, with the verdict above them and without its reasons.

    Returns
    -------
    Figure

    Examples
    --------
    >>> import partita as pt
    >>> data = pt.data.load("groups", size=500)
    >>> found = pt.structure.diagnose_groups(data.truth, data.truth_groups)
    >>> diagnosis(found).axes[-1].texts[0].get_text().partition(":")[0]
    'tie inside the weakest group'
    """
    found = model if isinstance(model, Diagnosis) else _diagnosed(model, X, time, covariates)
    rows = margins(found.numbers)
    if ax is not None:
        _bars(ax, rows)
        ax.set_title(found.verdict, loc="left")
        return figure_of(ax)
    lines = [line for reason in found.reasons for line in _bullet(reason)]
    heights = [0.35 + 0.19 * len(lines), 0.75 + 0.38 * len(rows)]
    figure = Drawing(figsize=(5.6, heights[0] + (heights[1] if rows else 0.0)))
    parts: Any = figure.subfigures(2, 1, height_ratios=heights) if rows else (figure,)
    said = parts[0].add_subplot()
    said.set_axis_off()
    said.set_title(found.verdict, color=COLOURS[0] if found.verdict == HOLD else COLOURS[1], fontsize=12)
    said.text(0.0, 1.0, "\n".join(lines), va="top", fontsize=9, color=INK, transform=said.transAxes, linespacing=1.35)
    if rows:
        _bars(parts[1].add_subplot(), rows)
    return figure


def margins(numbers: Mapping[str, float]) -> list[tuple[Limit, float, float]]:
    """Of each number that has a limit: the limit, the number, and how many times it is on the good side of it."""
    numbers = dict(numbers)
    if numbers.get("error of PCA"):
        numbers["error beside PCA"] = numbers["error"] / numbers["error of PCA"]
    rows = []
    for name, limit in LIMITS.items():
        if name not in numbers:
            continue
        value = numbers[name]
        ratio = value / limit.limit if limit.least else limit.limit / max(value, 1e-9)
        rows.append((limit, value, float(np.clip(ratio, 1 / REACH, REACH))))
    return rows


def _diagnosed(model: Any, X: Any, time: bool, covariates: Any) -> Diagnosis:
    if isinstance(model, Disentangler):
        return model.diagnose(np.asarray(X.x if isinstance(X, Dataset) else X), time=time, covariates=covariates)
    seen = opened(model, X, covariates=covariates)
    mean, log_variance = seen.encode(slice(None))
    kl, x, error = kl_of_latents(mean, log_variance), None, None
    if not seen.scale.counts:  # principal components of counts are no match
        x, error = seen.seen_and_error(slice(None))
    return diagnose_groups(mean.astype(np.float64), seen.groups, x, kl=kl, error=error, time=time)


def _bullet(reason: str) -> list[str]:
    first, *rest = wrap(signs(reason), WIDE) or [""]
    return [f"–  {first}", *(f"    {line}" for line in rest)]


def _bars(ax: Axes, rows: list[tuple[Limit, float, float]]) -> None:
    for place, (limit, value, ratio) in enumerate(rows):
        ax.plot([1.0, ratio], [place, place], color=COLOURS[0] if ratio >= 1 else COLOURS[1], linewidth=5, alpha=0.8)
        words = signs(f"{limit.words}: {value:.2f} (at {'least' if limit.least else 'most'} {limit.limit:g})")
        across, behind = ax.get_yaxis_transform(), {"facecolor": "white", "edgecolor": "none", "pad": 0.5}
        ax.text(0.0, place - 0.2, words, va="bottom", fontsize=8, color=INK, transform=across, bbox=behind)
    ax.axvline(1.0, color=FAINT, linewidth=0.8)
    ax.set_xscale("log")
    ax.set_xlim(0.9 / REACH, 1.1 * REACH)
    ax.set_xticks([0.25, 0.5, 1, 2, 4], ["¼", "½", "at the limit", "2", "4"])
    ax.minorticks_off()
    ax.set_yticks([])
    ax.set_ylim(len(rows) - 0.6, -0.8)
    ax.spines["left"].set_visible(False)
    ax.set(xlabel="times on the good side of its limit", ylabel="check")
