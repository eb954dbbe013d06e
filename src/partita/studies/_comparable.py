"""Which scores can be compared, and whether they were measured alike."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from partita.data._nearest import listed, nearest
from partita.studies._columns import columns_of_metrics
from partita.studies._contenders import Contenders, Entry
from partita.studies.scores import ALIGNED, COLUMNS, Column

# No scores of a run by themselves: what a score is held against, what is there under another name, and what all seeds
# of a setting have in common, which cannot be paired by seed.
LEFT_OUT = ("PC null", "TC null", "its null", "MIG", "UDR")
NATS = ("PC", "PC - null", "TC", "TC_mean", "TC_sample", "PC joint", "TC joint", "PC at width", "recon", "KL", "ELBO",
        "ELBO given u", "gaussian_tc", "exact_tc", "monte_carlo_tc")  # fmt: skip
OF_SEVERAL = ("latent_activity", "latent MSE")  # neither nats nor between 0 and 1
MARGIN, MARGIN_IN_NATS, SUCCESS = 0.05, 0.1, 0.9


def comparable(entries: Sequence[Entry], metric: str | Sequence[str] | None) -> list[Column]:
    """The scores to compare: those asked for, or all that every measured run has. ValueError names what is missing."""
    measured = [entry for entry in entries if entry.scores is not None]
    known = [column for column in COLUMNS if column.name not in LEFT_OUT]
    known += columns_of_metrics(entry.scores for entry in measured)
    if metric is None:
        found = [column for column in known if _lacking(column, measured) is None]
        if not found:
            raise ValueError("there is no score that all runs have: partita evaluate measures them")
        return found
    asked = [name.strip() for name in metric.split(",")] if isinstance(metric, str) else list(metric)
    found = [column for name in asked for column in _named(name, known)]
    for column in found:
        lacking = _lacking(column, measured)
        if lacking is not None:
            raise ValueError(
                f"{lacking} has no {column.name}: partita evaluate {lacking.study}"
                + (f" --metrics {column.metric}" if column.metric else "")
            )
    return list({column.name: column for column in found}.values())


def margin_of(column: Column) -> float:
    """What counts as no difference, where nobody says otherwise."""
    return MARGIN_IN_NATS if column.name in NATS else MARGIN


def success_of(column: Column) -> float | None:
    """From where on a run succeeds, where nobody says otherwise: only of scores between 0 and 1, where 1 is best."""
    return SUCCESS if column.better == "higher" and column.name not in NATS + OF_SEVERAL else None


def check_measured_alike(entries: Sequence[Entry], data: Mapping[str, str], columns: Sequence[Column]) -> None:
    """ValueError, by name, where scores were made by other rules, protocols or rows."""

    def by_data(entry: Entry, what: Hashable) -> Hashable:
        return data[entry.id], what

    scored = {entry.id: (entry.scores or {}).get("scored") or {} for entry in entries}
    _same(entries, "scores", "version", lambda entry: "", lambda entry: scored[entry.id].get("version"))
    _same(entries, "scores", "number of rows", lambda e: by_data(e, ""), lambda e: (e.scores or {}).get("n"))
    dependence = {entry.id: (entry.scores or {}).get("correlation") or {} for entry in entries}
    for name in ("by", "n"):
        what = "estimator" if name == "by" else "number of rows"
        _same(entries, "PC and TC", what, lambda e, n=name: by_data(e, n), lambda e, n=name: dependence[e.id].get(n))
    for metric in dict.fromkeys(column.metric for column in columns if column.metric):
        made = {entry.id: (entry.scores or {})["metrics"][metric] for entry in entries}
        _same(entries, metric, "protocol", lambda e: "", lambda e, made=made: made[e.id].get("protocol"))
        _same(entries, metric, "number of rows", lambda e: by_data(e, ""), lambda e, made=made: made[e.id].get("n"))


def aligned_unlike(field: Contenders, columns: Sequence[Column]) -> list[str]:
    """A sentence where contenders were aligned with the truth by groups of other origin, which favours some."""
    if not any(column.band == ALIGNED for column in columns):
        return []
    found: dict[str, list[str]] = {}
    for label in field.labels:
        aligned = [(entry.scores or {}).get("alignment") or {} for entry in field.ended[label]]
        found[label] = sorted({str(each["grouping"]) for each in aligned if "grouping" in each})
    if len({tuple(own) for own in found.values()}) < 2:
        return []
    said = "; ".join(f"{label}: {' or '.join(own) or 'none'}" for label, own in list(found.items())[:6])
    return [f"R2 is by groups of other origin, and the best by the truth favour who has them: {said}"]


def _same(entries: Sequence[Entry], what: str, which: str, alike, read) -> None:
    """ValueError where two runs that are `alike` were measured by another value of `which`."""
    first: dict[Any, tuple[Entry, Any]] = {}
    for entry in entries:
        other, expected = first.setdefault(alike(entry), (entry, read(entry)))
        if read(entry) != expected:
            raise ValueError(
                f"{what} of {other} and of {entry} are by another {which}, {expected} and {read(entry)}: measure both "
                f"alike, by partita evaluate {entry.study} --again"
            )


def _lacking(column: Column, entries: Sequence[Entry]) -> Entry | None:
    return next((entry for entry in entries if column.value(entry.scores) is None), None)


def _named(name: str, known: Sequence[Column]) -> list[Column]:
    """A score by its name, in any case, or the parts of a metric that is several."""
    found = [column for column in known if name == column.name] or [
        column for column in known if name.lower() in (column.name.lower(), column.metric)
    ]
    if name.lower() == "udr":
        raise ValueError("udr is one number of all seeds of a setting, so runs cannot be paired by it: leave it out")
    if not found:
        names = [column.name for column in known]
        raise ValueError(
            f"no run has a score {name!r}{nearest(name, names)}; there are {listed(names, 40)}; partita evaluate DIR "
            "--metrics NAME measures more"
        )
    return found
