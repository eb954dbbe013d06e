"""What is known of a data set before it is loaded: factors, licence, citation, files."""

from dataclasses import dataclass


@dataclass(frozen=True)
class RemoteFile:
    """A file somebody publishes: its name, where it is to be had (mirrors in order) and how to know it is right."""

    name: str
    urls: tuple[str, ...] = ()
    known_hash: str | None = None  # "sha256:..." or "md5:..."
    size: int | None = None  # bytes


@dataclass(frozen=True)
class Card:
    """One data set, in words. `folder` is where its files lie inside PARTITA_DATA; rows are in grid order, the last
    factor fastest, unless `order` says otherwise."""

    summary: str
    size: int
    shape: tuple[int, ...]
    factor_names: tuple[str, ...] = ()
    factor_sizes: tuple[int, ...] = ()
    order: str = "every combination of the factors once, the last factor fastest"
    licence: str = "made here, free"
    citation: str = ""
    folder: str | None = None
    files: tuple[RemoteFile, ...] = ()
    alternatives: tuple[str, ...] = ()  # files or folders any one of which is as good as `files`
    obtain: str = "made here, nothing to download"


@dataclass(frozen=True)
class FileCard:
    """One kind of file, in words: how its names end (a folder has none), what a row becomes, and who writes it."""

    name: str
    files: tuple[str, ...]
    becomes: str
    written_by: str
