"""Training as a generator: it hands control back every few steps, so that several ensembles share one device.

It returns its result at the end. On a GPU small ensembles leave most
of it idle; side by side, each on a stream of its own, they fill it. What each computes is the same either way.
"""

from collections import deque
from collections.abc import Generator, Iterable
from contextlib import nullcontext
from typing import TypeVar

import torch

from partita.training.interrupt import Interrupted

Result = TypeVar("Result")
Steps = Generator[None, None, Result]


def to_the_end(steps: Steps[Result]) -> Result:
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value


def side_by_side(work: Iterable[Steps[None]], device: torch.device, at_once: int) -> None:
    """A few steps of each in turn, `at_once` of them at a time. Once one was interrupted, no other begins, those under
    way go on until they notice and have saved themselves, and then Interrupted is raised."""
    waiting, active = deque(work), deque()
    stopped: Interrupted | None = None
    while active or (waiting and stopped is None):
        while waiting and len(active) < at_once and stopped is None:
            active.append((waiting.popleft(), _stream(device) if at_once > 1 else None))
        steps, stream = active.popleft()
        try:
            with nullcontext() if stream is None else torch.cuda.stream(stream):
                next(steps)
            active.append((steps, stream))
        except StopIteration:
            pass
        except Interrupted as wish:
            stopped = wish
    if stopped is not None:
        raise stopped


def _stream(device: torch.device) -> "torch.cuda.Stream | None":
    if device.type != "cuda":
        return None
    stream = torch.cuda.Stream(device)
    stream.wait_stream(torch.cuda.current_stream(device))  # the data may still be on their way
    return stream
