"""The edge between files and us: every failure to read becomes one line that names the file."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

CONTAINER_LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn whatever a reader raises into ValueError, or OSError for the file system, that names `path`.

    The libraries that parse the formats raise dozens of types on damaged files (zlib.error, struct.error, KeyError,
    EOFError, ...); a damaged file is bad input, not a bug, whichever of them met it first.
    """
    try:
        yield
    except (OSError, ValueError) as error:
        if str(error).startswith(str(path)):
            raise
        if isinstance(error, ValueError):
            raise ValueError(f"{path}: {_one_line(error)}") from error
        if error.filename is not None or error.errno is not None:
            raise OSError(f"{path}: cannot be read: {error.strerror or error}") from error
        raise ValueError(f"{path}: {_one_line(error)}") from error
    except MemoryError as error:
        raise ValueError(f"{path}: does not fit into memory") from error
    except Exception as error:
        raise ValueError(f"{path}: {_one_line(error)}") from error


def _one_line(error: BaseException) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    return text if isinstance(error, ValueError) else f"damaged or not of the format its name says ({text})"


def existing_file(path: str | os.PathLike) -> Path:
    """`path`, if it is a file that holds something."""
    path = Path(path).expanduser()
    if path.is_dir():
        raise OSError(f"{path}: is a folder, a file was expected")
    if not path.exists():
        raise OSError(f"{path}: no such file")
    if path.stat().st_size == 0:
        raise ValueError(f"{path}: the file is empty")
    return path


def check_fits(size: int, what: str) -> None:
    """Refuse before allocating what the machine's memory cannot hold."""
    memory = total_memory()
    if size > memory:
        raise ValueError(f"{what} needs {size / 2**30:,.1f} GiB, this machine has {memory / 2**30:,.1f} GiB")


def total_memory() -> int:
    """Bytes of memory: the machine's, or what a container or batch system leaves this process, if that is less."""
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        memory = 16 * 2**30  # where the system does not say
    for limit in CONTAINER_LIMITS:
        with suppress(OSError, ValueError):  # no such file, or the word "max"
            memory = min(memory, int(limit.read_text()))
    return memory
