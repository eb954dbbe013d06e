"""The tables of a report: which columns, and what stands above them."""

from collections.abc import Iterable, Sequence
from typing import Any

from partita.reports.study import Setting
from partita.studies._columns import columns_of_metrics
from partita.studies.scores import COLUMNS, Column

ABREAST = 8


def result_columns(settings: Sequence[Setting]) -> list[Column]:
    """The columns of a page that at least one run fills."""
    return _filled([column for column in COLUMNS if column.page], settings)


def metric_columns(settings: Sequence[Setting]) -> list[Column]:
    """A column for each metric that was measured."""
    return columns_of_metrics(record.scores for setting in settings for record in setting.records)


def _filled(columns: Iterable[Column], settings: Sequence[Setting]) -> list[Column]:
    scores = [record.scores for setting in settings for record in setting.records]
    return [column for column in columns if any(column.value(each) is not None for each in scores)]


def tables_of(columns: Sequence[Column]) -> list[tuple[str, list[Column]]]:
    """Columns that stand together, a name and at most ABREAST of them each: so no table is wider than a page."""
    found: list[tuple[str, list[Column]]] = []
    for column in columns:
        if found and found[-1][0] == column.band and len(found[-1][1]) < ABREAST:
            found[-1][1].append(column)
        else:
            found.append((column.band, [column]))
    return found


def leakage_of(setting: Setting) -> dict[str, Any] | None:
    """What groups know of covariates, in the run that is pictured; None where there were none, or nothing is known."""
    shown = setting.shown()
    found = None if shown is None else (shown[0].scores or {}).get("covariates")
    if shown is None or not found:
        return None
    rows = [(name, list(zip(known, null))) for name, known, null in zip(found["names"], found["known"], found["null"])]
    groups = [" ".join(f"z{k}" for k in group) for group in found["groups"]]
    return {"label": setting.label, "why": shown[1], "rows": rows, "groups": groups, "n": found["n"]}
