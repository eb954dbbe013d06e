"""What kernels can be had here: Triton's, and C beside this file, compiled for this machine when it is first needed.

What was compiled is kept in the user's cache, in a file whose name ends in the digest of its content. It is code that
will run: nothing is loaded that somebody else could have written, or that is not what the compiler made.
"""

import ctypes
import hashlib
import logging
import os
import platform
import shlex
import stat
import subprocess
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

from torch import Tensor

from partita.data._fetch import cache_folder

log = logging.getLogger("partita")

FLAGS = "-O3 -march=native -fopenmp -fno-math-errno -fno-trapping-math -ffp-contract=fast -shared -fPIC"
OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


def assumed_constant(function: Callable) -> Callable:
    """What torch.compiler.assume_constant_result does, without loading the compiler where nothing is compiled."""
    function._dynamo_marked_constant = True  # type: ignore[attr-defined]
    return function


@assumed_constant
def found_triton() -> bool:
    return find_spec("triton") is not None


@cache
def library(name: str) -> ctypes.CDLL | None:
    """kernels/{name}.c as a loaded library; None where it cannot be had, said once, and torch does the work instead."""
    try:
        source = files("partita.kernels").joinpath(f"{name}.c").read_text()
        compiler = shlex.split(os.environ.get("CC", "cc"))
        command = [*compiler, *FLAGS.split()]
        key = _digest("\0".join([source, *command, _version(*compiler), _machine()]).encode())
        try:
            folder = _own_folder()
            kept = _kept(folder, f"{name}-{key}")
            return ctypes.CDLL(str(kept or _keep(folder, f"{name}-{key}", _compiled(command, source))))
        except OSError as error:  # a folder that is somebody else's, a disk that is full or only to be read
            log.warning("compiled kernels are not kept, every process compiles its own: %s", error)
            with tempfile.TemporaryDirectory() as private:
                return ctypes.CDLL(str(_keep(Path(private), name, _compiled(command, source))))
    except (ImportError, OSError, ValueError, subprocess.SubprocessError) as error:
        _tell_once(_last_line(error))
        return None


def address(tensor: Tensor | None) -> ctypes.c_void_p:
    """Of the numbers of a contiguous tensor; NULL of none."""
    return ctypes.c_void_p(None if tensor is None else tensor.data_ptr())


def whole_numbers(*values: int) -> list[ctypes.c_int64]:
    return [ctypes.c_int64(value) for value in values]


def _own_folder() -> Path:
    """Where compiled kernels are kept, for this user alone to write; PermissionError where it is somebody else's.

    What others could have put there before is thrown away.
    """
    folder = cache_folder() / "kernels"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    about = os.stat(folder)
    if not _is_ours(about):
        raise PermissionError(f"{folder} belongs to another user")
    if about.st_mode & OTHERS_WRITE:
        os.chmod(folder, 0o700)
        for file in folder.glob("*.so"):
            file.unlink(missing_ok=True)
    return folder


def _kept(folder: Path, name: str) -> Path | None:
    """The file of this name that is whole and ours alone; others of the name are thrown away."""
    for file in folder.glob(f"{name}-*.so"):
        with suppress(OSError):
            about = os.lstat(file)
            safe = stat.S_ISREG(about.st_mode) and _is_ours(about) and not about.st_mode & OTHERS_WRITE
            if safe and file.stem == f"{name}-{_digest(file.read_bytes())}":
                return file
            file.unlink()
    return None


def _keep(folder: Path, name: str, content: bytes) -> Path:
    """Whole or not at all: several processes may build at once, and any may be killed."""
    target = folder / f"{name}-{_digest(content)}.so"
    handle, written = tempfile.mkstemp(dir=folder, suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(written, target)
    except BaseException:
        Path(written).unlink(missing_ok=True)
        raise
    entry = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(entry)
    finally:
        os.close(entry)
    return target


def _compiled(command: list[str], source: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        code, made = Path(folder, "kernel.c"), Path(folder, "kernel.so")
        code.write_text(source)
        subprocess.run([*command, "-o", made, code, "-lm"], check=True, capture_output=True, text=True, timeout=120)
        return made.read_bytes()


def _is_ours(about: os.stat_result) -> bool:
    return not hasattr(os, "geteuid") or about.st_uid == os.geteuid()


def _digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=16).hexdigest()


@cache
def _version(*compiler: str) -> str:
    """What the compiler calls itself: another one may round in other places."""
    asked = subprocess.run([*compiler, "--version"], check=True, capture_output=True, text=True, timeout=30)
    return asked.stdout


def _machine() -> str:
    """What -march=native looks at: a cache folder may be shared by machines of several kinds."""
    try:
        flags = next((line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("flags")), "")
    except OSError:
        flags = ""
    return f"{platform.machine()} {platform.processor()} {flags}"


_told: set[str] = set()


def _tell_once(reason: str) -> None:
    if not _told:
        log.warning(
            "no compiled kernels here (%s), PyTorch does their work: slower, and the last digits of a run are not "
            "those of a machine with a C compiler; install one (cc, gcc or clang) or name it by CC",
            reason,
        )
    _told.add(reason)


def _last_line(error: Exception) -> str:
    words = getattr(error, "stderr", None) or str(error) or type(error).__name__
    return words.strip().splitlines()[-1]
