"""Having an engine train or measure runs: what is lost is asked for again, what hangs is taken away from it."""

import logging
import math
import time
import uuid
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from partita.data import Dataset
from partita.studies._arrange import arranged
from partita.studies._leases import HANGS_AFTER, SECONDS
from partita.studies._memory_budget import MODELS_AT_ONCE
from partita.studies.engines._task import Ending, Engine, Task, unlike, versions
from partita.studies.run import Run
from partita.studies.store import Store
from partita.training import Interrupted

log = logging.getLogger("partita")

# A task that ends so often without getting any further is given up.
MOST_ATTEMPTS = 5
SECONDS_BETWEEN_LOOKS = 1.0


@dataclass
class Drive:
    """One study on one engine. `tell` is called now and then, with whatever is under way."""

    store: Store
    engine: Engine
    settings: Mapping[str, Any]
    shared: Any = None
    tell: Callable[[], None] = lambda: None
    asked: Callable[[], bool] = lambda: False
    jobs: dict[Hashable, Task] = field(default_factory=dict)
    started: set[str] = field(default_factory=set)
    faults: Counter = field(default_factory=Counter)
    hopeless: dict[tuple[str, ...], str] = field(default_factory=dict)
    over: set[str] = field(default_factory=set)  # runs that have ended
    measured: set[tuple[str, ...]] = field(default_factory=set)

    def __post_init__(self):
        self.leases = self.store.leases(**self.settings.get("leases", {}))

    def train(self, runs: Sequence[Run]) -> None:
        """Until all have ended, here or elsewhere; OSError or ValueError, at the end, for those that cannot."""
        self._until_done(lambda: self._to_train(runs))

    def hand_out(self, runs: Sequence[Run]) -> None:
        """Has everything started, and waits for nothing."""
        self._start(self._to_train(runs) or (), "train")

    def measure(self, runs: Sequence[Run], size: int) -> None:
        """All of these, `size` a task."""
        pieces = [tuple(run.id for run in runs[i : i + size]) for i in range(0, len(runs), size)]

        def to_measure() -> list[tuple[str, ...]] | None:
            return [piece for piece in pieces if piece not in self.measured and piece not in self.hopeless] or None

        self._until_done(to_measure, kind="measure")

    def _to_train(self, runs: Sequence[Run]) -> list[tuple[str, ...]] | None:
        """Ensembles that nobody trains; None once all runs have ended."""
        left = [run for run in runs if not self._has_ended(run.id)]
        given_up = {name for piece in self.hopeless for name in piece}
        if not [run for run in left if run.id not in given_up]:
            return None
        asked_for = {name for task in self.jobs.values() for name in task.runs}
        taken = asked_for | given_up | self.leases.held().keys()
        if not [run for run in left if run.id not in taken]:
            return []
        most = min(MODELS_AT_ONCE[self.engine.device], self.settings.get("models_at_once") or math.inf)
        # on GPUs bytes differ by rounding anyway; on CPUs the same company gives those of a local study
        shares = max(1, self.engine.workers()) if self.engine.device == "cuda" else 1
        found = arranged(runs, self.store, lambda run: int(most), shares, taken)
        return [tuple(run.id for run in piece) for piece in found]

    def _has_ended(self, name: str) -> bool:
        if name not in self.over and self.store.has_ended(name):
            self.over.add(name)
        return name in self.over

    def _until_done(self, wanted: Callable[[], Iterable[tuple[str, ...]] | None], kind: str = "train") -> None:
        while (pieces := wanted()) is not None:
            self._start(pieces, kind)
            for job, ending in self.engine.ended(SECONDS_BETWEEN_LOOKS):
                self._take(job, ending)
            self._take_from_the_hung()
            self.tell()
            if self.asked():
                self._stop()
                raise Interrupted("stopped the cluster's work")
        self._drain()
        if self.hopeless:
            first = next(iter(self.hopeless.values()))
            runs = sum(map(len, self.hopeless))
            raise OSError(f"{runs} runs could not be {'trained' if kind == 'train' else 'measured'}: {first}")

    def _start(self, pieces: Iterable[tuple[str, ...]], kind: str) -> None:
        under_way = {task.runs for task in self.jobs.values()}
        tasks = [
            Task(kind, str(self.store.folder.absolute()), piece, self.settings, self.shared)
            for piece in pieces
            if piece not in under_way and piece not in self.hopeless
        ]
        if tasks:
            self.jobs.update(zip(self.engine.start(tasks), tasks))

    def _take(self, job: Hashable, ending: Ending) -> None:
        task = self.jobs.pop(job, None)
        if task is None:  # it was taken away before
            return
        self.leases.revoke(task.job)
        if ending.error is None:
            if task.kind == "measure":
                self.measured.add(task.runs)
            return
        stands = self._stands(task)
        self.faults[stands] += 1
        if ending.fatal or self.faults[stands] >= MOST_ATTEMPTS:
            self.hopeless[task.runs] = ending.error
        elif not ending.lost:
            log.warning("%s; trying again", ending.error)
            time.sleep(min(5.0, 0.5 * self.faults[stands]))  # a full disk is not emptied at once
        else:
            log.warning("a worker of %s was lost (%s): its runs go on elsewhere", self.engine.words, ending.error)

    def _stands(self, task: Task) -> tuple:
        """How far a task is: one that gets further each time is not given up."""
        checkpoint = self.store.checkpoints_of(task.runs).newest
        age = checkpoint.stat().st_mtime_ns if checkpoint.exists() else 0
        return task.runs, age, sum(self.store.has_ended(name) for name in task.runs)

    def _take_from_the_hung(self) -> None:
        """A job that had its leases and renews them no more hangs, or its machine is gone."""
        found = {}
        for lease in self.leases.all().values():
            found.setdefault(lease.owner.get("job"), []).append(lease)
        for job, task in list(self.jobs.items()):
            leases = found.get(task.job, ())
            if any(lease.alive for lease in leases):
                self.started.add(task.job)
            elif leases and task.job in self.started:
                log.warning("a worker on %s is not heard of any more", leases[0].owner.get("host"))
                self.engine.stop(job, force=True)
                self._take(job, Ending(task, error="it did not renew its leases", lost=True))

    def _stop(self) -> None:
        """Every job saves what it has, and ends."""
        for job in self.jobs:
            self.engine.stop(job)
        self._drain(asked=True)

    def _drain(self, *, asked: bool = False) -> None:
        """Waits for jobs that have nothing left to do; who does not end within a lease's life is ended. One that was
        `asked` to has saved all when it has no lease any more, whenever its engine notices that it ended."""
        deadline = time.monotonic() + self.leases.seconds
        while self.jobs and time.monotonic() < deadline:
            for job, _ in self.engine.ended(0.2):
                self.jobs.pop(job, None)
            if asked:
                held = {lease.owner.get("job") for lease in self.leases.held().values()}
                for job in [job for job, task in self.jobs.items() if task.job not in held]:
                    self._end(job)
        for job in list(self.jobs):
            self._end(job)

    def _end(self, job: Hashable) -> None:
        self.engine.stop(job, force=True)
        self.leases.revoke(self.jobs.pop(job).job)


