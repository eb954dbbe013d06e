"""Who trains a run now: a lease that is taken at once or not at all, renewed, and expires.

DIR/leases/<run>.<n> is the n-th lease of a run; the highest number holds. A file is made only where there is none
(O_EXCL), and who takes over from a dead holder makes the next number: of several exactly one succeeds. A file that is
gone, or below another, is a lease lost. Its age is told by the clock of the file system, so that clocks of machines may
differ.
"""

import json
import os
import platform
import re
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from partita.training.files import make_folder

# A holder that does not renew for so long is taken for dead.
SECONDS = 30.0
# A holder whose training takes no step for so long, compiling included, is taken for hung, and does not renew.
HANGS_AFTER = 900.0
NAME = re.compile(r"(?P<run>.+)\.(?P<number>\d+)")


class LeaseLost(OSError):
    """Somebody else has the runs of this ensemble now: nothing more of them is written here."""


@dataclass(frozen=True)
class Lease:
    """One as found: whose it is, how long ago it was renewed, and whether it holds."""

    run: str
    number: int
    owner: dict[str, Any]
    age: float
    alive: bool

    @property
    def who(self) -> str:
        return f"{self.owner.get('host', 'somebody')}, process {self.owner.get('pid', '?')}"


@dataclass(frozen=True)
class Leases:
    """Those of a study. `job` names the work a holder does it for, so that whoever gave it can take it back."""

    folder: Path
    seconds: float = SECONDS
    hangs_after: float = HANGS_AFTER
    job: str = ""

    def claim(self, runs: Sequence[str]) -> "Claim | None":
        """All of these runs, or, where somebody alive has one, none of them."""
        make_folder(self.folder)
        owner = {"host": platform.node(), **_process(), "key": uuid.uuid4().hex, "job": self.job}
        claim = Claim(self, owner["key"])
        held = self.all()
        try:
            for run in sorted(runs):
                claim.paths.append(self._taken(run, owner, held.get(run)))
        except BaseException as error:
            claim.release()
            if isinstance(error, FileExistsError):
                return None
            raise
        return claim

    def all(self) -> dict[str, Lease]:
        """The lease that counts of each run that has one."""
        highest: dict[str, int] = {}
        for name in _names(self.folder):
            if (found := NAME.fullmatch(name)) is not None:
                highest[found["run"]] = max(int(found["number"]), highest.get(found["run"], 0))
        if not highest:
            return {}
        now = self._now()
        leases = [self._read(run, number, now) for run, number in highest.items()]
        return {lease.run: lease for lease in leases if lease is not None}

    def held(self) -> dict[str, Lease]:
        """Those whose holder is alive."""
        return {run: lease for run, lease in self.all().items() if lease.alive}

    def revoke(self, job: str) -> None:
        """Takes back what was claimed for a job: who gave it knows that it is over, or wants it to be."""
        for lease in self.all().values():
            if job and lease.owner.get("job") == job:
                _unlink(self.folder / f"{lease.run}.{lease.number}")

    def tidy(self, over: Callable[[str], bool]) -> None:
        """Removes dead leases of runs that are over; those of others say whom to take over from."""
        for run, lease in self.all().items():
            if not lease.alive and over(run):
                _unlink(self.folder / f"{run}.{lease.number}")

    def _taken(self, run: str, owner: dict[str, Any], found: Lease | None) -> Path:
        """The new lease; FileExistsError where somebody has one."""
        path = self.folder / f"{run}.{1 if found is None else found.number + 1}"
        if found is not None and found.alive:
            raise FileExistsError
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        try:
            os.write(handle, json.dumps({**owner, "seconds": self.seconds}).encode())
            if not _is_highest(path):  # it was looked at long ago: somebody went further meanwhile
                raise FileExistsError
        except BaseException:
            _unlink(path)
            raise
        finally:
            os.close(handle)
        return path

    def _read(self, run: str, number: int, now: float) -> Lease | None:
        path = self.folder / f"{run}.{number}"
        try:
            with path.open("rb") as file:  # opened, network file systems look at it anew
                age, content = now - os.fstat(file.fileno()).st_mtime, file.read()
        except FileNotFoundError:
            return None
        try:
            owner = json.loads(content)
        except ValueError:  # being written, or cut short
            owner = {}
        alive = age < owner.get("seconds", self.seconds) and not _is_gone(owner)
        return Lease(run, number, owner, age, alive)

    def _now(self) -> float:
        """By the clock of the file system."""
        probe = self.folder / f".now-{uuid.uuid4().hex}"
        try:
            probe.touch()
            return probe.stat().st_mtime
        except OSError:  # a study that can only be read, or a full disk
            return time.time()
        finally:
            _unlink(probe)


