"""What a person sees while runs are trained: a bar with the quantities of the objective; nothing where nobody looks."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any


@contextmanager
def progress(total_models: int, *, shown: bool = True) -> Iterator:
    """Yields a watcher for `studies.train`."""
    if not shown:
        yield None
        return
    from partita.training.progress import bars, in_words

    with bars() as bar:
        tasks: dict[tuple, Any] = {}
        done = 0

        def watch(runs: Sequence, history, step: int, steps: int) -> None:
            nonlocal done
            key = tuple(run.id for run in runs)
            if key not in tasks:
                label = f"{runs[0].method}, models {done + 1} to {done + len(runs)} of {total_models}"
                tasks[key] = bar.add_task(label, total=steps, quantities="")
                done += len(runs)
            means = history.row(-1).mean(1)
            bar.update(tasks[key], completed=step, quantities=in_words(dict(zip(history.names, means))))

        yield None if bar is None else watch
