"""What a study holds, without opening the files of every run: a log a shard, made again from the folders.

DIR/index/<shard>.jsonl has a line for whatever happened to a run: in short, then the run itself. A line counts only as
long as the run's folder is as old as it says, so the folders are the truth and a line that is lost, cut or out of date
costs one look at them. Nothing is locked: lines are appended, and a log is put in order by replacing it.
"""

import json
import logging
import os
import re
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from partita.studies.run import Run
from partita.training.files import append_line, make_folder, write_bytes

log = logging.getLogger("partita.index")

SHARD = re.compile("[0-9a-f]{2}")
# A folder that changed so lately may change again without growing older, by the clock of its file system.
SECONDS_TOO_FRESH = 2.0
# From this many runs on it is said how long it took to look at all of them.
MANY = 1000


def shard_of(name: str) -> str:
    """The first two digits of the digest that a run's id ends with."""
    start = name.rpartition("-")[2][:2]
    return start if SHARD.fullmatch(start) else "00"


@dataclass(frozen=True)
class Entry:
    """A run as the index knows it. `status` is finished, diverged, or None; `whole` a stamp of files once checked."""

    name: str
    folder: Path
    about: dict[str, Any]
    body: str = field(repr=False)
    read: Callable[[Path], Run] = field(repr=False)

    @property
    def status(self) -> str | None:
        return self.about["status"]

    @property
    def method(self) -> str:
        return self.about["method"]

    @property
    def seed(self) -> int:
        return self.about["seed"]

    @property
    def setting(self) -> str:
        return self.about["setting"]

    @property
    def run(self) -> Run:
        if zlib.crc32(self.body.encode()) == self.about["sum"]:
            return Run.from_json(json.loads(self.body))
        return self.read(self.folder)

    @property
    def whole(self) -> bool:
        """Whether all files are as they were when somebody last read them and found nothing wrong."""
        return self.about.get("whole") is not None and self.about["whole"] == stamp(self.folder)


def note(index: Path, folder: Path, run: Run, result: dict[str, Any] | None, *, whole: bool = False) -> None:
    """Adds a line on a run whose files have just been written, or looked at. A disk that is full costs a line."""
    with suppress(OSError):
        age = os.stat(folder).st_mtime_ns
        make_folder(index)
        line = _line(folder, age, run, result, stamp(folder) if whole else None)
        append_line(index / f"{shard_of(folder.name)}.jsonl", line)


def folders_with_age(runs: Path) -> Iterator[tuple[Path, int]]:
    """Every folder of a run, in shards and, as partita 0.1 had them, beside them; and when it last changed."""
    for entry in _entries(runs):
        if SHARD.fullmatch(entry.name):
            yield from ((Path(inner.path), inner.stat().st_mtime_ns) for inner in _entries(Path(entry.path)))
        else:
            yield Path(entry.path), entry.stat().st_mtime_ns


def entries(study: Path, read: Callable[[Path], tuple[Run, dict[str, Any] | None]]) -> tuple[list[Entry], list[str]]:
    """All runs, by the index where it is right and else by `read`, whose errors are the second answer."""
    began, index = time.monotonic(), study / "index"
    there = {folder.name: (folder, age) for folder, age in folders_with_age(study / "runs")}
    found, trouble, cold = {}, [], 0
    lines, crowded = _known(index)
    for name, (folder, age) in there.items():
        known = lines.get(name)
        if known is not None and known[0]["age"] == age:
            found[name] = Entry(name, folder, *known, lambda folder: read(folder)[0])
            continue
        cold += 1
        try:
            run, result = read(folder)
        except (ValueError, OSError) as error:
            if any(folder.iterdir()):  # of an empty one there is nothing to say
                trouble.append(str(error))
            continue
        line = _line(folder, age, run, result, None)
        found[name] = Entry(name, folder, *_parsed(line), lambda folder: read(folder)[0])
        if time.time() - age / 1e9 > SECONDS_TOO_FRESH:
            with suppress(OSError):
                make_folder(index)
                append_line(index / f"{shard_of(name)}.jsonl", line)
    if cold >= MANY:
        log.info("index of %d runs made from %d folders in %.1f s", len(there), cold, time.monotonic() - began)
    for shard in crowded:
        _put_in_order(index / f"{shard}.jsonl", [e for e in found.values() if shard_of(e.name) == shard])
    return list(found.values()), trouble


def stamp(folder: Path) -> int:
    """Of the names, sizes and times of all files: a file that was written again has another."""
    files = sorted((entry.name, entry.stat().st_size, entry.stat().st_mtime_ns) for entry in os.scandir(folder))
    return zlib.crc32(repr(files).encode())


def _entries(folder: Path) -> Iterable[os.DirEntry]:
    try:
        with os.scandir(folder) as found:
            return [entry for entry in found if entry.is_dir()]
    except FileNotFoundError:
        return []


def _known(index: Path) -> tuple[dict[str, tuple[dict[str, Any], str]], list[str]]:
    """The last line on each run, and the shards with more than two lines a run."""
    found, crowded = {}, []
    for path in sorted(index.glob("??.jsonl")):
        before, lines = len(found), path.read_text("utf-8", "replace").splitlines()
        for line in lines:
            with suppress(ValueError, KeyError, TypeError):
                about, body = _parsed(line)
                found[about["run"]] = (about, body)
        if len(lines) > 2 * (len(found) - before) + 16:
            crowded.append(path.stem)
    return found, crowded


def _parsed(line: str) -> tuple[dict[str, Any], str]:
    head, _, body = line.rstrip("\n").partition("\t")
    about = json.loads(head)
    about["run"], about["age"], about["status"], about["setting"], about["seed"], about["method"], about["sum"]  # noqa: B018
    return about, body


def _line(folder: Path, age: int, run: Run, result: dict[str, Any] | None, whole: int | None) -> str:
    body = json.dumps(run.as_json(), separators=(",", ":"))
    about: dict[str, Any] = {"run": folder.name, "age": age, "status": None if result is None else result["status"]}
    about |= {"method": run.method, "seed": run.seed, "setting": run.setting, "sum": zlib.crc32(body.encode())}
    about |= {} if whole is None else {"whole": whole}
    about |= {"scored": True} if (folder / "scores.json").exists() else {}
    about |= {"sources": list(run.sources)} if run.sources else {}
    return f"{json.dumps(about, separators=(',', ':'))}\t{body}\n"


def _put_in_order(path: Path, found: list[Entry]) -> None:
    lines = (f"{json.dumps(entry.about, separators=(',', ':'))}\t{entry.body}\n" for entry in found)
    with suppress(OSError):
        write_bytes(path, "".join(lines).encode(), synced=False)
