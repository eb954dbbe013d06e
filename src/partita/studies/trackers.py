"""Trackers: others that are told how training goes, beside the log that every run keeps (`history.jsonl`).

A tracker is a class with four methods, one object a run. It is found by its name among the entry points of the group
"partita.trackers" of whatever is installed, ours (`tensorboard`, `wandb`) and others' alike. It sees what is logged and
changes nothing: not a run's id, not a byte of it. One that fails is left out, with one warning, and training goes on.
"""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from partita.data._nearest import listed, nearest
from partita.studies.run import Run
from partita.studies.store import Store
from partita.training import History
from partita.training.files import make_folder
from partita.training.program import Trained
from partita.training.scale import UNSCALED, Scale

log = logging.getLogger("partita")

GROUP = "partita.trackers"


class Tracker(Protocol):
    """What is told of one run. Made without arguments; a package that it needs is imported there, so that one that is
    missing is known before anything is trained."""

    def start(self, run: Mapping[str, Any], folder: Path) -> None:
        """`run` is what its run.json says, with its `id` and the `step` it goes on from; `folder` is the tracker's."""

    def log(self, step: int, quantities: Mapping[str, float]) -> None:
        """What was logged at a step."""

    def artifact(self, path: Path, kind: str) -> None:
        """A file that was written: kind is "weights" or "result"."""

    def finish(self, status: str) -> None:
        """ "finished", "diverged" or "interrupted"."""


@contextmanager
def tracked(store: Store, names: str | Sequence[str]) -> Iterator[Store]:
    """A store whose runs are told of to trackers while they train: `with tracked(store, "tensorboard") as store`.

    Each has a folder of its own, `tracked/NAME` in the study's. ValueError where a name is unknown, or a package it
    needs is not installed.

    Parameters
    ----------
    store : Store
        That of the study.
    names : str or sequence of str
        Of trackers that are installed; none, and the store is itself.

    Returns
    -------
    context manager
        Of the store to train in.

    Examples
    --------
    >>> with tracked(Store(Path("runs")), ()) as store:
    ...     store.folder.name
    'runs'
    """
    makers = makers_of(names)
    if not makers:
        yield store
        return
    told = _Told(makers, store.folder / "tracked")
    try:
        yield _Tracked(store.folder, told)
    finally:
        told.close()


def makers_of(names: str | Sequence[str]) -> dict[str, Callable[[], Tracker]]:
    """What makes trackers of these names; each is made once, so that what it lacks is known."""
    asked = [name.strip() for name in names.split(",") if name.strip()] if isinstance(names, str) else list(names)
    return {name: _maker(name) for name in dict.fromkeys(asked)}


def _maker(name: str) -> Callable[[], Tracker]:
    known = {each.name: each for each in entry_points(group=GROUP)}
    if name not in known:
        raise ValueError(f"there is no tracker {name!r}{nearest(name, known)}; installed are {listed(known)}")
    try:
        maker = known[name].load()
        maker()
    except ImportError as error:
        raise ValueError(f"the tracker {name} cannot be used: {error}: pip install 'partita[{name}]'") from None
    except Exception as error:
        raise ValueError(f"the tracker {name} cannot be used: {type(error).__name__}: {error}") from error
    return maker


@dataclass
class _Told:
    """The trackers of all runs under way. Whatever one of them raises, nobody else hears of it."""

    makers: Mapping[str, Callable[[], Tracker]]
    folder: Path
    running: dict[tuple[str, str], Tracker] = field(default_factory=dict)
    failed: set[str] = field(default_factory=set)

    def start(self, run: Run, step: int) -> None:
        for name, maker in self.makers.items():
            if (name, run.id) in self.running:  # the next phase of the same run
                continue

            def begin(name=name, maker=maker) -> None:
                make_folder(self.folder / name)
                tracker = maker()
                tracker.start({**run.as_json(), "id": run.id, "step": step}, self.folder / name)
                self.running[name, run.id] = tracker

            self._safely(name, begin)

    def each(self, run: Run, tell: Callable[[Tracker], None]) -> None:
        for name in self.makers:
            tracker = self.running.get((name, run.id))
            if tracker is not None:
                self._safely(name, lambda tracker=tracker: tell(tracker))

    def finish(self, run: Run, status: str) -> None:
        self.each(run, lambda tracker: tracker.finish(status))
        for name in self.makers:
            self.running.pop((name, run.id), None)

    def close(self) -> None:
        for (name, _), tracker in list(self.running.items()):
            self._safely(name, lambda tracker=tracker: tracker.finish("interrupted"))
        self.running.clear()

    def _safely(self, name: str, do: Callable[[], None]) -> None:
        if name in self.failed:
            return
        try:
            do()
        except Exception as error:
            self.failed.add(name)
            log.warning("the tracker %s failed and is left out: %s: %s", name, type(error).__name__, error)


@dataclass(frozen=True)
class _Tracked(Store):
    """A store that tells trackers what is written to it."""

    told: _Told = field(default_factory=lambda: _Told({}, Path()))

    def begin(self, run: Run, history: History, position: int) -> None:
        super().begin(run, history, position)
        self.told.start(run, history.steps[-1] if history.steps else 0)

    def log(self, run: Run, history: History, position: int) -> None:
        super().log(run, history, position)
        values = zip(history.names, history.row(-1)[:, position].tolist())
        known = {name: value for name, value in values if not np.isnan(value)}
        self.told.each(run, lambda tracker: tracker.log(history.steps[-1], dict(known)))

    def finish(self, run: Run, trained: Trained, scale: Scale = UNSCALED) -> None:
        super().finish(run, trained, scale)
        for kind, name in (("weights", "weights.safetensors"), ("result", "result.json")):
            self.told.each(
                run, lambda tracker, kind=kind, name=name: tracker.artifact(self.folder_of(run) / name, kind)
            )
        self.told.finish(run, "finished" if trained.diverged is None else "diverged")
