"""partita verify"""

from pathlib import Path
from typing import Annotated

import typer


def verify(
    folder: Annotated[Path, typer.Argument(help="a study's folder")],
    repair: Annotated[
        bool, typer.Option("--repair", help="put damaged files aside, so that `train` makes them again; tidy up")
    ] = False,
) -> None:
    """Check every file of a study. Exit status 0 when all are whole, 1 with each damaged run named.

    With --repair damaged files are moved to DIR/damaged and leftovers of killed processes removed; the same `partita
    train` then trains what is missing. What was damaged is named, with exit status 1, all the same.
    """
    from partita.cli.own_parts import load_own_parts
    from partita.studies import Store
    from partita.studies._leftovers import collect, leftovers
    from partita.studies._verify import repair as put_aside
    from partita.studies._verify import survey

    store = Store(folder)
    load_own_parts(folder)
    store.folders()  # or there is nothing to verify
    for lease in store.leases().held().values() if repair else ():
        raise OSError(f"another process is training in {folder} ({lease.who}); wait for it, then repair")
    found, left = survey(store), leftovers(store)
    if repair:
        put_aside(store, found)
        collect(store)
    damaged = found.damaged + found.checkpoints
    for damage in damaged:
        print(f"damaged     {damage}")
    for lack in found.lacking:
        print(f"lacking     {lack}")
    for run in found.unfinished:
        print(f"unfinished  {run.id}")
    for path in left:
        print(f"left over   {path}")
    ended = f"{len(found.finished)} runs finished, {len(found.diverged)} diverged, {len(found.unfinished)} unfinished"
    state = f"{len(damaged)} files damaged, {len(left)} left over"
    print(f"{folder}: {ended}; {state}{_done(repair, bool(damaged or left))}")
    if damaged:
        raise typer.Exit(1)


def _done(repaired: bool, something: bool) -> str:
    if not something:
        return ""
    if not repaired:
        return "; `partita verify --repair` puts damaged files aside and tidies up"
    return "; damaged files are put aside, leftovers removed: the same `partita train` makes what is missing"
