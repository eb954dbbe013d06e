"""What a study holds, without opening the files of every run: a log a shard, made again from the folders.

DIR/index/<shard>.log has a line for whatever happened to a run: a few columns, then the run itself. A line counts only
as long as the run's folder is as old as it says, so the folders are the truth and a line that is lost, cut or out of
date costs one look at them. Nothing is locked: lines are appended, and a log is put in order by replacing it.
"""

import gc
import json
import logging
import os
import re
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

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


class Entry(NamedTuple):
    """A run as the index knows it: a line of it, and where the run's folder is. There may be 100,000 of them."""

    name: str
    age: str  # of the folder, when the line was true, in nanoseconds
    ending: str  # finished, diverged, or nothing
    method: str
    seed_digits: str
    setting: str
    checksum: str  # of the run's description
    stamp: str  # of all files, where somebody has read them and found nothing wrong
    scored: str
    sources: str  # modules:functions of the user's own
    body: str
    path: str
    read: Callable[[Path], Run]

    @property
    def folder(self) -> Path:
        return Path(self.path)

    @property
    def status(self) -> str | None:
        return self.ending or None

    @property
    def seed(self) -> int:
        return int(self.seed_digits)

    @property
    def run(self) -> Run:
        if str(zlib.crc32(self.body.encode())) != self.checksum:
            return self.read(self.folder)
        # runs of a setting differ in their seed alone: what is said of all of them is read once
        seeds = [f'"seed":{self.seed_digits}{end}' for end in ",}"]
        if sum(self.body.count(each) for each in seeds) != 1:  # the data have the same seed
            return Run.from_json(json.loads(self.body))
        body = self.body.replace(seeds[0], '"seed":0,').replace(seeds[1], '"seed":0}')
        run = object.__new__(Run)
        run.__dict__.update(_run_of(body).__dict__, seed=int(self.seed_digits))
        run.__dict__.pop("id", None)
        return run

    @property
    def data(self) -> str:
        """Its data as JSON, cut out of the whole: the same text for all runs on the same data."""
        start = self.body.find('"data":{') + 7
        return self.body[start : self.body.find(',"steps":', start)]

    @property
    def whole(self) -> bool:
        """Whether all files are as they were when somebody last read them and found nothing wrong."""
        return self.stamp != "" and self.stamp == stamp(self.path)


FIELDS = 11  # of a line; the last two of an entry are not in it


def note(index: Path, folder: Path, run: Run, result: dict[str, Any] | None, *, whole: bool = False) -> None:
    """Adds a line on a run whose files have just been written, or looked at. A disk that is full costs a line."""
    with suppress(OSError):
        age = os.stat(folder).st_mtime_ns
        make_folder(index)
        line = _line(folder, age, run, result, stamp(folder) if whole else "")
        append_line(index / f"{shard_of(folder.name)}.log", line)


def folders_with_age(runs: Path) -> Iterator[tuple[str, str, int]]:
    """Name and place of every folder of a run, in shards and, as partita 0.1 had them, beside them; and when it last
    changed. One that somebody removes meanwhile is none."""
    for entry in _entries(runs):
        for inner in _entries(entry.path) if SHARD.fullmatch(entry.name) else [entry]:
            try:
                age = inner.stat().st_mtime_ns
            except FileNotFoundError:
                continue
            yield inner.name, inner.path, age


def names_in(folder: Path | str) -> list[str]:
    """Those of the files in a folder, none where somebody has removed it."""
    try:
        return os.listdir(folder)
    except FileNotFoundError:
        return []


@lru_cache(maxsize=4096)
def _run_of(body: str) -> Run:
    return Run.from_json(json.loads(body))


