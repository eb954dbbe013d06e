"""What a killed process leaves behind, and nobody needs: found, and collected at the next start."""

from pathlib import Path

from partita.studies.store import Store
from partita.training import Checkpoints
from partita.training.checkpoint import company_of
from partita.training.files import abandoned, remove, remove_folder


def leftovers(store: Store) -> list[Path]:
    """Temporary files that nobody writes any more, folders in which nothing is, checkpoints of runs that have ended."""
    found = [path for path in _files(store) if abandoned(path)]
    return sorted(found + _empty(store) + _over(store))


def collect(store: Store) -> None:
    """Removes them. Whoever calls holds the study's lock; files that others write meanwhile are not touched."""
    for path in _files(store):
        if abandoned(path):
            remove(path)
    for folder in _over(store):
        Checkpoints(folder, ()).clear()
    for folder in _empty(store):
        remove_folder(folder)


def _files(store: Store) -> list[Path]:
    folders = [store.folder, *store.folder.glob("runs/*"), *store.folder.glob("ensembles/**/")]
    return [path for folder in folders if folder.is_dir() for path in folder.glob(".*") if path.is_file()]


def _empty(store: Store) -> list[Path]:
    return [folder for folder in store.folder.glob("runs/*") if folder.is_dir() and not any(folder.iterdir())]


def _over(store: Store) -> list[Path]:
    return [folder for folder in store.folder.glob("ensembles/*") if folder.is_dir() and _is_over(store, folder)]


def _is_over(store: Store, folder: Path) -> bool:
    """Whether all runs of an ensemble have ended, or none has left anything there."""
    if not any(path.is_file() for path in folder.rglob("*")):
        return True
    members = company_of(folder)
    return members is not None and all((store.folder / "runs" / run / "result.json").exists() for run in members)
