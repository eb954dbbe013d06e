"""Training the runs of a study: what is finished is left alone, what was under way goes on."""

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import torch
from filelock import FileLock, Timeout

from partita.data import Dataset
from partita.recipes import Recipe
from partita.studies.plan import MODELS_AT_ONCE, ensembles
from partita.studies.run import Run
from partita.studies.source import labels_of
from partita.studies.store import Store
from partita.studies.watching import watched_metrics
from partita.training import Ensemble, History, interruptible
from partita.training.device import worth_compiling
from partita.training.fit import NOTHING, SECONDS_BETWEEN_CHECKPOINTS, Watched
from partita.training.labels import required_labels
from partita.training.search import train_models

log = logging.getLogger("partita")

LOG_POINTS = 100

# Told at every log point: the runs of the ensemble, their history, steps done, steps in all.
Watch = Callable[[Sequence[Run], History, int, int], None]


def train(
    runs: Sequence[Run],
    dataset: Dataset,
    store: Store,
    *,
    device: torch.device,
    resume: bool = True,
    watch: Watch | None = None,
    log_metrics: str | Sequence[str] = (),
    checkpoint_seconds: float = SECONDS_BETWEEN_CHECKPOINTS,
) -> list[Run]:
    """Trains what is not finished, as few ensembles as structure allows; returns the runs that diverged.

    `log_metrics` are scores to log on the way (`studies.watching`); they are no part of what a run is.
    Raises Interrupted, with everything saved, when the process is asked to stop.
    """
    watched = watched_metrics(log_metrics, dataset) if log_metrics else NOTHING
    store.check_writable()
    with _locked(store), interruptible() as stop:
        if not resume:
            for run in runs:
                store.forget(run)
                store.checkpoints([run]).clear()
        pending = [run for run in runs if store.result(run) is None]
        for together in _arranged(pending, store if resume else None, MODELS_AT_ONCE[device.type]):
            _train_ensemble(together, dataset, store, device, resume, stop, watch, checkpoint_seconds, watched)
    return [run for run in runs if (store.result(run) or {}).get("status") == "diverged"]


def _arranged(pending: Sequence[Run], store: Store | None, at_once: int) -> Iterator[list[Run]]:
    """First the ensembles that were interrupted, as they were: only the same company gives the same bytes."""
    waiting = {run.id: run for run in pending}
    for members in store.under_way() if store else ():
        if all(member in waiting for member in members):
            yield [waiting.pop(member) for member in members]
    yield from ensembles(list(waiting.values()), at_once)


def _train_ensemble(
    runs: list[Run],
    dataset: Dataset,
    store: Store,
    device: torch.device,
    resume: bool,
    stop: Callable[[], bool],
    watch: Watch | None,
    checkpoint_seconds: float,
    watched: Watched,
) -> None:
    steps = runs[0].steps
    checkpoints = store.checkpoints(runs)
    if not resume:
        checkpoints.clear()
    recipes = [run.recipe for run in runs]
    labels = required_labels(recipes[0], runs[0].method, labels_of(dataset), dataset.size, dataset.labelled)

    def make(recipes: list[Recipe], seeds: list[int]) -> Ensemble:
        return Ensemble(
            recipes,
            seeds,
            dataset.x,
            x_scale=dataset.x_scale,
            u=None if labels is None else labels.u,
            labelled=None if labels is None else labels.labelled,
            batch_size=runs[0].batch_size,
            device=device,
            compiled=worth_compiling(steps, device),
        )

    def begin(history: History) -> None:
        for position, run in enumerate(runs):
            store.begin(run, history, position)

    def on_log(step: int, history: History) -> None:
        for position, run in enumerate(runs):
            store.log(run, history, position)
        if watch is not None:
            watch(runs, history, step, steps)

    discover = None
    if recipes[0].grouped is not None:
        from partita.structure import discover_groups as discover
    trained = train_models(
        recipes,
        [run.seed for run in runs],
        make,
        steps,
        log_every=max(1, steps // LOG_POINTS),
        checkpoints=checkpoints,
        discover=discover,
        on_begin=begin,
        on_log=on_log,
        stop=stop,
        watched=watched,
        seconds_between_checkpoints=checkpoint_seconds,
    )
    begin(trained.history)
    for position, run in enumerate(runs):
        diverged = trained.diverged(position)
        if diverged is not None:
            log.warning("%s: the loss was no longer finite at step %d; the run was ended", run.id, diverged)
        store.finish(run, trained.models[position], trained.step, diverged, trained.found)
    checkpoints.clear()


@contextmanager
def _locked(store: Store) -> Iterator[None]:
    lock = FileLock(store.folder / ".lock", timeout=0)
    try:
        with lock:
            yield
    except Timeout:
        raise OSError(f"another process is training in {store.folder}; wait for it or choose another --out") from None
