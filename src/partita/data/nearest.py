"""What somebody who mistyped a name probably meant."""

from collections.abc import Iterable
from difflib import get_close_matches


def nearest(name: str, known: Iterable[str]) -> str:
    """`" (did you mean 'dsprites'?)"`, or nothing when no known name is close."""
    close = get_close_matches(str(name).lower(), list(known), n=1, cutoff=0.6)
    return f" (did you mean {close[0]!r}?)" if close else ""
