"""What a killed process leaves behind, and nobody needs: found, and collected at the next start."""

from pathlib import Path

from partita.studies._index import folders_with_age, names_in
from partita.studies.store import Store
from partita.training import Checkpoints
from partita.training.checkpoint import company_of
from partita.training.files import abandoned, remove, remove_folder


def leftovers(store: Store) -> list[Path]:
    """Temporary files that nobody writes any more, folders in which nothing is, checkpoints of runs that have ended."""
    hidden, empty = _looked_through(store)
    return sorted([path for path in hidden if abandoned(path)] + empty + _over(store))


def collect(store: Store) -> None:
    """Removes them. Files that others write meanwhile are not touched."""
    hidden, empty = _looked_through(store)
    for path in hidden:
        if abandoned(path):
            remove(path)
    for folder in _over(store):
        Checkpoints(folder, ()).clear()
    for folder in empty:
        remove_folder(folder)


def _looked_through(store: Store) -> tuple[list[Path], list[Path]]:
    """Hidden files, and folders of runs in which nothing is, or nothing but those that are abandoned."""
    hidden, empty = [path for path in store.folder.glob(".*") if path.is_file()], []
    hidden += [path for path in store.folder.glob("ensembles/**/.*") if path.is_file()]
    hidden += [path for path in store.folder.glob("index/.*") if path.is_file()]
    for _, path, _ in folders_with_age(store.folder / "runs"):
        folder = Path(path)
        names = names_in(folder)
        own = [folder / name for name in names if name.startswith(".")]
        hidden += own
        if len(own) == len(names) and all(map(abandoned, own)):
            empty.append(folder)
    return hidden, empty


def _over(store: Store) -> list[Path]:
    return [folder for folder in store.folder.glob("ensembles/*") if folder.is_dir() and _is_over(store, folder)]


def _is_over(store: Store, folder: Path) -> bool:
    """Whether all runs of an ensemble have ended, or none has left anything there."""
    if not any(path.is_file() for path in folder.rglob("*")):
        return True
    members = company_of(folder)
    return members is not None and all(store.has_ended(run) for run in members)
