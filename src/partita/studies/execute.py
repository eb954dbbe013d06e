"""Training the runs of a study: what is finished is left alone, what was under way goes on."""

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext

import numpy as np
import torch
from filelock import FileLock, Timeout

from partita.data import Dataset
from partita.recipes import Recipe
from partita.studies.plan import MODELS_AT_ONCE, ensembles
from partita.studies.run import Run
from partita.studies.shares import dealt, splits_rows
from partita.studies.source import labels_of
from partita.studies.store import Store
from partita.studies.watching import watched_metrics
from partita.training import Ensemble, History, Interrupted, interruptible
from partita.training.device import worth_compiling
from partita.training.finding import Discover
from partita.training.fit import NOTHING, SECONDS_BETWEEN_CHECKPOINTS, Watched
from partita.training.labels import required_labels
from partita.training.ranks import ALONE, Ranks
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
    ranks: Ranks = ALONE,
    split: str = "auto",
) -> list[Run]:
    """Trains what is not finished, as few ensembles as structure allows; returns the runs that diverged.

    `log_metrics` are scores to log on the way (`studies.watching`); they are no part of what a run is.
    Of several `ranks` each trains its share of the runs, or of every batch its share of the rows (`studies.shares`);
    the first one alone answers for all. Raises Interrupted, with everything saved, when the process is asked to stop.
    """
    together = ranks if splits_rows(split, len(runs), ranks.size) else ALONE
    watched = watched_metrics(log_metrics, dataset) if log_metrics else NOTHING
    known = {run.id: run for run in runs}
    if ranks.first:
        store.check_writable()
    with _locked(store) if ranks.first else nullcontext(), interruptible(patient=ranks.size > 1) as asked:
        shares = ranks.size // together.size
        arranged = _arranged(runs, store, resume, MODELS_AT_ONCE[device.type], shares) if ranks.first else None
        try:
            for members in ranks.tell(arranged)[ranks.rank % shares]:
                mine = [known[member] for member in members]
                _train_ensemble(
                    mine, dataset, store, device, resume, asked, watch, checkpoint_seconds, watched, together
                )
        except Interrupted:
            together.wait()  # until the first rank has saved what all of them trained
            raise
        _wait_for_all(ranks, asked)
    return [run for run in runs if ranks.first and (store.result(run) or {}).get("status") == "diverged"]


def _arranged(runs: Sequence[Run], store: Store, resume: bool, at_once: int, shares: int) -> list[list[list[str]]]:
    """For each share the ensembles to train, as ids. First those that were interrupted, as they were: only the same
    company gives the same bytes."""
    if not resume:
        for run in runs:
            store.forget(run)
            store.checkpoints([run]).clear()
    waiting = {run.id: run for run in runs if store.result(run) is None}
    pieces = []
    for members in store.under_way() if resume else ():
        if all(member in waiting for member in members):
            pieces.append([waiting.pop(member) for member in members])
    return dealt(pieces + ensembles(list(waiting.values()), at_once, shares), shares)


def _wait_for_all(ranks: Ranks, asked: Callable[[], bool]) -> None:
    """A rank whose runs are done waits for the others; where they were asked to stop, so was it."""
    try:
        ranks.wait()
    except OSError:
        if asked():
            raise Interrupted("stopped before all processes were done") from None
        raise


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
    ranks: Ranks,
) -> None:
    steps = runs[0].steps
    checkpoints = store.checkpoints(runs)
    if not resume:
        if ranks.first:
            checkpoints.clear()
        ranks.wait()
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
            ranks=ranks,
        )

    def begin(history: History) -> None:
        for position, run in enumerate(runs if ranks.first else ()):
            store.begin(run, history, position)

    def on_log(step: int, history: History) -> None:
        for position, run in enumerate(runs if ranks.first else ()):
            store.log(run, history, position)
        if watch is not None and ranks.first:
            watch(runs, history, step, steps)

    discover = None if recipes[0].grouped is None else _discovery(ranks)
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
        stop=ranks.agreed(stop),
        watched=watched if ranks.first else NOTHING,
        seconds_between_checkpoints=checkpoint_seconds,
    )
    if not ranks.first:
        return
    begin(trained.history)
    for position, run in enumerate(runs):
        diverged = trained.diverged(position)
        if diverged is not None:
            log.warning("%s: the loss was no longer finite at step %d; the run was ended", run.id, diverged)
        store.finish(run, trained.models[position], trained.step, diverged, trained.found)
    checkpoints.clear()


def _discovery(ranks: Ranks) -> Discover:
    """Groups of the first rank's codes, so that all ranks find the same."""
    from partita.structure import discover_groups

    def discover(codes: np.ndarray):
        common = torch.tensor(codes)
        ranks.share([common])
        return discover_groups(common.numpy())

    return discover


@contextmanager
def _locked(store: Store) -> Iterator[None]:
    lock = FileLock(store.folder / ".lock", timeout=0)
    try:
        with lock:
            yield
    except Timeout:
        raise OSError(f"another process is training in {store.folder}; wait for it or choose another --out") from None
