"""`--on`: a study on a cluster, seen from here."""

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

# Looking costs as much as the study is large: at most this share of the time.
SHARE_OF_TIME = 0.05
SECONDS_BETWEEN_LOOKS = 2.0


def train_elsewhere(
    on: str, runs: Sequence, dataset, store, *, detach: bool, once_there: Callable[[], object], **settings: Any
) -> list:
    """Trains on an engine; `once_there` is called when there is one. Ends the command where the work was left to the
    cluster."""
    from partita.studies._train_on import train_on
    from partita.studies.engines import engine_named

    engine = engine_named(on, store.folder, settings["device"])
    if engine is None or (detach and not engine.stays):
        raise ValueError("--detach needs a cluster that stays when this command ends: --on ray:ADDRESS or slurm:...")
    try:
        once_there()
        with view(store) as tell:
            diverged = train_on(engine, runs, dataset, store, detach=detach, tell=tell, **settings)
    finally:
        engine.close()
    if detach:
        print(f"{len(runs)} runs are left to {engine.words}; next: partita status {store.folder}")
        sys.exit(0)
    return diverged


def measure_elsewhere(on: str, store, metrics: str, device: str, again: bool) -> None:
    from partita.studies._train_on import measure_on
    from partita.studies.engines import engine_named

    engine = engine_named(on, store.folder, device)
    assert engine is not None
    try:
        with view(store) as tell:
            measure_on(engine, store, metrics, device=device, again=again, tell=tell)
    finally:
        engine.close()


@contextmanager
def view(store) -> Iterator[Callable[[], None]]:
    """Yields what shows all workers of a study in one picture; nothing where nobody looks."""
    if not sys.stderr.isatty():
        yield lambda: None
        return
    from rich.console import Console
    from rich.live import Live

    from partita.studies._status import status_of

    due = 0.0
    with Live(console=Console(stderr=True), transient=True, auto_refresh=False) as picture:

        def tell() -> None:
            nonlocal due
            began = time.monotonic()
            if began < due:
                return
            picture.update("\n".join(status_of(store).lines(store.folder)), refresh=True)
            took = time.monotonic() - began
            due = began + max(SECONDS_BETWEEN_LOOKS, took / SHARE_OF_TIME)

        yield tell
