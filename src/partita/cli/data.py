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
    """List the data sets that have a name, and the kinds of files; with NAME, its factors, licence, citation, and where
    it is; with a path, what is in it; with .h5ad, say, what becomes of such files."""
    import json

    from partita.cli.values import parse_data
    from partita.data import DATASETS, info
    from partita.data.load import FORMATS, SUFFIXES

    if name is not None:
        where, options = parse_data(name)
        if samples is not None:
            options["samples"] = samples
        files = where.lower() in SUFFIXES or (where in FORMATS and not Path(where).exists())
        if show is None and (where in DATASETS or files):
            card = info(where)
            in_words = _lines_of_files if files else _lines
            print(json.dumps(card, indent=1) if as_json else "\n".join(in_words(card)))
        else:
            _look(where, options, show, as_json)
        return
    if show is not None:
        raise ValueError("--show needs the name of a data set or a path: partita data NAME --show out.png")
    rows = [_row(each) for each in DATASETS]
    if as_json:
        print(json.dumps(rows, indent=1))
        return
    for row in rows:
        print(f"{row['name']:<12} {row['summary']}\n{'':<12} {amount(row['bytes'])} in memory; {row['state']}")
    print("\nfiles and folders, by their path:")
    for each in FORMATS.values():
        print(f"{' '.join(each.card.files) or 'a folder':<13} {each.card.name}: {each.card.becomes}")
    print("\noptions go behind the name, as in --data groups:seed=1,size=500; `partita data NAME` lists them")


def _row(name: str) -> dict:
    from partita.data import info

    card = info(name)
    return {key: card[key] for key in ("name", "summary", "size", "shape", "bytes", "options", "state")}


def amount(count: int) -> str:
    size, unit = (count / 1e9, "GB") if count >= 1e9 else (count / 1e6, "MB")
    return f"{size:.1f} {unit}"


def _look(where: str, options: dict, show: Path | None, as_json: bool) -> None:
    """Loads a data set to say what is in it, and draws it where a picture is asked for."""
    import json

    from partita.cli.values import say_units
    from partita.data import load

    if show is not None:
        from partita.reports.contact import checked_path

        checked_path(show)
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
        "columns": list(dataset.columns),
        "streamed": not dataset.in_memory,
        "picture": None if show is None else str(show),
    }
    if as_json:
        print(json.dumps(facts, indent=1))
        return
    factors = ", ".join(f"{factor} ({size})" for factor, size in facts["factors"].items())
    shape = " x ".join(str(extent) for extent in dataset.shape)
    about = [f"{dataset.name}: {dataset.size:,} rows of {shape} {facts['type']}"]
    about += [f"factors {factors}"] * bool(factors) + [f"labels: {facts['labels']} a row"] * bool(facts["labels"])
    about += [f"columns {', '.join(dataset.columns)}"] * bool(dataset.columns)
    about += ["read from disk as needed"] * facts["streamed"]
    print("; ".join(about))
    say_units(dataset)
    if show is not None:
        print(show)


def _lines_of_files(card: dict) -> list[str]:
    """The card of a kind of file, one fact a line."""
    facts = {"becomes": card["becomes"], "written by": card["written_by"], "options": ", ".join(card["options"])}
    lines = [f"{card['name']}: {' '.join(card['files'])}"]
    return lines + [f"  {key:<11}{value}" for key, value in facts.items() if value]


def _lines(card: dict) -> list[str]:
    """The card of a data set, one fact a line."""
    factors = ", ".join(f"{name} ({size})" for name, size in zip(card["factor_names"], card["factor_sizes"]))
    facts = {"factors": factors} | {
        key: card[key] for key in ("order", "licence", "citation", "state", "obtain") if card.get(key)
    }
    facts["options"] = ", ".join(card["options"])
    shape = " x ".join(str(extent) for extent in card["shape"])
    lines = [f"{card['name']}: {card['summary']}"]
    lines.append(f"  size      {card['size']:,} rows of {shape}, {amount(card['bytes'])} in memory")
    lines += [f"  {key:<9} {value}" for key, value in facts.items() if value]
    for file in card["files"]:
        place = file["path"] or "; ".join(["not here", *file["urls"], *([file["hash"]] if file["hash"] else [])])
        lines.append(f"  file      {file['name']}, {place}")
    return lines
