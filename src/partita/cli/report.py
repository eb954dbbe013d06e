"""partita report"""

from pathlib import Path
from typing import Annotated

import typer

from partita.cli.values import complain


def report(
    folder: Annotated[Path, typer.Argument(help="a study's folder")],
    out: Annotated[Path | None, typer.Option(help="the page to write; default DIR/report.html")] = None,
) -> None:
    """Write one self-contained page about a study. Exit status 1 when a run is damaged, or its function gone.

    Of a study of more than 2,000 runs the page is about some, which it says.
    """
    from partita.cli.own_parts import load_own_parts
    from partita.reports import write_page
    from partita.reports._drawn import drawn_of
    from partita.studies import Store, reload
    from partita.studies._verify import survey

    store, known = Store(folder), load_own_parts(folder)
    entries = known.entries or store.entries()  # which says what is wrong where there are none
    others = {entry.name for entry in entries} - {entry.name for entry in drawn_of(entries)}
    found = survey(store, deep=False, known=known, without=others)
    damaged = found.damaged + found.lacking
    data = reload(entries[0].run.data, folder)
    print(write_page(store, data, out or folder / "report.html", list(map(str, damaged)), entries))
    for damage in damaged:
        complain(str(damage))
    if damaged:
        raise typer.Exit(1)