def check(engine: Engine, store: Store, runs: Sequence[Run]) -> bool:
    """Whether workers can read the data by themselves; ValueError or OSError, in one line, where a node will not do."""
    token = f".seen-{uuid.uuid4().hex}"
    place = store.folder / token
    place.touch()
    try:
        nodes = engine.nodes(str(store.folder.absolute()), token, runs[0].data)
    finally:
        place.unlink(missing_ok=True)
    for node in nodes:
        if (other := unlike(versions(), node.versions)) is not None:
            raise ValueError(f"{node.name} of {engine.words} has {other}: install the same on all nodes")
        if not node.sees_store:
            raise OSError(
                f"{node.name} of {engine.words} does not see {store.folder.absolute()}: choose an --out that is shared "
                "by all nodes"
            )
    by_name = "path" in runs[0].data or "name" in runs[0].data
    return by_name and all(node.sees_data for node in nodes)


def settings_of(
    device: str, runs: Sequence[Run], leases: Mapping[str, float] | None = None, **settings: Any
) -> dict[str, Any]:
    """What every task of a study is told beside its runs. Workers import modules of one's own functions from the folder
    this process runs in, or from where they are installed."""
    modules = sorted({name.partition(":")[0] for run in runs for name in run.sources if ":" in name})
    given = {"modules": modules, "modules_in": str(Path.cwd()) if modules else None, "versions": versions()} | settings
    given |= {"device": device, "leases": {"seconds": SECONDS, "hangs_after": HANGS_AFTER, **(leases or {})}}
    return {key: value for key, value in given.items() if value}


def hand_over(engine: Engine, store: Store, runs: Sequence[Run], dataset: Dataset) -> Any:
    """Checks the engine, files what the runs are, and returns the data as tasks carry them: nothing where workers find
    them by themselves."""
    readable = check(engine, store, runs)
    for run in runs:
        store.describe(run)
    return None if readable else engine.share(dataset)
