"""Ctrl-C and SIGTERM as a question the loop asks, so that it can save before it stops."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Interrupted(Exception):
    """Training was asked to stop and has saved what it had."""


@contextmanager
def interruptible(*, patient: bool = False) -> Iterator[Callable[[], bool]]:
    """Yields a function that says whether a stop was asked for. A second Ctrl-C stops at once, unless `patient`: where
    several processes train together, whoever started them may send the same wish twice."""
    asked = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield asked.is_set
        return

    def ask(signum, frame):
        if asked.is_set() and not patient:
            raise KeyboardInterrupt
        asked.set()

    before = {sig: signal.signal(sig, ask) for sig in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield asked.is_set
    finally:
        for sig, handler in before.items():
            signal.signal(sig, handler)
