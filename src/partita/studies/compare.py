"""Methods or settings of one or several studies beside each other, paired by seed and data."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from partita.data._nearest import listed
from partita.studies._comparable import aligned_unlike, check_measured_alike, comparable, margin_of, success_of
from partita.studies._compare_rows import Row, curve_rows, difference_rows, profile_rows, rank_row, summary_rows
from partita.studies._contenders import Contenders, Entry, contenders, entries_of
from partita.studies._statistics import ALPHA, smallest_p
from partita.studies._written_tables import as_text, write_tables
from partita.studies.scores import Column


@dataclass(frozen=True)
class Compared:
    """One score of all contenders. Rows are dicts of numbers and text: a row a contender (`summaries`), a row a pair
    (`differences`), a row a contender and threshold (`profiles`), a row a value of a weight (`curves`)."""

    score: str
    header: str
    explanation: str
    better: str
    protocol: str
    margin: float
    success_at: float | None
    summaries: tuple[Row, ...]
    differences: tuple[Row, ...]
    ranks: Row | None
    profiles: tuple[Row, ...]
    curves: tuple[Row, ...]


@dataclass(frozen=True)
class Comparison:
    """What `compare` found. `str()` is the text of the command, `as_dict()` its JSON, `tables` rows of dicts by name,
    `write(folder)` the same as CSV, LaTeX and, where pyarrow is installed, parquet."""

    by: str
    studies: tuple[str, ...]
    contenders: tuple[str, ...]
    data: tuple[str, ...]
    seeds: tuple[int, ...]
    pairs: int
    scores: tuple[Compared, ...]
    notes: tuple[str, ...]

    @property
    def tables(self) -> dict[str, list[Row]]:
        """Summaries, differences, ranks, profiles and curves of all scores, one list each."""
        found: dict[str, list[Row]] = {}
        for name in ("summaries", "differences", "profiles", "curves"):
            found[name] = [{"score": each.score, **row} for each in self.scores for row in getattr(each, name)]
        found["ranks"] = [
            {"score": each.score, "contender": label, "rank": rank, "critical_difference": each.ranks["critical"],
             "friedman": each.ranks["friedman"], "blocks": each.ranks["blocks"]}
            for each in self.scores if each.ranks is not None
            for label, rank in each.ranks["ranks"].items()
        ]  # fmt: skip
        return found

    def as_dict(self) -> dict[str, Any]:
        """All of it as JSON takes it."""
        return asdict(self)

    def __str__(self) -> str:
        return as_text(self)

    def write(self, folder: str | Path) -> list[Path]:
        """Writes the tables into a folder: NAME.csv, NAME.tex, NAME.parquet (where pyarrow is there), comparison.json
        and comparison.txt. Returns their paths."""
        return write_tables(self, Path(folder))


def compare(
    folders: str | Path | Sequence[str | Path],
    metric: str | Sequence[str] | None = None,
    by: str = "setting",
    *,
    against: str | None = None,
    margin: float | None = None,
    success: float | None = None,
) -> Comparison:
    """Compares runs that were trained on the same data from the same seeds.

    For every score and pair of contenders: the mean difference with its 95% bootstrap interval, Wilcoxon's signed-rank
    test with Holm's correction over the pairs of that score, and two one-sided tests (TOST) of "no difference", that
    is, of a mean difference within the `margin`. For every contender: mean and interquartile mean with bootstrap
    intervals, median and quartiles, the share of runs that succeed with Wilson's interval (runs that diverged do not),
    its mean rank with Nemenyi's critical difference, and its performance profile. Where a method was trained with
    several values of a number, the score's median and quartiles at each.

    Parameters
    ----------
    folders : one study's folder, or several; a run that is in two of them counts once.
    metric : a score by name ("R2", "PC - null", "mig"), or several; None for every score that all runs have.
    by : "setting", "method" (over the mean of its settings), or an option such as "beta", with all others alike.
    against : a contender that all others are compared with; None for all pairs.
    margin : of "no difference"; None for 0.05, and 0.1 of what is in nats.
    success : a run succeeds from this value on; None for 0.9 of scores between 0 and 1.

    Returns
    -------
    Comparison
        ValueError, by name, where runs were not measured alike (protocol, rows) or not on the same data.

    Examples
    --------
    >>> import tempfile
    >>> from partita.studies import Run, Store
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = Store(Path(folder))
    ...     for seed in range(6):
    ...         for beta, value in ((1.0, 0.2), (4.0, 0.3 + 0.01 * seed)):
    ...             run = Run("beta_vae", {"beta": beta}, {"shape": [5]}, {"name": "groups"}, 10, 2, 0.001, seed)
    ...             _ = store.describe(run)
    ...             _ = (store.folder_of(run) / "result.json").write_text('{"status": "finished", "step": 10}')
    ...             store.save_scores(run, {"n": 5, "metrics": {"mig": {"value": value, "protocol": "p", "n": 5}}})
    ...     found = compare(folder, metric="mig")
    >>> row = found.scores[0].differences[0]
    >>> row["first"], row["second"], round(row["mean"], 3), round(row["wilcoxon"], 4)
    ('beta_vae beta=1.0', 'beta_vae beta=4.0', -0.125, 0.0312)
    """
    several = [folders] if isinstance(folders, str | Path) else list(folders)
    if not several:
        raise ValueError("nothing to compare: give at least one study's folder")
    for name, value in (("margin", margin), ("success", success)):
        if value is not None and not np.isfinite(value):
            raise ValueError(f"{name} must be a number, got {value}")
    if margin is not None and margin <= 0:
        raise ValueError(f"margin must be above 0, got {margin}")
    entries = entries_of(several)
    return compare_entries(entries, metric, by, against=against, margin=margin, success=success)


def compare_entries(
    entries: Sequence[Entry],
    metric: str | Sequence[str] | None = None,
    by: str = "setting",
    *,
    against: str | None = None,
    margin: float | None = None,
    success: float | None = None,
) -> Comparison:
    """The same of runs that were read already."""
    field = contenders(entries, by)
    columns = comparable(entries, metric)
    check_measured_alike([entry for entry in entries if entry.scores is not None], field.data, columns)
    if against is not None and against not in field.labels:
        raise ValueError(f"there is no {against!r} to compare with: there are {listed(field.labels)}")
    scores = tuple(_compared(field, column, against, margin, success) for column in columns)
    pairs = len(scores[0].differences)
    notes = [*field.notes, *aligned_unlike(field, columns)]
    if smallest_p(len(field.blocks)) * pairs >= ALPHA:
        least = min(1.0, smallest_p(len(field.blocks)) * pairs)
        notes.append(
            f"{len(field.blocks)} pairs of runs are too few for Wilcoxon's test: with {pairs} comparisons its p cannot "
            f"fall below {least:.2g}; more seeds decide more"
        )
    return Comparison(
        by,
        tuple(dict.fromkeys(entry.study for entry in entries)),
        field.labels,
        tuple(dict.fromkeys(block.data for block in field.blocks)),
        tuple(sorted({block.seed for block in field.blocks})),
        len(field.blocks),
        scores,
        tuple(notes),
    )


def _compared(
    field: Contenders, column: Column, against: str | None, margin: float | None, success: float | None
) -> Compared:
    values = _values(field, column)
    within = margin_of(column) if margin is None else margin
    at = success_of(column) if success is None and column.better else success
    at = at if column.better else None
    reached = _reached(field, column, at)
    return Compared(
        column.name,
        column.header,
        column.explanation,
        column.better,
        _protocol(field, column),
        within,
        at,
        tuple(summary_rows(field.labels, values, reached)),
        tuple(difference_rows(field.labels, values, within, column.better, against)),
        rank_row(field.labels, values, column.better),
        tuple(profile_rows(field.labels, values, column.better)),
        tuple(curve_rows(field, column)),
    )


def _values(field: Contenders, column: Column) -> np.ndarray:
    """(blocks, contenders); the mean where a contender has several settings in a block."""

    def of(label: str, block) -> float:
        found = [column.value(entry.scores) for entry in field.runs[label, block]]
        return float(np.mean([value for value in found if value is not None]))

    return np.array([[of(label, block) for label in field.labels] for block in field.blocks])


def _reached(field: Contenders, column: Column, at: float | None) -> Mapping[str, tuple[int, int]]:
    """By contender, how many runs succeed, of all that ended."""
    if at is None:
        return {}

    def succeeds(entry: Entry) -> bool:
        value = column.value(entry.scores)
        return value is not None and (value <= at if column.better == "lower" else value >= at)

    return {label: (sum(map(succeeds, own)), len(own)) for label, own in field.ended.items()}


def _protocol(field: Contenders, column: Column) -> str:
    entry = next(iter(field.runs.values()))[0]
    return str(((entry.scores or {}).get("metrics") or {}).get(column.metric, {}).get("protocol", ""))
