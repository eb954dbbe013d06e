"""Training the runs of a study: what is finished is left alone, what was under way goes on."""

from collections.abc import Sequence

import torch

from partita.data import Dataset
from partita.studies._arrange import prepare
from partita.studies._earlier import as_filed
from partita.studies._ensemble_trainer import StudyCallback, Watch
from partita.studies._leftovers import collect
from partita.studies._shares import splits_rows
from partita.studies._train_here import Manner, train_here, train_together
from partita.studies._watching import watched_metrics
from partita.studies.run import Run
from partita.studies.store import Store
from partita.training import interruptible
from partita.training.callbacks import check_callbacks
from partita.training.fit import NOTHING, SECONDS_BETWEEN_CHECKPOINTS
from partita.training.ranks import ALONE, Ranks


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
    models_at_once: int | None = None,
) -> list[Run]:
    """Trains what is not finished, as few ensembles as structure allows; returns the runs that diverged.

    `callbacks` are functions `(run, step, quantities)`, called at the log points of every run with a dict of floats.
    How long a run trains is part of what it is, so they only watch (`Disentangler` has callbacks that end a run).
    `log_metrics` are scores to log on the way (`studies._watching`); they are no part of what a run is.
    Of several `ranks` each trains its share of the runs, or of every batch its share of the rows (`studies._shares`);
    the first one alone answers for all. Raises Interrupted, with everything saved, when the process is asked to stop.

    Other processes may train in the same folder, also on other machines: each takes what nobody else has (`_leases`),
    and all return when all runs asked for have ended.

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
    models_at_once : at most so many in one ensemble; None for as many as memory bears.

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
    manner = Manner(watch, check_callbacks(callbacks), watched, checkpoint_seconds, models_at_once)
    leases = store.leases()
    if ranks.first:
        store.check_writable()
    with interruptible(patient=ranks.size > 1) as asked:
        if ranks.first:
            prepare(runs, store, leases, resume)
        if ranks.size > 1:
            train_together(runs, dataset, store, device, asked, leases, manner, ranks, together)
        else:
            train_here(runs, dataset, store, device, asked, leases, manner)
        if ranks.first:
            collect(store)
    return [run for run in runs if ranks.first and (store.result(run) or {}).get("status") == "diverged"]
