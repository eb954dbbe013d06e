"""What somebody who mistyped a name probably meant, and which names there are."""

from collections.abc import Iterable
from difflib import get_close_matches
from itertools import islice

MOST_NAMES = 20


def nearest(name: str, known: Iterable[str]) -> str:
    """`" (did you mean 'dsprites'?)"`, or nothing when no known name is close."""
    close = get_close_matches(str(name).lower(), list(known), n=1, cutoff=0.6)
    return f" (did you mean {close[0]!r}?)" if close else ""


def some_of(names: Iterable[object]) -> str:
    """The names with commas between, and how many more there are: a table may have a million columns."""
    rest = iter(names)
    shown = ", ".join(map(str, islice(rest, MOST_NAMES)))
    more = sum(1 for _ in rest)
    return f"{shown} and {more:,} more" if more else shown
