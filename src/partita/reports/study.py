"""A study as a report needs it: settings, the runs of each, how each run ended, what was logged and measured."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from partita.studies._labels import labels_of, natural_order
from partita.studies.run import Run
from partita.studies.store import Store

DIAGNOSIS = {"verdict", "reasons", "numbers"}
ALIGNMENT = {"r2", "matrix", "assignment", "groups", "grouping"}


@dataclass(frozen=True)
class Record:
    """One run. `status` is "finished", "diverged", "unfinished" or "unreadable"; `remark` says more in words.

    Scores are those of a finished run; `unread` names files that could not be read.
    """

    run: Run
    status: str
    remark: str
    history: Mapping[str, np.ndarray]
    scores: Mapping[str, Any] | None
    unread: str = ""

    @property
    def final_loss(self) -> float:
        losses = self.history.get("loss", np.array([]))
        return float(losses[-1]) if len(losses) else float("nan")

    @property
    def alignment(self) -> Mapping[str, Any] | None:
        found = (self.scores or {}).get("alignment")
        return found if found and found.keys() >= ALIGNMENT else None

    @property
    def diagnosis(self) -> Mapping[str, Any] | None:
        """Verdict, reasons and numbers, where groups were judged without labels."""
        found = (self.scores or {}).get("diagnosis")
        return found if found and found.keys() >= DIAGNOSIS else None


@dataclass(frozen=True)
class Setting:
    """Runs that differ in their seed alone. `label` names only what tells it apart from the other settings."""

    label: str
    records: tuple[Record, ...]

    @property
    def run(self) -> Run:
        """A representative, for everything but the seed."""
        return self.records[0].run

    @property
    def finished(self) -> list[Record]:
        return [record for record in self.records if record.status == "finished"]

    @property
    def grouping(self) -> str:
        """By which groups its runs were aligned."""
        return ", ".join(sorted({record.alignment["grouping"] for record in self.finished if record.alignment}))

    def shown(self) -> tuple[Record, str] | None:
        """The run to make pictures of, and why this one; None when none finished."""
        aligned = [record for record in self.finished if record.alignment]
        if aligned:
            by_r2 = sorted(aligned, key=lambda record: record.alignment["r2"])  # type: ignore[index]
            chosen = by_r2[(len(by_r2) - 1) // 2]
            which = "median" if len(aligned) % 2 else "lower middle one"
            return chosen, f"seed {chosen.run.seed}, {_place(which, len(aligned), 'alignment R²')}"
        if not self.finished:
            return None
        chosen = min(self.finished, key=lambda record: np.nan_to_num(record.final_loss, nan=np.inf))
        return chosen, f"seed {chosen.run.seed}, {_place('lowest', len(self.finished), 'final loss')}"


def _place(which: str, among: int, by: str) -> str:
    return "the only finished run" if among == 1 else f"the {which} of {among} finished runs by {by}"


def settings_of(store: Store, runs: Sequence[Run] | None = None) -> list[Setting]:
    """Every run of the store by setting: methods in the registry's order, numbers in theirs.

    Parameters
    ----------
    store : Store
        A study's; runs that are not finished, or cannot be read, are there too.
    runs : sequence of Run, optional
        Those to look at; None for all.

    Returns
    -------
    list of Setting
        Each with its label and the records of its runs.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = Store(Path(folder))
    ...     for beta, seed in ((1.0, 0), (4.0, 0), (4.0, 1)):
    ...         _ = store.describe(Run("beta_vae", {"beta": beta}, {"shape": [5]}, {}, 10, 2, 0.001, seed))
    ...     found = settings_of(store)
    >>> [(setting.label, len(setting.records)) for setting in found]
    [('beta_vae beta=1.0', 1), ('beta_vae beta=4.0', 2)]
    """
    together: dict[str, list[Run]] = {}
    for run in sorted(store.runs() if runs is None else runs, key=natural_order):
        together.setdefault(_identity(run), []).append(run)
    groups = list(together.values())
    labels = labels_of([runs[0] for runs in groups])
    return [Setting(label, tuple(_record(store, run) for run in runs)) for label, runs in zip(labels, groups)]


def _identity(run: Run) -> str:
    return json.dumps(run.as_json() | {"seed": None}, sort_keys=True)


def _record(store: Store, run: Run) -> Record:
    unread: list[str] = []
    try:
        result = store.result(run)
    except (ValueError, OSError) as error:
        return Record(run, "unreadable", f"unreadable: {error}", {}, None)
    history = _readable(store.history, run, unread) or {}
    scores = _readable(store.scores, run, unread)
    status, remark = _ending(run, result, history)
    return Record(run, status, remark, history, scores if status == "finished" else None, "; ".join(unread))


def _ending(run: Run, result: Mapping[str, Any] | None, history: Mapping[str, np.ndarray]) -> tuple[str, str]:
    """How the run ended, in a word and in words."""
    steps = history.get("step", np.array([]))
    if result is None:
        return "unfinished", f"unfinished: {int(steps[-1]) if len(steps) else 0} of {run.steps} steps logged"
    if result.get("status") == "diverged":
        return "diverged", f"diverged: loss no longer finite at step {result.get('diverged_at')} of {run.steps}"
    return "finished", f"finished, {run.steps} steps"


def _readable(read: Callable[[Run], Any], run: Run, unread: list[str]) -> Any:
    """What `read` finds, or None and a line in `unread`: a damaged log does not undo a finished run."""
    try:
        found = read(run)
    except (ValueError, KeyError, OSError) as error:
        unread.append(f"{read.__name__}: {error}")
        return None
    if found is None or isinstance(found, dict):
        return found
    unread.append(f"{read.__name__}: not the content expected")
    return None
