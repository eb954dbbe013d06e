"""The sentences of a page that depend on the study."""

import math
import re
from collections.abc import Iterable, Sequence

from markupsafe import Markup, escape

from partita.data import Dataset
from partita.plot._style import readable
from partita.reports.groups import truth_names, truth_partition
from partita.reports.study import Record, Setting


def truth_words(dataset: Dataset) -> str:
    """The true latents by group."""
    if dataset.truth is None:
        return "none known"
    names, partition = truth_names(dataset), truth_partition(dataset)
    groups = " | ".join(", ".join(names[k] for k in group) for group in partition)
    return f"{dataset.truth.shape[1]}, in groups {groups}"


def seed_words(seeds: Iterable[int]) -> str:
    """Seeds in order, runs of neighbours as a range."""
    spans: list[list[int]] = []
    for seed in sorted(seeds):
        if spans and seed == spans[-1][1] + 1:
            spans[-1][1] = seed
        else:
            spans.append([seed, seed])
    return ", ".join(str(a) if a == b else f"{a}–{b}" if b > a + 1 else f"{a}, {b}" for a, b in spans)


def results_caption(settings: Sequence[Setting], records: Sequence[Record]) -> str:
    """How the numbers of the table were taken."""
    scored = [record.scores for record in records if record.scores]
    correlations = [scores["correlation"] for scores in scored if scores.get("correlation")]
    text = "One row a setting. " + _interval_words(settings)
    text += f"Arrows say which way is better. Fit and alignment are measured on {_counts(scored)} rows"
    if correlations:
        by = " and ".join(sorted({str(found.get("by")) for found in correlations}))
        text += (
            f"; PC and TC with the {by} estimator over the posteriors of {_counts(correlations)} rows, one draw each, "
            "with the permutation null beside them. Compare PC − null; where the null itself is several nats, the "
            "posteriors are too narrow for so few rows, and dependence stays hidden"
        )
    text += "."
    if any(record.alignment for record in records):
        text += (
            " Alignment is by the method's own groups, or where it has none by the grouping that fits the truth best, "
            "which favours it; the words under each R² say which, and PC is between those same groups."
        )
    return text


def metrics_caption(settings: Sequence[Setting]) -> str:
    return (
        "Metrics of posterior means against the known factors, one row a setting. "
        + _interval_words(settings)
        + "Hover "
        "a header, or open the list below, for each metric's definition, protocol and number of rows."
    )


def _interval_words(settings: Sequence[Setting]) -> str:
    most = max(len(setting.finished) for setting in settings)
    if most < 2:
        return "One run a setting, so there is no interval over seeds. "
    text = "Mean over finished seeds, with the 95% bootstrap interval over seeds under it. "
    return text if most >= 5 else text + "With fewer than 5 seeds the interval is too narrow: a hint, no more. "


def _counts(scored: Sequence) -> str:
    return " or ".join(f"{n:,}" for n in sorted({int(found.get("n") or 0) for found in scored}))


def number(value: float) -> str:
    """A loss for people."""
    return readable(value) if math.isfinite(value) else "–"


def prose(text: str) -> Markup:
    """A paragraph of a docstring: `code` and **stress** as such."""
    html = str(escape(" ".join(text.split())))
    return Markup(re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", re.sub(r"`(.+?)`", r"<code>\1</code>", html)))


GREEK = {"alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "eta": "η", "lambda": "λ", "rho": "ρ", "sum": "∑"}
SIGNS = {"||": "‖", " * ": " · ", "!=": "≠", "-": "−"}


def typeset(text: str) -> Markup:
    """An objective with the letters, signs, subscripts and powers of print."""
    text = re.sub(rf"(?<![a-z])({'|'.join(GREEK)})(?![a-z])", lambda found: GREEK[found[1]], text)
    for name, sign in SIGNS.items():
        text = text.replace(name, sign)
    html = re.sub(r"_(?:\{(.+?)\}|([A-Za-z0-9]+))", r"<sub>\1\2</sub>", str(escape(text)))
    return Markup(re.sub(r"\^([A-Za-z0-9]+)", r"<sup>\1</sup>", html))
