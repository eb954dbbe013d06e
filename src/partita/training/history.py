"""What was logged: for every log point the mean of each quantity since the last one, for each run."""

from collections.abc import Sequence

import numpy as np


class History:
    """`names` are the quantities of the objective, then the `watched` ones: looked at now and then, and NaN between."""

    def __init__(self, names: Sequence[str], runs: int, watched: Sequence[str] = ()):
        self.names, self.runs, self.watched = [*names, *watched], runs, list(watched)
        self.steps: list[int] = []
        self._rows: list[np.ndarray] = []

    def append(self, step: int, values: np.ndarray) -> None:
        self.steps.append(step)
        self._rows.append(np.asarray(values, np.float32))

    def restore(self, steps: list[int], values: np.ndarray, names: Sequence[str] | None = None) -> None:
        """Where the log was kept under other `names`, what was not watched then is NaN."""
        if names is not None and list(names) != self.names:
            unknown = np.full_like(values[:, :1], np.nan)
            values = np.concatenate([values, unknown], 1)
            values = values[:, [list(names).index(name) if name in names else -1 for name in self.names]]
        self.steps, self._rows = list(steps), list(values)

    def values(self) -> np.ndarray:
        """(log points, quantities, runs)"""
        return np.stack(self._rows) if self._rows else np.zeros((0, len(self.names), self.runs), np.float32)

    def row(self, point: int) -> np.ndarray:
        """(quantities, runs) at one log point."""
        return self._rows[point]

    def only(self, runs: list[int]) -> "History":
        """The same log with these runs alone."""
        chosen = History(self._judged(self.names), len(runs), self.watched)
        chosen.restore(self.steps, np.asarray(self.values()[..., runs]))
        return chosen

    def until(self, step: int) -> "History":
        """The same log up to this step."""
        kept = sum(each <= step for each in self.steps)
        shorter = History(self._judged(self.names), self.runs, self.watched)
        shorter.restore(self.steps[:kept], self.values()[:kept])
        return shorter

    def of(self, run: int) -> dict[str, np.ndarray]:
        """`step` and every quantity of one run, an array each."""
        values = self.values()[..., run]
        return {"step": np.asarray(self.steps), **{name: values[:, q] for q, name in enumerate(self.names)}}

    def finite(self) -> np.ndarray:
        """Which runs were finite at the last log point; a run that is not never becomes so again."""
        if not self._rows:
            return np.ones(self.runs, bool)
        return np.asarray(np.isfinite(self._judged(self._rows[-1])).all(axis=0))

    def diverged(self, run: int) -> int | None:
        """The first log point at which the run was no longer finite."""
        bad = [not np.isfinite(self._judged(row[:, run])).all() for row in self._rows]
        return self.steps[bad.index(True)] if any(bad) else None

    def _judged(self, quantities):
        """Those that decide whether a run is finite: a score may be infinite where training is well."""
        return quantities[: len(self.names) - len(self.watched)]
