"""Files that are whole or absent, whatever happens to the process or the machine: everything partita stores is written,
moved and removed here.

A file is written beside its place, synced, moved there, and then its folder is synced: a crash leaves the old content
or the new, and what was reported as done is still there after a power cut.
"""

import errno
import hashlib
import json
import os
import platform
import re
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

# What folders answer to fsync on file systems that cannot do it.
CANNOT_SYNC = {errno.EINVAL, errno.ENOTSUP, errno.EBADF, errno.EACCES, errno.EPERM, errno.EISDIR}
# A temporary file's name says whose it is: the machine and the process.
TEMPORARY = re.compile(r"\.partita-(?P<machine>[0-9a-f]{8})-(?P<process>\d+)-\d+\.part")
TEMPORARY_OF_0_1 = re.compile(r"\.[\w.]+\.(jsonl?|safetensors|html)\.[a-z0-9_]{8}")
SECONDS_LEFT_ALONE = 24 * 3600.0


def write_bytes(path: Path, content: bytes | bytearray, *, synced: bool = True) -> None:
    """Replaces `path` at once: a reader, or a crash, sees the old content or the new, never a part.

    What is written again before anybody relies on it need not be `synced`: a power cut may take it.
    """
    make_folder(path.parent)
    temporary = path.with_name(f".partita-{_machine()}-{os.getpid()}-{threading.get_ident()}.part")
    with _naming(path):
        try:
            try:
                _write_whole(temporary, content, synced)
            except FileNotFoundError:  # the folder, empty until now, was taken for a leftover
                make_folder(path.parent)
                _write_whole(temporary, content, synced)
            os.replace(temporary, path)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary)
            raise
        if synced:
            _sync_folder(path.parent)


def append_line(path: Path, line: str) -> None:
    """Adds a line that may be lost, or cut, by a crash."""
    with _naming(path):
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
        try:
            _write_all(handle, line.encode())
        finally:
            os.close(handle)


def move(path: Path, to: Path) -> None:
    """Replaces `to` by `path` at once, in a folder of the same file system."""
    make_folder(to.parent)
    with _naming(to):
        os.replace(path, to)
        _sync_folder(to.parent)
        if path.parent != to.parent:
            _sync_folder(path.parent)


def remove(path: Path) -> None:
    """A file that may be gone already."""
    with suppress(FileNotFoundError), _naming(path):
        os.unlink(path)
        _sync_folder(path.parent)


def remove_folder(path: Path) -> None:
    """An empty folder; one that is not, or is gone already, is left alone."""
    with suppress(OSError):
        os.rmdir(path)
        _sync_folder(path.parent)


def make_folder(path: Path) -> None:
    """The folder and those above it, where they are missing."""
    if path.is_dir():
        return
    make_folder(path.parent)
    with _naming(path):
        with suppress(FileExistsError):
            os.mkdir(path)
        _sync_folder(path.parent)


def abandoned(path: Path) -> bool:
    """Whether this is a temporary file that nobody writes any more: its process is gone, or, of another machine or of
    partita 0.1, it is a day old."""
    own = TEMPORARY.fullmatch(path.name)
    if own is None and TEMPORARY_OF_0_1.fullmatch(path.name) is None:
        return False
    if own is not None and own["machine"] == _machine():
        return not _runs(int(own["process"]))
    try:
        return time.time() - path.stat().st_mtime > SECONDS_LEFT_ALONE
    except FileNotFoundError:
        return False


def write_json(path: Path, content: Mapping[str, Any], *, sealed: bool = False) -> None:
    """A JSON object; `sealed` with a digest of its content, which `read_json` then checks."""
    if sealed:
        content = {**content, "digest": _json_digest(content)}
    write_bytes(path, (json.dumps(content, indent=1, allow_nan=False) + "\n").encode())


def read_json(path: Path) -> dict[str, Any]:
    """The object in a JSON file; ValueError, naming the file, when it holds something else or was changed."""
    try:
        content = json.loads(path.read_text("utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is not a JSON file ({error}); it may be cut short") from None
    if not isinstance(content, dict):
        raise ValueError(f"{path} is damaged: it holds no JSON object")
    if "digest" in content and content["digest"] != _json_digest(content):
        raise ValueError(f"{path} is damaged: its content does not match its digest")
    return content


def digest_of(*pieces: bytes | bytearray | memoryview) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for piece in pieces:
        digest.update(piece)
    return digest.hexdigest()


def _json_digest(content: Mapping[str, Any]) -> str:
    rest = {name: value for name, value in content.items() if name != "digest"}
    return digest_of(json.dumps(rest, sort_keys=True).encode())


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Errors of the file system, which of a full disk do not say where, name `path`."""
    try:
        yield
    except FileNotFoundError:
        raise
    except OSError as error:
        raise type(error)(error.errno, error.strerror, str(path)) from None


def _write_whole(path: Path, content: bytes | bytearray, synced: bool) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)  # less what the umask takes
    try:
        _write_all(handle, content)
        if synced:
            os.fsync(handle)
    finally:
        os.close(handle)


def _write_all(handle: int, content: bytes | bytearray) -> None:
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(handle, rest) :]


def _sync_folder(path: Path) -> None:
    try:
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError as error:
        if error.errno not in CANNOT_SYNC:
            raise


def _machine() -> str:
    return hashlib.blake2b(platform.node().encode(), digest_size=4).hexdigest()


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # it is somebody else's
        return True
    return True
