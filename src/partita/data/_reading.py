"""The edge between files and us: every failure to read becomes one line that names the file."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


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
    if isinstance(error, UnicodeError):
        return f"no text in UTF-8 ({text}); save it again, as UTF-8"
    return (
        text if isinstance(error, ValueError) else f"damaged or not of the format its name says ({text}); save it again"
    )


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
