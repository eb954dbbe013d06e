"""How a study stands, whoever trains it: read from its folder, from anywhere that sees it."""

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from partita.studies._index import Entry
from partita.studies._leases import Lease
from partita.studies.store import Store

BYTES_OF_THE_LAST_LINE = 4096


@dataclass(frozen=True)
class Worker:
    """Runs that one process trains together, and where they stand."""

    who: str
    method: str
    models: int
    step: int
    steps: int
    renewed: float

    def __str__(self) -> str:
        stands = f"step {self.step} of {self.steps}" if self.step else "not at its first log point yet"
        return f"{self.who}: {self.method}, {self.models} models, {stands}, heard of {self.renewed:.0f} s ago"


@dataclass(frozen=True)
class Status:
    runs: int
    finished: int
    diverged: int
    under_way: int
    waiting: int
    measured: int
    workers: tuple[Worker, ...]
    dead: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        return {**vars(self), "workers": [vars(worker) for worker in self.workers]}

    def lines(self, folder: Path) -> list[str]:
        said = f"{self.runs} runs: {self.finished} finished, {self.diverged} diverged, {self.under_way} under way, "
        said += f"{self.waiting} waiting; {self.measured} measured"
        dead = [f"  dead: {who}; whoever trains next takes its runs over" for who in self.dead]
        return [f"{folder}: {said}", *(f"  {worker}" for worker in self.workers), *dead]


def status_of(store: Store) -> Status:
    """Counts by the index; those under way by their leases and logs. ValueError when there are no runs."""
    entries = store.entries()
    known = {entry.name: entry for entry in entries}
    leases = [lease for lease in store.leases().all().values() if lease.run in known and not known[lease.run].status]
    alive = [lease for lease in leases if lease.alive]
    groups: dict[str, list[Lease]] = {}
    for lease in alive:
        groups.setdefault(lease.owner.get("key", lease.run), []).append(lease)
    ended = [sum(entry.status == how for entry in entries) for how in ("finished", "diverged")]
    return Status(
        len(entries),
        *ended,
        under_way=len(alive),
        waiting=len(entries) - sum(ended) - len(alive),
        measured=sum(bool(entry.scored) for entry in entries),
        workers=tuple(_worker(group, known[group[0].run]) for group in groups.values()),
        dead=tuple(sorted({lease.who for lease in leases if not lease.alive})),
    )


def _worker(leases: list[Lease], entry: Entry) -> Worker:
    step = _last_step(entry.folder / "history.jsonl")
    age = min(lease.age for lease in leases)
    return Worker(leases[0].who, entry.method, len(leases), step, entry.run.steps, max(0.0, age))


def _last_step(path: Path) -> int:
    try:
        with path.open("rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - BYTES_OF_THE_LAST_LINE))
            lines = file.read().split(b"\n")[:-1]
        return int(json.loads(lines[-1])["step"])
    except (OSError, ValueError, KeyError, IndexError, TypeError):
        return 0
