"""partita report"""

from pathlib import Path
from typing import Annotated

import typer

from partita.cli.values import complain


def report(
    folder: Annotated[Path, typer.Argument(help="a study's folder")],
    out: Annotated[Path | None, typer.Option(help="the page to write; default DIR/report.html")] = None,
) -> None:
    """Write one self-contained page about a study. Exit status 1 when a run is damaged, or its function gone."""
    from partita.cli.own_parts import load_own_parts
    from partita.reports import write_page
    from partita.studies import Store, reload
    from partita.studies._verify import survey

    store = Store(folder)
    load_own_parts(folder)
    found = survey(store, deep=False)
    damaged = found.damaged + found.lacking
    data = reload(store.runs()[0].data, folder)
    print(write_page(store, data, out or folder / "report.html", damaged=list(map(str, damaged))))
    for damage in damaged:
        complain(str(damage))
    if damaged:
        raise typer.Exit(1)
