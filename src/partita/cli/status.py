"""partita status"""

import json
from pathlib import Path
from typing import Annotated

import typer


def status(
    folder: Annotated[Path, typer.Argument(help="a study's folder")],
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON document")] = False,
) -> None:
    """How a study stands: runs that have ended, are under way, and who trains them. From any machine that sees it."""
    from partita.studies import Store
    from partita.studies._status import status_of

    found = status_of(Store(folder))
    if as_json:
        print(json.dumps({"folder": str(folder), **found.as_json()}, indent=1))
    else:
        print("\n".join(found.lines(folder)))
