"""What belongs to the whole process, turned for a while by several threads at once."""

import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager


class Switch:
    """A context: the first thread in turns the switch, the last one out turns it back.

    A context manager that saves and restores for itself would, in two threads that overlap, end as one of them left it.
    """

    def __init__(self, turned: Callable[[], AbstractContextManager]):
        self.turned, self.lock, self.inside, self.kept = turned, threading.Lock(), 0, ExitStack()

    def __enter__(self) -> None:
        with self.lock:
            if not self.inside:
                self.kept.enter_context(self.turned())
            self.inside += 1

    def __exit__(self, *error) -> None:
        with self.lock:
            self.inside -= 1
            if not self.inside:
                self.kept.close()


@contextmanager
def _without_convergence_warnings() -> Iterator[None]:
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", "Picard did not converge")
        yield


# Where an iteration limit is no news, or is told in words of ours.
limits_are_no_news = Switch(_without_convergence_warnings)
