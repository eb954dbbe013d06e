"""The rows of a comparison's tables, one score at a time."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from partita.studies._contenders import Contenders, Entry
from partita.studies._statistics import (
    ALPHA,
    bootstrapped,
    equivalence,
    holm,
    interquartile_mean,
    ranked,
    share,
    signed_ranks,
)
from partita.studies.scores import Column

Row = dict[str, Any]
THRESHOLDS = 101  # of a performance profile


def summary_rows(labels: Sequence[str], values: np.ndarray, reached: Mapping[str, tuple[int, int]]) -> list[Row]:
    """A contender by itself: mean and interquartile mean with intervals, median and quartiles, success."""
    rows = []
    for label, own in zip(labels, values.T):
        mean, middle = bootstrapped(own), bootstrapped(own, interquartile_mean)
        row: Row = {"contender": label, "runs": len(own)}
        row |= {"mean": mean.value, "mean_low": mean.low, "mean_high": mean.high}
        row |= {"iqm": middle.value, "iqm_low": middle.low, "iqm_high": middle.high}
        row |= dict(zip(("median", "quartile_1", "quartile_3"), np.quantile(own, [0.5, 0.25, 0.75]).tolist()))
        if label in reached:
            succeeded, ended = reached[label]
            rate = share(succeeded, ended)
            row |= {"succeeded": succeeded, "ended": ended}
            row |= {"success": rate.value, "success_low": rate.low, "success_high": rate.high}
        rows.append(row)
    return rows


def difference_rows(
    labels: Sequence[str], values: np.ndarray, margin: float, better: str, against: str | None = None
) -> list[Row]:
    """A pair of contenders: what the first has more than the second, and whether that can be relied on."""
    pairs = [pair for pair in combinations(range(len(labels)), 2) if against is None or labels.index(against) in pair]
    rows = []
    for i, j in pairs:
        d = values[:, i] - values[:, j]
        mean = bootstrapped(d)
        rows.append({
            "first": labels[i], "second": labels[j], "pairs": len(d),
            "mean": mean.value, "low": mean.low, "high": mean.high,
            "wilcoxon": signed_ranks(d), "tost": equivalence(d, margin), "margin": margin,
        })  # fmt: skip
    for row, adjusted in zip(rows, holm([row["wilcoxon"] for row in rows])):
        row["holm"] = adjusted
        row["verdict"] = _verdict(row, better)
    return rows


def _verdict(row: Row, better: str) -> str:
    differs = row["holm"] < ALPHA and row["mean"] != 0
    alike = row["tost"] is not None and row["tost"] < ALPHA
    if not differs:
        return f"no difference beyond {row['margin']:g}" if alike else "undecided"
    more = row["first"] if row["mean"] > 0 else row["second"]
    less = row["second"] if row["mean"] > 0 else row["first"]
    words = {"higher": f"{more} is better", "lower": f"{less} is better"}.get(better, f"{more} has more")
    return f"{words}, by less than {row['margin']:g}" if alike else words


def rank_row(labels: Sequence[str], values: np.ndarray, better: str) -> Row | None:
    """Mean ranks with Friedman's test and Nemenyi's critical difference; None where nothing is better."""
    if not better:
        return None
    found = ranked(values, lower=better == "lower")
    return {
        "ranks": dict(zip(labels, found.ranks)),
        "blocks": found.blocks,
        "friedman": found.friedman,
        "critical": found.critical,
        "alike": [[labels[i] for i in together] for together in found.alike],
    }


def profile_rows(labels: Sequence[str], values: np.ndarray, better: str) -> list[Row]:
    """The share of runs that do at least so well, for thresholds over the whole range (Agarwal et al. 2021), each with
    Wilson's interval; none where nothing is better."""
    if not better:
        return []
    rows = []
    for at in np.linspace(values.min(), values.max(), THRESHOLDS):
        for label, own in zip(labels, values.T):
            found = share(int((own <= at if better == "lower" else own >= at).sum()), len(own))
            rows.append(
                {"contender": label, "at": float(at), "share": found.value, "low": found.low, "high": found.high}
            )
    return rows


def curve_rows(field: Contenders, column: Column) -> list[Row]:
    """Where the runs of a method differ in a number on the same data: the score at each value, median and quartiles
    over seeds, with all else alike."""
    rows: list[Row] = []
    together: dict[tuple[str, str], list[Entry]] = {}
    for entries in field.runs.values():
        for entry in entries:
            together.setdefault((entry.run.method, field.data[entry.id]), []).append(entry)
    for (method, data), entries in together.items():
        facts = [field.facts[entry.id] for entry in entries]
        differing = [n for n in facts[0] if n != "data" and len({own.get(n) for own in facts}) > 1]
        for name in differing:
            if not all(_is_number(own.get(name)) for own in facts):
                continue
            curves: dict[tuple[str, float], list[float]] = {}
            for own, entry in zip(facts, entries):
                rest = " ".join(f"{other}={own.get(other)}" for other in differing if other != name)
                value = column.value(entry.scores)
                if value is not None:
                    curves.setdefault((rest, float(own[name])), []).append(value)
            for (rest, at), values in sorted(curves.items()):
                low, middle, high = np.quantile(values, [0.25, 0.5, 0.75]).tolist()
                rows.append({
                    "method": method, "data": data, "weight": name, "others": rest, "at": at, "runs": len(values),
                    "median": middle, "quartile_1": low, "quartile_3": high,
                })  # fmt: skip
    return rows


def _is_number(text: str | None) -> bool:
    try:
        return text is not None and np.isfinite(float(text))
    except ValueError:
        return False
