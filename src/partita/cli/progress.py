"""What a person sees while runs are trained: a bar with the quantities of the objective; nothing where nobody looks."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager


@contextmanager
def progress(total_models: int, *, shown: bool = True) -> Iterator:
    """Yields a watcher for `studies.train`."""
    if not (shown and sys.stderr.isatty()):
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("steps"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[quantities]}"),
    )
    with Progress(*columns, console=Console(stderr=True)) as bar:
        tasks: dict[tuple, TaskID] = {}
        done = 0

        def watch(runs: Sequence, history, step: int, steps: int) -> None:
            nonlocal done
            key = tuple(run.id for run in runs)
            if key not in tasks:
                label = f"{runs[0].method}, models {done + 1} to {done + len(runs)} of {total_models}"
                tasks[key] = bar.add_task(label, total=steps, quantities="")
                done += len(runs)
            means = history.row(-1).mean(1)
            text = "  ".join(f"{name} {value:.3g}" for name, value in zip(history.names, means) if value == value)
            bar.update(tasks[key], completed=step, quantities=text)

        yield watch
