"""What kernels can be had here: Triton's, and C beside this file, compiled for this machine when it is first needed and
kept in the user's cache."""

import ctypes
import hashlib
import logging
import os
import platform
import shlex
import subprocess
import tempfile
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

from torch import Tensor

from partita.data.fetch import cache_folder

log = logging.getLogger("partita")

FLAGS = "-O3 -march=native -fopenmp -fno-math-errno -fno-trapping-math -ffp-contract=fast -shared -fPIC"


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
        command = [*shlex.split(os.environ.get("CC", "cc")), *FLAGS.split()]
        key = hashlib.blake2b("\0".join([source, *command, _machine()]).encode(), digest_size=8).hexdigest()
        target = cache_folder() / "kernels" / f"{name}-{key}.so"
        if not target.exists():
            _compile(command, source, target)
        return ctypes.CDLL(str(target))
    except (ImportError, OSError, ValueError, subprocess.SubprocessError) as error:
        log.info("no compiled %s kernel here, PyTorch does its work: %s", name, _last_line(error))
        return None


def address(tensor: Tensor | None) -> ctypes.c_void_p:
    """Of the numbers of a contiguous tensor; NULL of none."""
    return ctypes.c_void_p(None if tensor is None else tensor.data_ptr())


def whole_numbers(*values: int) -> list[ctypes.c_int64]:
    return [ctypes.c_int64(value) for value in values]


def _compile(command: list[str], source: str, target: Path) -> None:
    """Into a folder of its own first: two processes may build at once, and one may be killed."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        code, made = Path(folder, "kernel.c"), Path(folder, "kernel.so")
        code.write_text(source)
        subprocess.run([*command, "-o", made, code, "-lm"], check=True, capture_output=True, text=True, timeout=120)
        os.replace(made, target)


def _machine() -> str:
    """What -march=native looks at: a cache folder may be shared by machines of several kinds."""
    try:
        flags = next((line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("flags")), "")
    except OSError:
        flags = ""
    return f"{platform.machine()} {platform.processor()} {flags}"


def _last_line(error: Exception) -> str:
    words = getattr(error, "stderr", None) or str(error) or type(error).__name__
    return words.strip().splitlines()[-1]
