"""Which runs are to be trained now, in which company."""

import logging
from collections.abc import Callable, Collection, Sequence

from partita.studies._leases import Leases
from partita.studies._leftovers import collect
from partita.studies._verify import damage_of
from partita.studies.plan import ensembles
from partita.studies.run import Run
from partita.studies.store import Store

log = logging.getLogger("partita")


def prepare(runs: Sequence[Run], store: Store, leases: Leases, resume: bool) -> None:
    """What was trained before is checked, or, where nobody wants to `resume`, forgotten; leftovers are removed."""
    if not resume:
        _check_nobody_trains(runs, store, leases)
    whole = _whole(store) if resume else set()
    for run in runs:
        if not resume:
            store.forget(run)
        elif run.id not in whole:
            _check_whole(store, run)
    if not resume:
        known = {run.id for run in runs}
        for members in store.under_way():
            if known.issuperset(members):
                store.checkpoints_of(members).clear()
    leases.tidy(store.has_ended)
    collect(store)


def arranged(
    runs: Sequence[Run],
    store: Store,
    at_once: Callable[[Run], int],
    shares: int = 1,
    taken: Collection[str] = (),
) -> list[list[Run]]:
    """The ensembles to train. First those that were interrupted, as they were: only the same company gives the same
    bytes. Of one that was being filed, the runs that have their files already are not waited for, and not written
    again; but it goes on as a whole. Runs that are `taken` are somebody else's for now."""
    known = {run.id: run for run in runs}
    waiting = {run.id for run in runs if run.id not in taken and not store.has_ended(run.id)}
    pieces = []
    for members in store.under_way() if waiting else ():
        whole = all(member in known and member not in taken for member in members)
        if whole and any(member in waiting for member in members):
            pieces.append([known[member] for member in members])
            waiting.difference_update(members)
    return pieces + (ensembles(runs, at_once, shares, waiting) if waiting else [])


def _whole(store: Store) -> set[str]:
    """Runs whose files nobody has written since they were found whole."""
    try:
        return {entry.name for entry in store.entries() if entry.status is not None and entry.whole}
    except (OSError, ValueError):  # nothing is there yet
        return set()


def _check_nobody_trains(runs: Sequence[Run], store: Store, leases: Leases) -> None:
    held = leases.held()
    for run in runs:
        if run.id in held:
            raise OSError(
                f"another process is training in {store.folder} ({held[run.id].who}); wait for it, stop it, or choose "
                "another --out"
            )


def _check_whole(store: Store, run: Run) -> None:
    """A run that has ended and whose files are not whole is forgotten, and so trained again."""
    damaged = damage_of(store, run)
    for damage in damaged:
        log.warning("%s; the run is trained again", damage.words)
    if damaged:
        store.forget(run)
    elif store.result(run) is not None and store.describe(run):
        log.warning("%s was missing or damaged and is written again", store.folder_of(run) / "run.json")
    elif store.has_ended(run.id):
        store.note(run, whole=True)
