"""Rows that no model of a run is trained on: some to judge and to stop by, others for a diagnosis afterwards."""

from dataclasses import dataclass

import numpy as np

# Of a series in time, so many stretches are held out for each purpose: one alone may be unlike the rest.
STRETCHES = 5
FEWEST_ROWS = 2


@dataclass(frozen=True)
class Rows:
    """Row numbers, rising: those to train on, to judge by and to diagnose with. They share none."""

    training: np.ndarray
    judging: np.ndarray
    diagnosis: np.ndarray


@dataclass(frozen=True)
class HoldOut:
    """Shares of the rows held out: for judging and stopping, and for a diagnosis that shall owe nothing to either.

    `blocks` holds out contiguous stretches instead of single rows: neighbours in a recording resemble each other, so
    that single rows of it are no test. The choice depends on the number of rows alone: all runs are judged alike.
    Weights are judged `by` the "loss", or by the "bound" on log p(x) alone, at the start too: a start with independent
    groups is left only for a better model of the rows, which also reconstructs them no worse. (A bound gains whole nats
    where groups are bent until they look Gaussian, as the prior is, and nothing is known better for it.) Where nobody
    asked for it (`unasked`), too few rows are no error: then none are held out.
    """

    judging: float = 0.0
    diagnosis: float = 0.0
    blocks: bool = False
    by: str = "loss"
    unasked: bool = False

    def __post_init__(self):
        shares = (self.judging, self.diagnosis)
        if not all(isinstance(share, int | float) and 0 <= share < 1 for share in shares) or sum(shares) >= 1:
            raise ValueError(f"held-out shares must lie between 0 and 1, and leave rows to train on; got {shares}")

    def __bool__(self) -> bool:
        return bool(self.judging or self.diagnosis)

    def rows(self, size: int) -> Rows:
        """Which of `size` rows are held out; ValueError where a part that was asked for would be too small."""
        pieces = self._stretches(size) if self.blocks else np.random.default_rng(0).permutation(size)[:, None]
        judging = self._part(pieces, 0, self.judging, size)
        diagnosis = self._part(pieces, len(judging), self.diagnosis, size)
        held = np.concatenate([*judging, *diagnosis, []]).astype(int)
        training = np.setdiff1d(np.arange(size), held)
        if len(training) < FEWEST_ROWS:
            raise ValueError(f"holding out {len(held)} of {size} rows leaves {len(training)} to train on")
        judging, diagnosis = (np.sort(np.concatenate([*part, []]).astype(int)) for part in (judging, diagnosis))
        return Rows(training, judging, diagnosis)

    def _stretches(self, size: int) -> list[np.ndarray]:
        """The rows in equal stretches, in random order, so long that STRETCHES of them are the smaller share."""
        least = min(share for share in (self.judging, self.diagnosis) if share)
        count = max(1, min(size, round(STRETCHES / least)))
        pieces = np.array_split(np.arange(size), count)
        return [pieces[i] for i in np.random.default_rng(0).permutation(count)]

    def _part(self, pieces, start: int, share: float, size: int) -> list[np.ndarray]:
        if not share:
            return []
        count = round(share * len(pieces))
        taken = list(pieces[start : start + count])
        if sum(map(len, taken)) < FEWEST_ROWS and self.unasked:
            return []
        if sum(map(len, taken)) < FEWEST_ROWS:
            raise ValueError(f"{share:g} of {size} rows are too few to hold out: take a larger share, or more rows")
        return taken


NOTHING = HoldOut()


def parse_validation(validation: float | str | None) -> HoldOut:
    """None, 0.1 (a tenth of the rows, at random) or "blocks:0.1" (contiguous stretches of a series in time)."""
    if validation is None:
        return NOTHING
    text = "" if isinstance(validation, bool) else str(validation)
    blocks = text.startswith("blocks:")
    try:
        share = float(text.removeprefix("blocks:"))
    except ValueError:
        share = -1.0
    if not 0 < share < 1:
        raise ValueError(f'validation must be a share between 0 and 1 such as 0.1, or "blocks:0.1", got {validation!r}')
    return HoldOut(judging=share, blocks=blocks)