@dataclass
class Claim:
    """Leases that are held and renewed, in a thread, for as long as `step` is called now and then."""

    leases: Leases
    key: str
    paths: list[Path] = field(default_factory=list)
    lost: bool = False

    def __post_init__(self):
        self._over = threading.Event()
        self._renewed = self._stepped = time.monotonic()

    @contextmanager
    def kept(self, on_hang: Callable[[], None] | None = None) -> Iterator["Claim"]:
        """Renewed meanwhile, released after it. `on_hang` is called where no step was taken for too long."""
        thread = threading.Thread(target=self._keep, args=(on_hang,), daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._over.set()
            thread.join()
            self.release()

    def step(self) -> None:
        """Says that work goes on; LeaseLost where somebody else does it."""
        self._stepped = time.monotonic()
        if self._stepped - self._renewed > self.leases.seconds:  # this process was asleep: who knows what happened
            self._renew()
        if self.lost:
            raise LeaseLost(f"another process trains {self.paths[0].name} and its company now")

    def check(self) -> None:
        """Looks at the files, before something is written for good."""
        self._renew()
        self.step()

    def release(self) -> None:
        for path in self.paths:
            if not self.lost:
                for number in range(1, int(path.suffix[1:])):
                    _unlink(path.with_suffix(f".{number}"))
                _unlink(path)

    def _keep(self, on_hang: Callable[[], None] | None) -> None:
        while not self._over.wait(self.leases.seconds / 6):
            if time.monotonic() - self._stepped > self.leases.hangs_after:
                if on_hang is not None:
                    on_hang()
                continue  # unless work goes on again before others notice
            self._renew()

    def _renew(self) -> None:
        for path in self.paths:
            try:
                os.utime(path)
                self.lost = self.lost or not _is_highest(path)
            except FileNotFoundError:
                self.lost = True
            except OSError:  # of the moment, perhaps
                self.lost = self.lost or time.monotonic() - self._renewed > self.leases.seconds
                return
        self._renewed = time.monotonic()


def _names(folder: Path) -> Iterable[str]:
    try:
        return os.listdir(folder)
    except FileNotFoundError:
        return []


def _is_highest(path: Path) -> bool:
    return not path.with_suffix(f".{int(path.suffix[1:]) + 1}").exists()


def _unlink(path: Path) -> None:
    with suppress(OSError):
        os.unlink(path)


def _process() -> dict[str, Any]:
    """This process, as others on the same machine can tell whether it is still there."""
    return {"machine": _machine(), "pid": os.getpid(), "began": _began(os.getpid())}


def _is_gone(owner: dict[str, Any]) -> bool:
    """Whether the holder was a process of this machine, and is no more."""
    here = owner.get("machine") == _machine() and owner.get("began") is not None
    return here and _began(owner["pid"]) != owner["began"]


def _machine() -> str | None:
    """What is the same for processes that see each other: one boot of one machine, one space of process numbers."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip() + os.readlink("/proc/self/ns/pid")
    except OSError:
        return None


def _began(process: int) -> str | None:
    """When a process began, in ticks since the boot; None where it is gone, or a body that nobody has buried."""
    try:
        after_name = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if after_name[0] in "ZX" else after_name[19]
