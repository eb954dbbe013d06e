"""Names in error lines: what was probably meant, and not too many of what there is."""

from collections.abc import Iterable
from difflib import get_close_matches
from itertools import islice

SEARCHED = 2000  # names: a table may have a million columns, and comparing takes time
NAMED, LETTERS = 10, 60


def nearest(name: str, known: Iterable[str], prefix: str = "") -> str:
    """`" (did you mean 'dsprites'?)"`, or nothing when no known name is close; with a prefix, `" (... --steps?)"`."""
    close = get_close_matches(str(name).lower()[:LETTERS], list(islice(known, SEARCHED)), n=1, cutoff=0.6)
    if not close:
        return ""
    return f" (did you mean {prefix}{close[0]}?)" if prefix else f" (did you mean {close[0]!r}?)"


def listed(names: Iterable[object], most: int = NAMED) -> str:
    """`a, b, c`, or the first few and how many more there are; none of them at great length."""
    every = [str(name) for name in names]
    few = [name if len(name) <= LETTERS else f"{name[:LETTERS]}..." for name in every[:most]]
    return ", ".join(few) + (f", ... and {len(every) - most:,} more" if len(every) > most else "") or "none"
