"""One HTTP transfer that picks up where the last one stopped."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

BLOCK = 1 << 16

Report = Callable[[int, int | None], None]  # bytes so far, bytes in all if known


class CutShort(OSError):
    """The connection ended before everything had arrived."""


def transfer(url: str, part: Path, *, timeout: float, limit: int | None, report: Report) -> None:
    """Bring the content of `url` into `part`, after what `part` already holds.

    Raises OSError when the transfer stops early (what arrived stays for the next attempt) and ValueError when the
    server sends more than the `limit` bytes the file has.
    """
    have = part.stat().st_size if part.exists() else 0
    if limit is not None and have == limit:
        return
    headers = {"User-Agent": "partita"} | ({"Range": f"bytes={have}-"} if have else {})
    try:
        response = urlopen(Request(url, headers=headers), timeout=timeout)
    except HTTPError as error:
        if error.code == 416:  # the part is as long as the file, or is not a part of it
            _settle_unsatisfiable(error, part, have)
            return
        raise
    with response:
        if response.status != 206 or not response.headers.get("Content-Range", "").startswith(f"bytes {have}-"):
            have = 0  # this server does not resume
        length = response.headers.get("Content-Length")
        total = have + int(length) if length and length.isdigit() else None
        if limit is not None and total is not None and total > limit:
            raise ValueError(f"the server announces {total:,} bytes, the file has {limit:,}")
        _receive(response, part, have, limit, total, report)


def _receive(response, part: Path, have: int, limit: int | None, total: int | None, report: Report) -> None:
    with part.open("ab" if have else "wb") as output:
        while block := response.read1(BLOCK):  # what is there, so that a stall loses nothing
            have += len(block)
            if limit is not None and have > limit:
                raise ValueError(f"the server sends more than the {limit:,} bytes of the file")
            output.write(block)
            report(have, total)
    if total is not None and have < total:
        raise CutShort(f"the connection ended after {have:,} of {total:,} bytes")


def _settle_unsatisfiable(error: HTTPError, part: Path, have: int) -> None:
    total = error.headers.get("Content-Range", "").rpartition("/")[2]
    if total != str(have):
        part.unlink(missing_ok=True)
        raise CutShort("the part fetched earlier does not fit the file; starting over") from error


@contextmanager
def progress_line(name: str) -> Iterator[Report]:
    """A progress bar on a terminal, silence elsewhere."""
    if not sys.stderr.isatty():
        yield lambda done, total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TimeRemainingColumn, TransferSpeedColumn

    columns = ("{task.description}", BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task(name, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)
