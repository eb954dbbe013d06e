"""What engines and those who use them say to each other."""

import platform
import uuid
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from partita import __version__
from partita.data import Dataset


@dataclass(frozen=True)
class Task:
    """Runs of one store, by their ids, to be trained as one ensemble, or measured. All of it is small: data are found
    by the runs' own description, or are the engine's to hand over (`shared`, what `Engine.share` returned)."""

    kind: str  # "train" or "measure"
    store: str
    runs: tuple[str, ...]
    settings: Mapping[str, Any] = field(default_factory=dict)
    shared: Any = None
    job: str = field(default_factory=lambda: uuid.uuid4().hex)


@dataclass(frozen=True)
class Ending:
    """How a task ended: runs that others have `taken`, or in words what went wrong; `lost` where it was the worker that
    died, and `fatal` where it would go wrong anywhere."""

    task: Task
    taken: tuple[str, ...] = ()
    error: str | None = None
    lost: bool = False
    fatal: bool = False


@dataclass(frozen=True)
class Node:
    """What a worker's machine has: versions, and whether it sees the study's folder and the file of the data."""

    name: str
    versions: Mapping[str, str]
    sees_store: bool
    sees_data: bool


def versions() -> dict[str, str]:
    """Of this process, in which whoever works together must agree: of Python to the minor."""
    return {"Python": ".".join(platform.python_version_tuple()[:2]), "partita": __version__}


def unlike(here: Mapping[str, str], there: Mapping[str, str]) -> str | None:
    """In words, what is another version there."""
    differing = [
        f"{name} {there[name]} (here {here[name]})" for name in here if there.get(name, here[name]) != here[name]
    ]
    return " and ".join(differing) or None


class Engine(Protocol):
    """Maps tasks to workers."""

    words: str  # how a person knows it
    device: str  # of its workers: "cpu" or "cuda"
    stays: bool  # whether tasks go on when this process has ended

    def workers(self) -> int:
        """How many there are now."""
        ...

    def nodes(self, store: str, token: str, data: Mapping[str, Any]) -> list[Node]:
        """What every node says of itself; none where it cannot be asked beforehand."""
        ...

    def share(self, dataset: Dataset) -> Any:
        """Makes data that no worker can read by itself available to all, once."""
        ...

    def start(self, tasks: Sequence[Task]) -> list[Hashable]:
        """Hands tasks over and returns at once: a job each."""
        ...

    def ended(self, seconds: float) -> list[tuple[Hashable, Ending]]:
        """Jobs that have ended since; waits for one at most so long."""
        ...

    def stop(self, job: Hashable, *, force: bool = False) -> None:
        """Asks a job to save what it has and end; by `force`, to end."""
        ...

    def detach(self, request: Mapping[str, Any]) -> None:
        """Has the engine drive these runs by itself, whatever becomes of this process."""
        ...

    def recall(self, store: Path) -> None:
        """Ends what was left to it before, of this study."""
        ...

    def close(self) -> None: ...
