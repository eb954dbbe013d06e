"""Where to compute, and whether to compile for it."""

import logging
import os
import re
import shutil
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TypeVar

import torch

from partita.data._fetch import cache_folder
from partita.data._switch import Switch
from partita.kernels.build import found_triton

log = logging.getLogger("partita")

Result = TypeVar("Result")

# Compiling takes tens of seconds and then saves half of each step or more.
STEPS_WORTH_COMPILING = 20000
# All ensembles are one piece of code to the compiler; it gives up after 8 versions of one unless told otherwise.
MOST_COMPILED = 1 << 20
# What the user said, read early: the compiler itself sets it to a temporary folder, once any part of it is imported.
COMPILED_HERE = os.environ.get("TORCHINDUCTOR_CACHE_DIR")
_one_at_a_time = threading.RLock()


def choose_device(name: str = "auto") -> torch.device:
    """The device of this name, made the current one; "auto" is a GPU where there is one. ValueError when it is not
    there."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError:
        raise ValueError(f"unknown device {name!r}: use auto, cpu or cuda") from None
    if device.type not in ("cpu", "cuda"):
        raise ValueError(f"unknown device {name!r}: use auto, cpu or cuda")
    if device.type == "cuda":
        if not torch.cuda.is_available():
            raise ValueError("device 'cuda' was asked for, but PyTorch sees no GPU here; use --device cpu")
        if (device.index or 0) >= torch.cuda.device_count():
            raise ValueError(f"device {name!r} was asked for, but there are {torch.cuda.device_count()} GPUs")
        if device.index is not None:
            torch.cuda.set_device(device)  # graphs and kernels of our own run on the current one
    return device


def check_precision(precision: str, device: torch.device) -> None:
    """ValueError where layers cannot compute in this precision."""
    if precision == "bf16" and device.type == "cuda" and not torch.cuda.is_bf16_supported(including_emulation=False):
        raise ValueError(f"{torch.cuda.get_device_name(device)} has no bf16; use --precision float32")


# A context in which convolutions of PyTorch add up in one order: a run that goes on ends as one never stopped.
reproducibly = Switch(lambda: torch.backends.cudnn.flags(enabled=True, deterministic=True))


def with_gradients(function: Callable[..., Result]) -> Callable[..., Result]:
    """`function`, a generator too, with gradients to be had: also where the caller has switched them off."""
    return torch.inference_mode(False)(torch.enable_grad()(function))


def prepare_compiler() -> None:
    """Any number of ensembles may be compiled in one process, and what the compiler makes is kept for the next start:
    in a folder of the user's, which outlives the machine's temporary one; TORCHINDUCTOR_CACHE_DIR says otherwise."""
    if COMPILED_HERE is None:
        with suppress(ImportError):
            os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(cache_folder() / "inductor")
    import torch._dynamo

    torch._dynamo.config.recompile_limit = torch._dynamo.config.accumulated_recompile_limit = MOST_COMPILED


@contextmanager
def unwarned() -> Iterator[None]:
    """A context in which no warning is shown or raised, however the caller filters them: what PyTorch's compiler says
    of itself must not decide what it compiles.

    Filters belong to the whole process, and its own threads must meet this one, so it is there only while something is
    compiled. Unlike `warnings.catch_warnings` it puts no old list of filters back: it takes away its own filter and
    nothing else, whatever other threads did meanwhile.
    """
    own = ("ignore", re.compile(""), Warning, None, 0)
    with _one_at_a_time:
        before = warnings.filters
        before.insert(0, own)  # type: ignore[attr-defined]  a list, whatever the type says
        try:
            yield
        finally:
            for filters in (before, warnings.filters):
                filters[:] = [one for one in filters if one is not own]  # type: ignore[index]


def compiled(function: Callable) -> Callable:
    """`function` by the compiler, whatever warnings are to the caller; where that fails, as it is, with a note.

    Arguments keep their shapes, so all is compiled at the first call, the backward pass too.
    """
    with unwarned():
        prepare_compiler()
        from torch._dynamo.exc import TorchDynamoException

        fast = torch.compile(function, fullgraph=True, dynamic=False)
    chosen = [_for_the_first_time(fast)]

    def either(*arguments):
        try:
            found = chosen[0](*arguments)
        except TorchDynamoException as error:
            cause = getattr(error, "inner_exception", None)
            if isinstance(cause, torch.OutOfMemoryError):
                raise cause from None
            reason = str(cause or error).strip().splitlines()[0]
            log.warning("the step cannot be compiled here and runs as it is, slower: %s", reason)
            chosen[0] = function
            return function(*arguments)
        chosen[0] = fast
        return found

    return either


def _for_the_first_time(fast: Callable) -> Callable:
    def call(*arguments):
        from torch._functorch import config

        # otherwise it is compiled when the caller first asks for a gradient
        backward_too = hasattr(config, "force_non_lazy_backward_lowering")
        now = config.patch(force_non_lazy_backward_lowering=True) if backward_too else nullcontext()
        with unwarned(), now:
            return fast(*arguments)

    return call


def compiler_folder() -> Path:
    """Where the compiler keeps what it makes."""
    prepare_compiler()
    from torch._inductor.runtime.cache_dir_utils import cache_dir

    return Path(cache_dir())


def worth_compiling(steps: int, device: torch.device) -> bool:
    """Whether a run of this length should be compiled here: a fixed rule, so that a resumed run does as it did."""
    if steps < STEPS_WORTH_COMPILING:
        return False
    if device.type == "cuda":
        return found_triton()
    return shutil.which(os.environ.get("CXX", "g++")) is not None
