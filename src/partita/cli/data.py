"""partita data"""

from typing import Annotated

import typer


def data(as_json: Annotated[bool, typer.Option("--json", help="print one JSON document")] = False) -> None:
    """List the data sets that have a name, and their options."""
    from partita.data import DATASETS

    rows = [
        {"name": name, "summary": source.summary, "options": list(source.options)} for name, source in DATASETS.items()
    ]
    if as_json:
        import json

        print(json.dumps(rows, indent=1))
        return
    for row in rows:
        print(f"{row['name']:<12} {row['summary']}")
        if row["options"]:
            print(
                f"{'':<12} options: {', '.join(row['options'])}  (as in --data {row['name']}:{row['options'][0]}=...)"
            )
