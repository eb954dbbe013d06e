"""partita methods"""

from typing import Annotated

import typer


def methods(as_json: Annotated[bool, typer.Option("--json", help="print one JSON document")] = False) -> None:
    """List the methods, each with the objective it minimises and its options."""
    from partita.recipes import RECIPES
    from partita.recipes._equation import equation, keywords

    rows = [
        {
            "name": name,
            "summary": (method.__doc__ or "").split("\n\n")[0].replace("\n    ", " "),
            "minimises": equation(method),
            "options": {key: p.default for key, p in keywords(method).items()},
        }
        for name, method in RECIPES.items()
    ]
    if as_json:
        import json

        print(json.dumps(rows, indent=1))
        return
    for row in rows:
        options = ", ".join(f"{key}={value}" for key, value in row["options"].items())
        print(f"{row['name']}({options})\n  {row['summary']}\n  minimises {row['minimises']}\n")
