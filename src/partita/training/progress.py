"""What a person sees while models train: a bar, in terminals and notebooks; nothing where nobody looks."""

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

Show = Callable[[int, Mapping[str, float]], None]


@contextmanager
def bars(*, transient: bool = False) -> Iterator[Any]:
    """A `rich.progress.Progress` on stderr whose tasks have `quantities`, a text; None where nobody looks. A transient
    one leaves nothing behind."""
    if not somebody_looks():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("steps"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[quantities]}"),
    )
    with Progress(*columns, console=Console(stderr=True), transient=transient) as shown:
        yield shown


def somebody_looks() -> bool:
    """Whether stderr is a terminal, or this is a notebook that can draw (with ipywidgets, which rich asks for)."""
    if "IPython" in sys.modules:
        shell = sys.modules["IPython"].get_ipython()
        if type(shell).__name__ == "ZMQInteractiveShell":
            return find_spec("ipywidgets") is not None
    return sys.stderr is not None and sys.stderr.isatty()


@contextmanager
def bar(label: str, first: int, steps: int) -> Iterator[Show | None]:
    """One bar from step `first` to `steps`, gone when it is over; called with a step and what was logged there."""
    with bars(transient=True) as shown:
        if shown is None:
            yield None
            return
        task = shown.add_task(label, total=steps - first, quantities="")

        def show(step: int, quantities: Mapping[str, float]) -> None:
            shown.update(task, completed=step - first, quantities=in_words(quantities))

        yield show


def in_words(quantities: Mapping[str, float]) -> str:
    return "  ".join(f"{name} {value:.3g}" for name, value in quantities.items() if value == value)
