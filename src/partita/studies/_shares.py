"""Which of several processes trains which ensemble of a study."""

from collections.abc import Sequence

from partita.studies.run import Run

SPLITS = ("auto", "runs", "rows")


def splits_rows(split: str, runs: int, processes: int) -> bool:
    """Whether processes share the rows of every batch, rather than the runs: on "auto" where there are fewer runs than
    processes. Of the runs asked for, not of those still to do, so that the same command goes on as it began."""
    if split not in SPLITS:
        raise ValueError(f"unknown split {split!r}: choose from {', '.join(SPLITS)}")
    return processes > 1 and (split == "rows" or (split == "auto" and runs < processes))


def dealt(ensembles: Sequence[list[Run]], shares: int) -> list[list[list[str]]]:
    """For each share its ensembles, as ids: the longest first, each to whom has least to do."""
    hands: list[list[list[str]]] = [[] for _ in range(shares)]
    load = [0] * shares
    order = range(len(ensembles)) if shares == 1 else sorted(range(len(ensembles)), key=lambda i: -_work(ensembles[i]))
    for i in order:
        least = load.index(min(load))
        hands[least].append([run.id for run in ensembles[i]])
        load[least] += _work(ensembles[i])
    return hands


def _work(runs: list[Run]) -> int:
    return len(runs) * runs[0].steps * runs[0].program.replicas
