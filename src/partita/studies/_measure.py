"""Measuring the runs of a study: what is measured already is read, everything else is kept as soon as it is known."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, cast

import torch

from partita.data import Dataset
from partita.metrics.registry import split_names
from partita.studies._scoring import asked_for, is_current
from partita.studies._verify import Survey, survey
from partita.studies.evaluate import evaluate_agreement, evaluate_run
from partita.studies.run import Run
from partita.studies.scores import RunScores
from partita.studies.source import identity, reload
from partita.studies.store import Store

# Told before each run: which it is, and of how many.
Told = Callable[[int, int], None]


@dataclass(frozen=True)
class Measured:
    """The scores of every run that could be measured, and in words, by run, why others could not."""

    scores: list[RunScores] = field(default_factory=list)
    trouble: dict[str, str] = field(default_factory=dict)
    survey: Survey = field(default_factory=Survey)


def measure(
    store: Store, metrics: str, device: torch.device, *, again: bool = False, told: Told | None = None
) -> Measured:
    """Measures every finished run whose scores are not there yet by these metrics, or `again`.

    A run with damaged files, or gone astray, is named and does not keep back the others.
    """
    asked_for(metrics)  # an unknown name is refused before anything is measured
    found = Measured(survey=survey(store, deep=False))
    for damage in found.survey.damaged:
        if damage.file.name != "scores.json":  # those are made anew
            found.trouble.setdefault(damage.owner, damage.words)
    data = _Data(store)
    for number, run in enumerate(found.survey.finished, 1):
        if told is not None:
            told(number, len(found.survey.finished))
        try:
            dataset = data.of(run)  # is looked at in any case: scores on data that have changed since say nothing
            scores = None if again else _kept(store, run, metrics)
            if scores is None:
                scores = evaluate_run(store, run, dataset, metrics, device)
                store.note(run, whole=True)
            found.scores.append(cast(RunScores, {"setting": run.setting, "seed": run.seed, **scores}))
        except (ValueError, OSError) as error:
            found.trouble[run.id] = str(error)
    for each in found.survey.lacking:
        found.trouble.setdefault(each.owner, each.words)
    if metrics == "all" or "udr" in split_names(metrics):
        _agree(store, found, data, device)
    return found


def _kept(store: Store, run: Run, metrics: str) -> dict[str, Any] | None:
    try:
        scores = store.scores(run)
    except ValueError:
        return None
    return scores if scores is not None and is_current(scores, metrics) else None


def _agree(store: Store, found: Measured, data: "_Data", device: torch.device) -> None:
    """Adds how far the runs of each setting agree, where the same runs have not been compared before."""
    known = {run.id: run for run in found.survey.finished}
    for setting in dict.fromkeys(scores["setting"] for scores in found.scores):
        same = [s for s in found.scores if s["setting"] == setting and s["run"] not in found.trouble]
        names = [scores["run"] for scores in same]
        if all((scores.get("udr") or {}).get("of") == names for scores in same):
            continue
        repeats = [known[name] for name in names]
        agreed = evaluate_agreement(store, repeats, data.of(repeats[0]), device)
        if agreed is not None:
            for scores in same:
                scores["udr"] = agreed


class _Data:
    """The data of runs, each set loaded once; what cannot be loaded is not tried twice."""

    def __init__(self, store: Store):
        self.store = store
        self.loaded: dict[str, Dataset | Exception] = {}

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
