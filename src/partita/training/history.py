"""What was logged: for every log point the mean of each quantity since the last one, for each run."""

import numpy as np


class History:
    def __init__(self, names: list[str], runs: int):
        self.names, self.runs = names, runs
        self.steps: list[int] = []
        self._rows: list[np.ndarray] = []

    def append(self, step: int, values: np.ndarray) -> None:
        self.steps.append(step)
        self._rows.append(np.asarray(values, np.float32))

    def restore(self, steps: list[int], values: np.ndarray) -> None:
        self.steps, self._rows = list(steps), list(values)

    def values(self) -> np.ndarray:
        """(log points, quantities, runs)"""
        return np.stack(self._rows) if self._rows else np.zeros((0, len(self.names), self.runs), np.float32)

    def row(self, point: int) -> np.ndarray:
        """(quantities, runs) at one log point."""
        return self._rows[point]

    def only(self, runs: list[int]) -> "History":
        """The same log with these runs alone."""
        chosen = History(self.names, len(runs))
        chosen.restore(self.steps, np.asarray(self.values()[..., runs]))
        return chosen

    def of(self, run: int) -> dict[str, np.ndarray]:
        """`step` and every quantity of one run, an array each."""
        values = self.values()[..., run]
        return {"step": np.asarray(self.steps), **{name: values[:, q] for q, name in enumerate(self.names)}}

    def finite(self) -> np.ndarray:
        """Which runs were finite at the last log point; a run that is not never becomes so again."""
        return np.asarray(np.isfinite(self._rows[-1]).all(axis=0)) if self._rows else np.ones(self.runs, bool)

    def diverged(self, run: int) -> int | None:
        """The first log point at which the run was no longer finite."""
        bad = ~np.isfinite(self.values()[..., run]).all(1)
        return self.steps[int(bad.argmax())] if bad.any() else None
