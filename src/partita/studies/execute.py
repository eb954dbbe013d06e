"""Training the runs of a study: what is finished is left alone, what was under way goes on."""

import logging
from collections.abc import Callable, Sequence
from contextlib import nullcontext

import torch

from partita.data import Dataset
from partita.studies._earlier import as_filed
from partita.studies._ensemble_trainer import EnsembleTrainer, StudyCallback, Watch
from partita.studies._leftovers import collect
from partita.studies._memory_budget import MemoryBudget, data_on, say_peak
from partita.studies._precompile import precompile
from partita.studies._shares import dealt, splits_rows
from partita.studies._verify import damage_of
from partita.studies._watching import watched_metrics
from partita.studies.plan import ensembles
from partita.studies.run import Run
from partita.studies.store import Store
from partita.training import Interrupted, interruptible
from partita.training.callbacks import check_callbacks
from partita.training.fit import NOTHING, SECONDS_BETWEEN_CHECKPOINTS
from partita.training.ranks import ALONE, Ranks
from partita.training.steps import side_by_side

log = logging.getLogger("partita")


def train(
    runs: Sequence[Run],
    dataset: Dataset,
    store: Store,
    *,
    device: torch.device,
    resume: bool = True,
    watch: Watch | None = None,
    callbacks: Sequence[StudyCallback] = (),
    log_metrics: str | Sequence[str] = (),
    checkpoint_seconds: float = SECONDS_BETWEEN_CHECKPOINTS,
    ranks: Ranks = ALONE,
    split: str = "auto",
) -> list[Run]:
    """Trains what is not finished, as few ensembles as structure allows; returns the runs that diverged.

    `callbacks` are functions `(run, step, quantities)`, called at the log points of every run with a dict of floats.
    How long a run trains is part of what it is, so they only watch (`Disentangler` has callbacks that end a run).
    `log_metrics` are scores to log on the way (`studies._watching`); they are no part of what a run is.
    Of several `ranks` each trains its share of the runs, or of every batch its share of the rows (`studies._shares`);
    the first one alone answers for all. Raises Interrupted, with everything saved, when the process is asked to stop.

    Parameters
    ----------
    runs : as `plan` makes them.
    dataset : that they were planned for.
    store : the folder they are kept in.
    device : to train on.
    resume : False forgets what was trained before.
    watch : told of progress.
    callbacks, log_metrics : see above.
    checkpoint_seconds : between checkpoints.
    ranks, split : processes that train together, and whether they split runs or rows.

    Returns
    -------
    list of Run
        Those that diverged.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from partita.data import load
    >>> from partita.studies import plan
    >>> data, folder = load("groups", size=80), TemporaryDirectory()
    >>> store = Store(Path(folder.name))
    >>> runs = plan("pca", data)
    >>> train(runs, data, store, device=torch.device("cpu"))
    []
    >>> store.result(runs[0])["status"]
    'finished'
    >>> folder.cleanup()
    """
    runs = as_filed(runs, store)
    together = ranks if splits_rows(split, len(runs), ranks.size) else ALONE
    watched = watched_metrics(log_metrics, dataset) if log_metrics else NOTHING
    known = {run.id: run for run in runs}
    if ranks.first:
        store.check_writable()
    with store.locked() if ranks.first else nullcontext(), interruptible(patient=ranks.size > 1) as asked:
        shares = ranks.size // together.size
        x, budget = data_on(dataset, device), MemoryBudget(dataset.size, device)
        arranged = _arranged(runs, store, resume, budget.models, shares) if ranks.first else None
        mine = [[known[member] for member in members] for members in ranks.tell(arranged)[ranks.rank % shares]]
        trainer = EnsembleTrainer(
            dataset, x, store, device, asked, watch, checkpoint_seconds, watched, together, check_callbacks(callbacks)
        )
        at_once = budget.ensembles(mine) if together.size == 1 else 1
        if at_once > 1:
            precompile(mine, dataset.size, device, asked)
        try:
            side_by_side(map(trainer.train, mine), device, at_once)
        except Interrupted:
            together.wait()  # until the first rank has saved what all of them trained
            raise
        say_peak(device)
        _wait_for_all(ranks, asked)
        if ranks.first:
            collect(store)
    return [run for run in runs if ranks.first and (store.result(run) or {}).get("status") == "diverged"]


def _arranged(
    runs: Sequence[Run], store: Store, resume: bool, at_once: Callable[[Run], int], shares: int
) -> list[list[list[str]]]:
    """For each share the ensembles to train, as ids. First those that were interrupted, as they were: only the same
    company gives the same bytes. Of one that was being filed, the runs that have their files already are not waited
    for, and not written again; but it goes on as a whole."""
    for run in runs:
        if resume:
            _check_whole(store, run)
        else:
            store.forget(run)
            store.checkpoints([run]).clear()
    collect(store)
    known = {run.id: run for run in runs}
    waiting = {run.id for run in runs if store.result(run) is None}
    pieces = []
    for members in store.under_way() if resume else ():
        if all(member in known for member in members) and any(member in waiting for member in members):
            pieces.append([known[member] for member in members])
            waiting.difference_update(members)
    pieces += ensembles(runs, at_once, shares, waiting)
    for members in pieces if not resume else ():
        store.checkpoints(members).clear()
    return dealt(pieces, shares)


def _check_whole(store: Store, run: Run) -> None:
    """A run that has ended and whose files are not whole is forgotten, and so trained again."""
    damaged = damage_of(store, run)
    for damage in damaged:
        log.warning("%s; the run is trained again", damage.words)
    if damaged:
        store.forget(run)
    elif store.result(run) is not None and store.describe(run):
        log.warning("%s was missing or damaged and is written again", store.folder_of(run) / "run.json")


def _wait_for_all(ranks: Ranks, asked: Callable[[], bool]) -> None:
    """A rank whose runs are done waits for the others; where they were asked to stop, so was it."""
    try:
        ranks.wait()
    except OSError:
        if asked():
            raise Interrupted("stopped before all processes were done") from None
        raise
