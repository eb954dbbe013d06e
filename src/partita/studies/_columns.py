"""The metrics of runs as columns of a table."""

from collections.abc import Iterable, Mapping
from typing import Any

from partita.metrics import METRICS
from partita.studies.scores import METRIC, Column

# Metrics that are several numbers in one.
PARTS = {
    "dci": ("disentanglement", "completeness", "informativeness"),
    "infomec": ("infom", "infoc", "infoe"),
}


def columns_of_metrics(several: Iterable[Mapping[str, Any] | None]) -> list[Column]:
    """A column for each metric that some of the runs with these scores have, in the registry's order, then those it
    does not know."""
    kept = list(several)
    found: dict[str, Mapping[str, Any]] = {}
    for scores in kept:
        for name, score in ((scores or {}).get("metrics") or {}).items():
            found.setdefault(name, score)
    order = [name for name in METRICS if name in found] + [name for name in found if name not in METRICS]
    columns = [column for name in order for column in _columns_of(name, found[name])]
    return [column for column in columns if any(column.value(each) is not None for each in kept)]


def _columns_of(name: str, score: Mapping[str, Any]) -> list[Column]:
    metric = METRICS.get(name)
    about = metric.summary if metric else name
    better = getattr(metric, "better", "higher") if metric else ""
    text = f"{name}: {about}. Protocol {score.get('protocol') or 'not named'}, n = {score.get('n')}."
    if name in PARTS:
        return [
            Column(
                part, METRIC, f"{part}, of {text}", better,
                lambda s, n=name, p=part: s["metrics"][n]["parts"][p], metric=name,
            )
            for part in PARTS[name]
        ]  # fmt: skip
    return [Column(name, METRIC, text, better, lambda s, n=name: s["metrics"][n]["value"], metric=name)]
