"""Where the files of a data set are: in PARTITA_DATA, in the cache, or on a server.

Folders inside both are as on the data set's card: PARTITA_DATA/mnist/train-images-idx3-ubyte.gz. Environment:
PARTITA_DATA, a folder that is only read; PARTITA_OFFLINE=1, never use the network.
"""

import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError

from partita.data._card import Card, RemoteFile
from partita.data._transfer import progress_line, transfer

TIMEOUT = 30.0  # seconds without a byte
ATTEMPTS = 4  # a mirror
HOPELESS = (400, 401, 403, 404, 405, 410, 451)  # HTTP answers that asking again will not change


def places(folder: str | None) -> Iterator[Path]:
    """Folders in which a data set's files may lie, the first choice first; the cache is thought of last."""
    own = os.environ.get("PARTITA_DATA")
    if own:
        yield from _inside(Path(own).expanduser(), folder)
    yield from _inside(cache_folder(), folder)


def _inside(root: Path, folder: str | None) -> list[Path]:
    return [root / folder, root] if folder else [root]


def cache_folder() -> Path:
    import platformdirs

    return Path(platformdirs.user_cache_dir("partita"))


def found(folder: str | None, names: str | Sequence[str]) -> Path | None:
    """The first existing file or folder called so; several names are alternatives (plain or compressed)."""
    for place in places(folder):
        for name in [names] if isinstance(names, str) else names:
            if (place / name).exists():
                return place / name
    return None


def obtain(
    card: Card, file: RemoteFile, *, attempts: int = ATTEMPTS, pause: float = 1.0, timeout: float = TIMEOUT
) -> Path:
    """The path of a file of a data set, fetched into the cache if it is nowhere yet.

    Mirrors are tried in turn, each `attempts` times with growing pauses; what has arrived is kept and resumed; the hash
    is checked before the file gets its name. OSError says which file to put where, ValueError what hash was found.
    """
    here = found(card.folder, (file.name, file.name.removesuffix(".gz")))
    if here is not None:
        return here
    if os.environ.get("PARTITA_OFFLINE", "") not in ("", "0"):
        raise OSError(f"{file.name} is not here and PARTITA_OFFLINE is set. {advice(card, file)}")
    if not file.urls:
        raise OSError(f"{file.name} is not here. {advice(card, file)}")
    return _fetch(card, file, attempts, pause, timeout)


def advice(card: Card, file: RemoteFile) -> str:
    """Which file to put where."""
    root = Path(os.environ.get("PARTITA_DATA") or cache_folder())
    where = root / card.folder if card.folder else root
    source = f" It is published at {file.urls[0]}." if file.urls else ""
    check = f" ({file.known_hash})" if file.known_hash else ""
    hint = "" if os.environ.get("PARTITA_DATA") else " (or set PARTITA_DATA to your data folder)"
    return f"Put {file.name}{check} into {where}{hint}.{source} {card.obtain}".strip()


def _fetch(card: Card, file: RemoteFile, attempts: int, pause: float, timeout: float) -> Path:
    import filelock

    target = cache_folder() / (card.folder or "") / file.name
    target.parent.mkdir(parents=True, exist_ok=True)
    failures: list[str] = []
    wrong: list[str] = []
    with filelock.FileLock(f"{target}.lock"):
        if target.exists():  # another process was faster
            return target
        for url in file.urls:
            for attempt in range(attempts):
                try:
                    return _retrieve(url, file, target, timeout)
                except ValueError as error:  # wrong content: ask this mirror once more from the start, then the next
                    wrong.append(f"{url}: {error}")
                    if attempt:
                        break
                except (OSError, URLError) as error:
                    failures.append(f"{url}: {_reason(error)}")
                    if isinstance(error, HTTPError) and error.code in HOPELESS:
                        break
                    time.sleep(pause * 2**attempt if attempt + 1 < attempts else 0)
    if wrong:
        raise ValueError(f"{file.name} has the wrong content at {wrong[-1]}. {advice(card, file)}")
    raise OSError(f"{file.name} could not be fetched: {'; '.join(dict.fromkeys(failures))}. {advice(card, file)}")


def _retrieve(url: str, file: RemoteFile, target: Path, timeout: float) -> Path:
    """One attempt, through pooch: our resuming transfer into a part, hash check, temporary file, rename."""
    import pooch

    part = target.with_name(target.name + ".part")

    def download(url: str, output_file: Any, _pooch: Any, *, check_only: bool | None = None) -> None:
        with progress_line(file.name) as report:
            transfer(url, part, timeout=timeout, limit=file.size, report=report)
        _check_hash(part, file)
        os.replace(part, output_file)

    pooch.get_logger().setLevel("WARNING")
    pooch.retrieve(url, file.known_hash, target.name, target.parent, downloader=download)  # pyright: ignore
    return target


def _check_hash(part: Path, file: RemoteFile) -> None:
    import pooch

    if file.known_hash is None:
        return
    algorithm, _, expected = file.known_hash.partition(":")
    actual = pooch.file_hash(str(part), alg=algorithm)
    if actual != expected:
        part.unlink()  # resuming what is wrong would only repeat it
        raise ValueError(f"expected {file.known_hash}, found {algorithm}:{actual}")


def _reason(error: OSError) -> str:
    if isinstance(error, HTTPError):
        return f"the server answered {error.code}"
    if isinstance(error, TimeoutError) or isinstance(getattr(error, "reason", None), TimeoutError):
        return "no answer in time"
    return str(getattr(error, "reason", None) or error)
