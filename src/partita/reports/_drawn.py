"""Which runs of a large study a page is about: a browser does not bear all of them."""

from collections.abc import Sequence

from partita.studies._index import Entry

RUNS_DRAWN = 2000
SETTINGS_DRAWN = 100


def drawn_of(entries: Sequence[Entry]) -> list[Entry]:
    """All, or of at most SETTINGS_DRAWN settings (one of each method, then the next in order) the first seeds: never
    chosen by outcome."""
    if len(entries) <= RUNS_DRAWN:
        return list(entries)
    settings: dict[str, list[Entry]] = {}
    for entry in entries:  # by setting and seed
        before, _, after = entry.body.rpartition(f'"seed":{entry.seed_digits}')
        settings.setdefault(before + after, []).append(entry)
    groups = list(settings.values())
    first = {own[0].method: own for own in reversed(groups)}
    order = sorted(groups, key=lambda own: own is not first[own[0].method])[:SETTINGS_DRAWN]
    seeds = max(1, RUNS_DRAWN // len(order))
    return [entry for own in order for entry in own[:seeds]]
