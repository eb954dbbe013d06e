"""Measuring the runs of a study: what is measured already is read, everything else is kept as soon as it is known."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple, cast

import torch

from partita.data import Dataset
from partita.metrics.registry import split_names
from partita.studies._index import Entry, Known, nothing_collected
from partita.studies._kept_scores import KeptScores, company
from partita.studies._scoring import asked_for, is_current
from partita.studies._verify import Survey, survey
from partita.studies.evaluate import evaluate_agreement, evaluate_run
from partita.studies.run import Run
from partita.studies.scores import RunScores
from partita.studies.source import identity, reload
from partita.studies.store import Store

# Told before each run: which it is, and of how many.
Told = Callable[[int, int], None]


class Row(NamedTuple):
    """A run that is measured, and its scores: all of them, or what the index has (`_kept_scores`) and where it is."""

    name: str
    setting: str
    seed: int
    kept: Mapping[str, Any] | KeptScores
    of: Run | Entry

    @property
    def run(self) -> Run:
        return self.of.run if isinstance(self.of, Entry) else self.of

    @property
    def scores(self) -> RunScores:
        found = self.kept.scores(cast(Entry, self.of).path) if isinstance(self.kept, KeptScores) else self.kept
        return cast(RunScores, {"setting": self.setting, "seed": self.seed, **found})


@dataclass(frozen=True)
class Measured:
    """Every run that could be measured, by setting and seed, and in words, by run, why others could not."""

    rows: list[Row] = field(default_factory=list)
    trouble: dict[str, str] = field(default_factory=dict)
    survey: Survey = field(default_factory=Survey)

    @property
    def scores(self) -> list[RunScores]:
        return [row.scores for row in self.rows]

    def of_settings(self, most: int) -> tuple[list[RunScores], int]:
        """The scores of the first settings, and how many others there are."""
        settings = dict.fromkeys(row.setting for row in self.rows)
        shown = set(list(settings)[:most])
        return [row.scores for row in self.rows if row.setting in shown], len(settings) - len(shown)


def measure(
    store: Store,
    metrics: str,
    device: torch.device,
    *,
    again: bool = False,
    told: Told | None = None,
    in_short: bool = False,
    known: Known | None = None,
) -> Measured:
    """Measures every finished run whose scores are not there yet by these metrics, or `again`.

    A run with damaged files, or gone astray, is named and does not keep back the others. With `in_short` the numbers of
    tables suffice: files of runs that are measured are not opened then. `known` is what `Store.look_up` said just now.
    """
    asked_for(metrics)  # an unknown name is refused before anything is measured
    data, rows = _Data(store), []
    with nothing_collected():
        known = store.look_up() if known is None else known
        if in_short and not again:
            rows = _measured_before(store, known, metrics, data)
        found = Measured(rows, survey=survey(store, deep=False, known=known, without={row.name for row in rows}))
    for damage in found.survey.damaged:
        if damage.file.name != "scores.json":  # those are made anew
            found.trouble.setdefault(damage.owner, damage.words)
    finished, before = found.survey.finished, len(rows)
    for number, run in enumerate(finished, 1):
        if told is not None:
            told(number, len(finished))
        try:
            dataset = data.of(run)  # is looked at in any case: scores on data that have changed since say nothing
            scores = None if again else _kept(store, run, metrics)
            if scores is None:
                scores = evaluate_run(store, run, dataset, metrics, device)
                store.note(run, whole=True)
            setting = " ".join(run.setting.split())  # as the index has it
            found.rows.append(Row(run.id, setting, run.seed, cast(Mapping[str, Any], scores), run))
        except (ValueError, OSError) as error:
            found.trouble[run.id] = str(error)
    if before and finished:
        found.rows.sort(key=lambda row: (row.setting, row.seed))
    for each in found.survey.lacking:
        found.trouble.setdefault(each.owner, each.words)
    if _asks_for_agreement(metrics):
        _agree(store, found, data, device)
    return found


def measured_already(store: Store, entries: Sequence[Entry], metrics: str) -> list[tuple[Entry, KeptScores]]:
    """Those that ended well and have what these metrics would give today, by the index."""
    kept = store.scores_in_short([entry for entry in entries if entry.ending == "finished"])
    ways = {line.how: line for _, line in kept}
    current = {how: is_current(line.scored(), metrics) for how, line in ways.items()}
    return [(entry, line) for entry, line in kept if current[line.how]]


def _measured_before(store: Store, known: Known, metrics: str, data: "_Data") -> list[Row]:
    """Runs of which nothing more is to be known: their data are there, nobody's own functions may have changed, and
    where it is asked how far they agree, the same runs have been compared."""
    rows = [
        Row(entry.name, entry.setting, entry.seed, line, entry)
        for entry, line in measured_already(store, known.entries, metrics)
        if entry.sources == "[]" and data.is_there(entry)
    ]
    if not _asks_for_agreement(metrics):
        return rows
    compared = {row.name for same in _repetitions(rows) if _compared(same) for row in same}
    found = {row.name for row in rows}
    waiting = {entry.setting for entry in known.entries if entry.ending == "finished" and entry.name not in found}
    return [row for row in rows if row.name in compared and row.setting not in waiting]


def _kept(store: Store, run: Run, metrics: str) -> dict[str, Any] | None:
    try:
        scores = store.scores(run)
    except ValueError:
        return None
    return scores if scores is not None and is_current(scores, metrics) else None


def _asks_for_agreement(metrics: str) -> bool:
    return metrics == "all" or "udr" in split_names(metrics)


def _repetitions(rows: Sequence[Row]) -> Iterable[list[Row]]:
    """Runs of the same setting on the same data."""
    found: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        found.setdefault((row.setting, repr(identity(row.run.data))), []).append(row)
    return found.values()


def _compared(same: Sequence[Row]) -> bool:
    """Whether how far these runs agree, and no others, is among their scores, or there is nobody to agree with."""
    names = [row.name for row in same]
    return len(same) < 2 or all((row.scores.get("udr") or {}).get("of") in (names, company(names)) for row in same)


def _agree(store: Store, found: Measured, data: "_Data", device: torch.device) -> None:
    """Adds how far runs that repeat each other agree, where the same runs have not been compared before."""
    places = {row.name: place for place, row in enumerate(found.rows)}
    for same in _repetitions([row for row in found.rows if row.name not in found.trouble]):
        if all(isinstance(row.kept, KeptScores) for row in same) or _compared(same):  # see `_measured_before`
            continue
        agreed = evaluate_agreement(store, [row.run for row in same], data.of(same[0].run), device)
        for row in same:
            found.rows[places[row.name]] = row._replace(kept={**row.scores, "udr": agreed})


class _Data:
    """The data of runs, each set loaded once; what cannot be loaded is not tried twice."""

    def __init__(self, store: Store):
        self.store = store
        self.loaded: dict[str, Dataset | Exception] = {}
        self.there: dict[str, bool] = {}

    def is_there(self, entry: Entry) -> bool:
        if (data := entry.data) not in self.there:
            self.there[data] = False
            with suppress(ValueError, OSError):
                self.of(entry.run)
                self.there[data] = True
        return self.there[data]

    def of(self, run: Run) -> Dataset:
        key = repr(identity(run.data))
        if key not in self.loaded:
            try:
                self.loaded[key] = reload(run.data, self.store.folder)
            except (ValueError, OSError) as error:
                self.loaded[key] = error
        found = self.loaded[key]
        if isinstance(found, Exception):
            raise found
        return found