@contextmanager
def nothing_collected() -> Iterator[None]:
    """Garbage is left where it is: looking for it again and again takes long while 100,000 objects are made."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            if not gc.get_freeze_count():  # what was made is old at once, instead of looked through now
                gc.freeze()
                gc.unfreeze()
            gc.enable()


class Known(NamedTuple):
    """All runs by setting and seed; and folders that do not say what they are, with the reason why."""

    entries: list[Entry]
    trouble: dict[str, str]


def look_up(study: Path, read: Callable[[Path], tuple[Run, dict[str, Any] | None]]) -> Known:
    """What the index says where it is right, else what `read` does."""
    with nothing_collected():
        return _look_up(study, read)


def _look_up(study: Path, read: Callable[[Path], tuple[Run, dict[str, Any] | None]]) -> Known:
    began, index, count = time.monotonic(), study / "index", 0
    lines, crowded = last_lines(index, "log", FIELDS)
    found, trouble, cold = [], {}, 0

    def read_run(folder: Path) -> Run:
        return read(folder)[0]

    for name, path, age in folders_with_age(study / "runs"):
        count += 1
        known = lines.get(name)
        if known is not None and known[1] == str(age) and known[4].isdigit():
            found.append(Entry._make((*known, path, read_run)))
            continue
        cold += 1
        try:
            line = _line(Path(path), age, *read(Path(path)), "")
        except (ValueError, OSError) as error:
            if names_in(path):  # of an empty one there is nothing to say
                trouble[path] = str(error)
            continue
        found.append(Entry._make((*line[:-1].split("\t", FIELDS - 1), path, read_run)))
        if time.time() - age / 1e9 > SECONDS_TOO_FRESH:
            with suppress(OSError):
                make_folder(index)
                append_line(index / f"{shard_of(name)}.log", line)
    if cold >= MANY:
        log.info("index of %d runs made from %d folders in %.1f s", count, cold, time.monotonic() - began)
    if crowded:  # runs that are gone lose their lines
        put_in_order(index, "log", crowded, (entry[:FIELDS] for entry in found))
    return Known(_in_order(found), trouble)


def _in_order(found: list[Entry]) -> list[Entry]:
    """By setting, then by seed."""
    settings: dict[str, list[Entry]] = {}
    for entry in found:
        settings.setdefault(entry.setting, []).append(entry)
    for own in settings.values():
        own.sort(key=lambda entry: int(entry.seed_digits))
    return [entry for setting in sorted(settings) for entry in settings[setting]]


def stamp(folder: Path | str) -> str:
    """Of the names, sizes and times of all files: a file that was written again has another. None where a file, or the
    folder, is gone while it is looked at."""
    try:
        with os.scandir(folder) as inside:
            files = sorted((entry.name, (at := entry.stat()).st_size, at.st_mtime_ns) for entry in inside)
    except FileNotFoundError:
        return ""
    return str(zlib.crc32(repr(files).encode()))


def _entries(folder: Path | str) -> list[os.DirEntry]:
    try:
        with os.scandir(folder) as found:
            return [entry for entry in found if entry.is_dir()]
    except FileNotFoundError:
        return []


def last_lines(index: Path, kind: str, columns: int) -> tuple[dict[str, list[str]], list[str]]:
    """The last line on each run in the logs `<shard>.<kind>`, in columns of which the first names the run, and
    the shards with many more lines than runs."""
    found: dict[str, list[str]] = {}
    crowded = []
    for path in sorted(index.glob(f"??.{kind}")):
        try:
            before, lines = len(found), path.read_text("utf-8", "replace").split("\n")
        except OSError:  # as if it were not there
            continue
        for line in lines:
            fields = line.split("\t", columns - 1)
            # the last column is a JSON object, but for a line that was cut and has the next one behind it
            if len(fields) == columns and fields[-1].startswith("{"):
                found[fields[0]] = fields
        if len(lines) > 1.5 * (len(found) - before) + 16:
            crowded.append(path.stem)
    return found, crowded


def put_in_order(index: Path, kind: str, shards: Sequence[str], lines: Iterable[Sequence[str]]) -> None:
    """Leaves in the logs of these shards no lines but these, of which there is one a run."""
    content: dict[str, list[str]] = {shard: [] for shard in shards}
    for line in lines:
        if (shard := shard_of(line[0])) in content:
            content[shard].append("\t".join(line) + "\n")
    with suppress(OSError):
        for shard, own in content.items():
            write_bytes(index / f"{shard}.{kind}", "".join(own).encode(), synced=False)


def _line(folder: Path, age: int, run: Run, result: dict[str, Any] | None, whole: str) -> str:
    body = json.dumps(run.as_json(), separators=(",", ":"))
    ending = "" if result is None else result["status"]
    scored = "scored" if (folder / "scores.json").exists() else ""
    fields = (folder.name, str(age), ending, run.method, str(run.seed), run.setting, str(zlib.crc32(body.encode())))
    plain = [" ".join(field.split()) for field in (*fields, whole, scored, json.dumps(list(run.sources)))]
    return "\t".join([*plain, body]) + "\n"
