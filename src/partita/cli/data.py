"""partita data"""

from typing import Annotated

import typer


def data(
    name: Annotated[str | None, typer.Argument(help="a data set, for all that is known of it")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON document")] = False,
) -> None:
    """List the data sets that have a name; with NAME, its factors, licence, citation, and where it is."""
    import json

    from partita.data import DATASETS, info

    if name is not None:
        card = info(name)
        print(json.dumps(card, indent=1) if as_json else "\n".join(_lines(card)))
        return
    rows = [
        {"name": each, "summary": source.summary, "options": list(source.options), "state": info(each)["state"]}
        for each, source in DATASETS.items()
    ]
    if as_json:
        print(json.dumps(rows, indent=1))
        return
    for row in rows:
        print(f"{row['name']:<12} {row['summary']}\n{'':<12} {row['state']}")
    print("\noptions go behind the name, as in --data groups:seed=1,size=500; `partita data NAME` lists them")


def _lines(card: dict) -> list[str]:
    """The card of a data set, one fact a line."""
    factors = ", ".join(f"{name} ({size})" for name, size in zip(card["factor_names"], card["factor_sizes"]))
    facts = {"factors": factors} | {
        key: card[key] for key in ("order", "licence", "citation", "state", "obtain") if card.get(key)
    }
    facts["options"] = ", ".join(card["options"])
    lines = [f"{card['name']}: {card['summary']}"]
    lines += [f"  {key:<9} {value}" for key, value in facts.items() if value]
    for file in card["files"]:
        lines.append(f"  file      {file['name']}, {file['path'] or 'not here'}")
    return lines
