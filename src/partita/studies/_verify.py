"""Whether all that a study stores is whole; and, where it is not, what is to be trained or measured again."""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from partita.studies._index import Known, folders_with_age, names_in, nothing_collected
from partita.studies.run import Run
from partita.studies.store import Store
from partita.training.checkpoint import NAMES, read_checkpoint
from partita.training.files import digest_of, move, remove_folder


@dataclass(frozen=True)
class Damage:
    """A file that cannot be used, whose it is, and why, in words that name it."""

    owner: str
    file: Path
    words: str

    def __str__(self) -> str:
        return f"{self.owner}: {self.words}"


@dataclass(frozen=True)
class Survey:
    """The runs of a study by how they ended, those with damaged files apart; `checkpoints` that cannot be read. Runs
    that are `lacking` a function of one's own have whole files, and are among the others."""

    finished: list[Run] = field(default_factory=list)
    diverged: list[Run] = field(default_factory=list)
    unfinished: list[Run] = field(default_factory=list)
    damaged: list[Damage] = field(default_factory=list)
    checkpoints: list[Damage] = field(default_factory=list)
    lacking: list[Damage] = field(default_factory=list)


def survey(
    store: Store, *, deep: bool = True, known: Known | None = None, without: Collection[str] = frozenset()
) -> Survey:
    """Reads every file of the study and checks digests, names and shapes; ValueError when it holds no runs. Unless
    `deep`, files that nobody has written since they were found whole are not read again, nor are checkpoints; then
    `known` may be what `Store.look_up` said just now, and runs `without` interest are left out.

    Scores that are damaged are named, but their run counts as what it is: they are measured again.
    """
    found, unknown = Survey(), []
    if deep:
        unknown = [path for _, path, _ in folders_with_age(store.folder / "runs")]
    else:
        known = store.look_up() if known is None else known
        unknown = list(known.trouble)
        with nothing_collected():
            for entry in known.entries:
                if entry.name in without:
                    continue
                if entry.status is not None and entry.whole:
                    getattr(found, entry.status).append(_with_its_functions(entry.run, entry.path, found))
                else:
                    unknown.append(entry.path)
    for path in unknown:
        if names_in(path):
            _look(store, Path(path), found)
    if not without and not any(getattr(found, each.name) for each in fields(found)):
        store.folders()  # says that there is nothing
    if deep:
        found.checkpoints.extend(_damaged_checkpoints(store.folder))
    for runs in (found.finished, found.diverged, found.unfinished) if unknown else ():  # else they are in order
        runs.sort(key=lambda run: (run.setting, run.seed))
    for damages in (found.damaged, found.lacking):
        damages.sort(key=lambda damage: damage.owner)
    return found


def _look(store: Store, folder: Path, found: Survey) -> None:
    """Reads all files of one run."""
    try:
        run = store.run_in(folder)
    except (ValueError, OSError) as error:
        found.damaged.append(Damage(folder.name, folder / "run.json", str(error)))
        return
    _with_its_functions(run, str(folder), found)
    damaged, result = _checked(store, run)
    scores = _of(store, run, "scores.json", store.scores)
    found.damaged.extend(damaged + scores)
    if not damaged:
        getattr(found, "unfinished" if result is None else result["status"]).append(run)
        if result is not None and not scores:
            store.note(run, whole=True)


def _with_its_functions(run: Run, folder: str, found: Survey) -> Run:
    if run.sources and (why := run.lacks) is not None:
        found.lacking.append(Damage(run.id, Path(folder) / "run.json", why))
    return run


def damage_of(store: Store, run: Run) -> list[Damage]:
    """What a run that has ended lacks, or has otherwise than it was written; nothing of one under way."""
    return _checked(store, run)[0]


def _checked(store: Store, run: Run) -> tuple[list[Damage], dict[str, Any] | None]:
    """The same, and how the run has ended. That is read once: one under way may end meanwhile, and is not looked at."""
    try:
        result = store.result(run)
    except (ValueError, OSError) as error:
        return [Damage(run.id, store.folder_of(run) / "result.json", str(error))], None
    if result is None:
        return [], None
    read = store.model if run.lacks is None else store.weights
    weights = _of(store, run, "weights.safetensors", read)
    return weights + _of(store, run, "history.jsonl", lambda run: _check_history(store, run, result)), result


def repair(store: Store, found: Survey) -> None:
    """Puts damaged files aside, so that the same `partita train` trains their runs again."""
    for damage in found.damaged:
        folder = damage.file.parent
        if damage.file.name == "run.json":  # nobody knows what the rest belongs to
            aside = sorted(path for path in folder.iterdir() if path.is_file())
        elif damage.file.name == "scores.json":
            aside = [damage.file]
        else:
            names = ("result.json", "weights.safetensors", "history.jsonl", "scores.json")
            aside = [folder / name for name in names]
        for path in aside:
            if path.exists():
                move(path, store.folder / "damaged" / damage.owner / path.name)
        remove_folder(folder)
    for damage in found.checkpoints:
        move(damage.file, store.folder / "damaged" / damage.file.relative_to(store.folder))


def _check_history(store: Store, run: Run, result: dict[str, Any]) -> None:
    path = store.folder_of(run) / "history.jsonl"
    if not path.exists():
        raise ValueError(f"{path} is missing")
    steps = store.history(run).get("step", ())
    if "history" in result and result["history"] != digest_of(path.read_bytes()):
        raise ValueError(f"{path} is damaged: its content does not match its digest")
    if len(steps) == 0 or steps[-1] != result["step"]:
        raise ValueError(f"{path} is damaged: it does not end where the run did, at step {result['step']}")


def _of(store: Store, run: Run, name: str, read: Callable[[Run], object]) -> list[Damage]:
    try:
        read(run)
    except (ValueError, OSError) as error:
        return [Damage(run.id, store.folder_of(run) / name, str(error))]
    return []


def _damaged_checkpoints(folder: Path) -> Iterator[Damage]:
    for path in sorted(folder.glob("ensembles/**/*.safetensors")):
        if path.name in NAMES:
            try:
                read_checkpoint(path)
            except FileNotFoundError:  # a later one has taken its place, or the runs have ended
                continue
            except (ValueError, OSError) as error:
                yield Damage(str(path.relative_to(folder).parent), path, str(error))
