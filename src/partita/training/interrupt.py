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
    several processes train together, whoever started them may send the same wish twice. So may whatever sends SIGTERM
    (`timeout` does, to the process and to its group): that is one wish, however often it comes."""
    wishes: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield lambda: bool(wishes)
        return

    def ask(signum, frame):
        if wishes and signum == signal.SIGINT and not patient:
            raise KeyboardInterrupt
        wishes.append(signum)  # nothing with a lock: a second signal may come while this one is being taken

    before = {sig: signal.signal(sig, ask) for sig in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: bool(wishes)
    finally:
        for sig, handler in before.items():
            signal.signal(sig, handler)
