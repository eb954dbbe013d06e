"""partita report"""

from pathlib import Path
from typing import Annotated

import typer


def report(
    folder: Annotated[Path, typer.Argument(help="a study's folder")],
    out: Annotated[Path | None, typer.Option(help="the page to write; default DIR/report.html")] = None,
) -> None:
    """Write one self-contained page about a study."""
    from partita.reports import write_page
    from partita.studies import Store, reload

    store = Store(folder)
    page = write_page(store, reload(store.runs()[0].data, folder), out or folder / "report.html")
    print(page)
