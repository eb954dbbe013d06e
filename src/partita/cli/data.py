"""partita data"""

import sys
from pathlib import Path
from typing import Annotated

import typer


def data(
    name: Annotated[str | None, typer.Argument(help="a data set, NAME:option=value, or a path")] = None,
    show: Annotated[Path | None, typer.Option(help="draw a contact sheet: a .png, .svg or .pdf")] = None,
    samples: Annotated[str | None, typer.Option(help="of a movie: pixels (a time course each) or frames")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON document")] = False,
) -> None:
    """List the data sets that have a name; with NAME, its factors, licence, citation, and where it is."""
    import json

    from partita.cli.values import parse_data
    from partita.data import DATASETS, info

    if name is not None:
        where, options = parse_data(name)
        if samples is not None:
            options["samples"] = samples
        if show is None and where in DATASETS:
            card = info(where)
            print(json.dumps(card, indent=1) if as_json else "\n".join(_lines(card)))
        else:
            _look(where, options, show, as_json)
        return
    if show is not None:
        raise ValueError("--show needs the name of a data set or a path: partita data NAME --show out.png")
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


def _look(where: str, options: dict, show: Path | None, as_json: bool) -> None:
    """Loads a data set to say what is in it, and draws it where a picture is asked for."""
    import json

    from partita.data import load

    if sys.stderr.isatty():
        print(f"loading {where} ...", file=sys.stderr)
    dataset = load(where, **options)
    if show is not None:
        from partita.reports import write_contact_sheet

        write_contact_sheet(dataset, show)
    facts = {
        "name": dataset.name,
        "size": dataset.size,
        "shape": list(dataset.shape),
        "type": str(dataset.x.dtype),
        "factors": dict(zip(dataset.factor_names, dataset.factor_sizes)),
        "labels": 0 if dataset.labels is None else dataset.labels.shape[1],
        "streamed": not dataset.in_memory,
        "picture": None if show is None else str(show),
    }
    if as_json:
        print(json.dumps(facts, indent=1))
        return
    factors = ", ".join(f"{factor} ({size})" for factor, size in facts["factors"].items())
    shape = " x ".join(str(extent) for extent in dataset.shape)
    about = [f"{dataset.name}: {dataset.size:,} rows of {shape} {facts['type']}"]
    about += [f"factors {factors}"] * bool(factors) + [f"{facts['labels']} labels a row"] * bool(facts["labels"])
    about += ["read from disk as needed"] * facts["streamed"]
    print("; ".join(about))
    if show is not None:
        print(show)


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
