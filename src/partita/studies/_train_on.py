"""Training and measuring on an engine: the same runs, the same store, other workers."""

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from partita.data import Dataset
from partita.studies._arrange import prepare
from partita.studies._earlier import as_filed
from partita.studies._leftovers import collect
from partita.studies._measure import measured_already
from partita.studies._scoring import asked_for
from partita.studies._verify import survey
from partita.studies.engines import Engine
from partita.studies.engines._drive import Drive, hand_over, settings_of
from partita.studies.run import Run
from partita.studies.source import identity, reload
from partita.studies.store import Store
from partita.training import Interrupted, interruptible

log = logging.getLogger("partita")

RUNS_A_TASK = 8  # that are measured by one worker, one after the other


def train_on(
    engine: Engine,
    runs: Sequence[Run],
    dataset: Dataset,
    store: Store,
    *,
    device: str = "auto",
    resume: bool = True,
    detach: bool = False,
    tell: Callable[[], None] = lambda: None,
    leases: Mapping[str, float] | None = None,
    **settings: Any,
) -> list[Run]:
    """As `train` does, on an engine's workers. To `detach` is to leave the work to the cluster and return at once."""
    runs = as_filed(runs, store)
    store.check_writable()
    with interruptible() as asked:
        shared = hand_over(engine, store, runs, dataset)
        prepare(runs, store, store.leases(**(leases or {})), resume)
        given = settings_of(device, runs, leases, **settings)
        if detach:
            names = [run.id for run in runs]
            engine.detach({"store": str(store.folder.absolute()), "runs": names, "settings": given, "shared": shared})
            return []
        try:
            Drive(store, engine, given, shared, tell, asked).train(runs)
        except Interrupted:
            engine.recall(store.folder)
            raise
        collect(store)
    return [run for run in runs if (store.result(run) or {}).get("status") == "diverged"]


def measure_on(
    engine: Engine,
    store: Store,
    metrics: str,
    *,
    device: str = "auto",
    again: bool = False,
    tell: Callable[[], None] = lambda: None,
) -> None:
    """Measures every finished run that lacks scores; what cannot be measured is said by `measure` after it."""
    asked_for(metrics)
    known = store.look_up()
    done = set() if again else {entry.name for entry, _ in measured_already(store, known.entries, metrics)}
    waiting: dict[str, list[Run]] = {}
    for run in survey(store, deep=False, known=known, without=done).finished:
        waiting.setdefault(repr(identity(run.data)), []).append(run)
    with interruptible() as asked:
        for runs in waiting.values():
            shared = hand_over(engine, store, runs, reload(runs[0].data, store.folder))
            given = settings_of(device, runs, metrics=metrics, again=again)
            size = max(1, min(RUNS_A_TASK, -(-len(runs) // max(1, engine.workers()))))
            try:
                Drive(store, engine, given, shared, tell, asked).measure(runs, size)
            except OSError as error:
                log.warning("%s; they are looked at here", error)
