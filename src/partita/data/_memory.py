"""How much memory is free, and the one check before any of it is taken."""

import os
import resource
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

MACHINE = Path("/proc/meminfo")
GROUPS = Path("/proc/self/cgroup")
CONTAINERS = Path("/sys/fs/cgroup")
UNKNOWN = 16 * 2**30  # bytes, where the system does not say
AS_A_FILE_TO_STREAM = "take fewer rows, or store it as HDF5 (.h5), which stream=true reads from disk as it is needed"


def check_fits(size: float, what: str, instead: str = "take less, or a machine with more memory") -> None:
    """Refuse before allocating what the free memory cannot hold; `instead` says what else there is to do."""
    free = free_memory()
    if size > free:
        raise ValueError(f"{what} needs {size / 2**30:,.2f} GiB of memory, {free / 2**30:,.2f} GiB are free: {instead}")


def free_memory() -> int:
    """Bytes this process can still take: the least of what is free on the machine, in the containers or batch jobs
    around the process, and below its own limit of address space (`ulimit -v`)."""
    return max(0, min([_free_on_machine(), *_free_in_containers(), *_free_of_own_limit()]))


def _free_on_machine() -> int:
    with suppress(OSError, ValueError, StopIteration):
        line = next(line for line in MACHINE.read_text().splitlines() if line.startswith("MemAvailable:"))
        return 1024 * int(line.split()[1])
    with suppress(OSError, ValueError):
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return UNKNOWN


def _free_in_containers() -> Iterator[int]:
    """What the process's own control group and each one around it leave, in either version of the interface."""
    with suppress(OSError):
        for line in GROUPS.read_text().splitlines():
            _, controllers, own = line.split(":", 2)
            if "memory" in controllers.split(","):
                yield from _left(CONTAINERS / "memory", own, "memory.limit_in_bytes", "memory.usage_in_bytes", "total_")
            elif not controllers:
                yield from _left(CONTAINERS, own, "memory.max", "memory.current", "")


def _left(root: Path, own: str, limit: str, used: str, prefix: str) -> Iterator[int]:
    folder = root / own.lstrip("/")
    for group in (folder, *folder.parents):
        with suppress(OSError, ValueError):  # no such file, or the word "max"
            yield int((group / limit).read_text()) - int((group / used).read_text()) + _reclaimable(group, prefix)
        if group == root:
            return


def _reclaimable(group: Path, prefix: str) -> int:
    """Files kept in memory count as used, and are given up when memory is needed."""
    with suppress(OSError, ValueError):
        for line in (group / "memory.stat").read_text().splitlines():
            name, _, size = line.partition(" ")
            if name == f"{prefix}inactive_file":
                return int(size)
    return 0


def _free_of_own_limit() -> Iterator[int]:
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit != resource.RLIM_INFINITY:
        with suppress(OSError, ValueError):
            yield limit - resource.getpagesize() * int(Path("/proc/self/statm").read_text().split()[0])
