"""What there is to know of a named data set without loading it."""

from math import prod
from pathlib import Path
from typing import Any

from partita.data._card import Card
from partita.data._fetch import found
from partita.data._nearest import nearest
from partita.data.load import DATASETS, FORMATS, SUFFIXES


def info(name: str) -> dict[str, Any]:
    """Factors, size, licence, citation and files of a data set, as JSON: where each file is, or how to get it. Or what
    is known of a kind of file: what a row becomes, and the options.

    Parameters
    ----------
    name : str
        A name of `DATASETS`, or how a file's name ends (".h5ad").

    Returns
    -------
    dict

    Examples
    --------
    >>> info("pdsprites")["state"], info("pdsprites")["shape"]
    ('made here', [1, 32, 32])
    >>> info(".h5ad")["options"]
    ['layer', 'genes', 'factors', 'labels', 'stream']
    """
    if name.startswith(".") or name in FORMATS:
        return _of_files(name)
    if name not in DATASETS:
        raise ValueError(f"unknown data set {name!r}{nearest(name, DATASETS)}; there are {', '.join(DATASETS)}")
    source, card = DATASETS[name], DATASETS[name].card
    files = [
        {
            "name": file.name,
            "path": None if path is None else str(path),
            "urls": list(file.urls),
            "hash": file.known_hash,
            "bytes": file.size,
        }
        for file in card.files
        for path in (found(card.folder, (file.name, file.name.removesuffix(".gz"))),)
    ]
    return {
        "name": name,
        "summary": card.summary,
        "size": card.size,
        "shape": list(card.shape),
        "bytes": card.size * prod(card.shape) * (1 if len(card.shape) == 3 else 4),  # 8-bit images, or 32-bit numbers
        "factor_names": list(card.factor_names),
        "factor_sizes": list(card.factor_sizes),
        "order": card.order if card.factor_names else "",
        "licence": card.licence,
        "citation": card.citation,
        "options": list(source.options),
        "folder": card.folder,
        "files": files,
        "state": _state(card, files),
        "obtain": card.obtain,
    }


def _of_files(name: str) -> dict[str, Any]:
    """The card of a kind of file: of several for one ending, the last, which reads what the others do not know."""
    suffix = f".{name.lstrip('.')}".lower()
    found = [key for key, reader in FORMATS.items() if suffix in reader.card.files]
    if name not in FORMATS and not found:
        raise ValueError(f"files of type {name!r} are not read; {' '.join(SUFFIXES)} are")
    key = name if name in FORMATS else found[-1]
    reader = FORMATS[key]
    return {
        "name": key,
        "files": list(reader.card.files) or ["a folder"],
        "becomes": reader.card.becomes,
        "written_by": reader.card.written_by,
        "options": list(reader.options),
    }


def _state(card: Card, files: list[dict[str, Any]]) -> str:
    if not files:
        return "made here"
    folders = {str(Path(file["path"]).parent) for file in files if file["path"] is not None}
    if all(file["path"] is not None for file in files):
        return f"in {', '.join(sorted(folders))}"
    other = found(card.folder, card.alternatives)
    if other is not None:
        return f"in {other}"
    missing = [file for file in files if file["path"] is None]
    if not all(file["urls"] for file in missing):
        return f"to be put into PARTITA_DATA/{card.folder}"
    sizes = [file["bytes"] for file in missing]
    download = f" ({sum(sizes) / 1e6:,.1f} MB)" if all(size is not None for size in sizes) else ""
    fetched = f"fetched when first used{download}"
    return (
        f"{len(files) - len(missing)} of {len(files)} files in {', '.join(folders)}; the rest {fetched}"
        if folders
        else fetched
    )
