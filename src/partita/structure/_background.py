"""What every two coordinates share, in bins of their ranks, and what two share where nothing singles them out.

Real codes are weakly dependent everywhere. A test against independence then joins everything; what a group must stand
out of is the background, which the pairs themselves show.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

FEWEST = 6  # coordinates: fewer pairs than theirs say nothing of a background
STRONG = 0.15  # nats: where half of all pairs share more, that is no background
DRAWS = 8
FEWEST_IN_TAIL = 4  # pairs whose excess says how the background ends
GAP = 0.01  # the chance of a gap in the background at which it is taken to end
NONE = 0.002  # nats: a median of so little is no background
MOST = 3.0  # times the median: more is not the background of a coordinate, but a group it is in


@dataclass(frozen=True)
class Pairs:
    """Information between every two coordinates less its null, that null, and its deviation; nats, (K, K) each."""

    shared: np.ndarray
    null: np.ndarray
    sd: np.ndarray


@dataclass(frozen=True)
class Background:
    """What pairs share that nothing singles out, and how much more it may be.

    `expected` (K, K) is in proportion to what either coordinate shares with all others, as of coordinates that follow a
    common cause more or less; `nats` its median. Of square roots, because those have about the same noise whatever is
    shared (`null` is added before, since estimates are noise about 0), `end` is the most that a pair of the background
    lies above what is expected, and `tail` the mean excess of the `beyond` largest, of so many `pairs` in all."""

    expected: np.ndarray
    nats: float
    end: float
    tail: float
    beyond: int
    pairs: int
    null: float

    def p_value(self, some: Sequence[tuple[int, int]], nats: float) -> float:
        """The chance, shared by all pairs, that the background goes on to where each of these pairs shares so much: of
        a tail that falls off exponentially and is known from m pairs, (1 + gap / (m tail))^-m."""
        expected = float(np.mean([self.expected[pair] for pair in some]))
        above = np.sqrt(max(nats + self.null, 0.0)) - np.sqrt(expected + self.null)
        return _beyond(float(above) - self.end, self.tail, self.beyond) / self.pairs


def shuffled(y: np.ndarray, rng: np.random.Generator, time: bool) -> np.ndarray:
    """Rows in another order; in time, shifted around a circle by at least a twentieth of it, which keeps how each row
    follows the one before."""
    if not time:
        return y[rng.permutation(len(y))]
    least = max(1, len(y) // 20)
    return np.roll(y, int(rng.integers(least, max(least + 1, len(y) - least))), 0)


def shared_by_pairs(y: np.ndarray, rng: np.random.Generator, time: bool = False) -> Pairs:
    """Of the columns of y (n, K), in equally filled bins of ranks: no more is seen than the bins resolve. The null is
    that of columns shuffled apart."""
    bins = int(np.clip(np.sqrt(len(y) / 20), 3, 8))
    cells = _cells(y, bins, rng)
    draws = []
    for _ in range(DRAWS):
        apart = np.stack([shuffled(column, rng, time) for column in cells.T], 1)
        draws.append(_information(apart, bins))
    null, sd = np.mean(draws, 0), np.std(draws, 0, ddof=1)
    if not time and y.shape[1] > 1:  # then it is the same of every pair
        pairs = np.triu_indices(y.shape[1], 1)
        same = np.array([draw[pairs] for draw in draws])
        null, sd = np.full_like(null, same.mean()), np.full_like(sd, same.std())
    shared = _information(cells, bins) - null
    np.fill_diagonal(shared, 0.0)
    return Pairs(shared, null, sd)


def background_of(pairs: Pairs, rows: float) -> Background | None:
    """The background of pairs that share so much; None of few coordinates, or where it is too strong to be one.

    From the pairs that exceed what is expected least upwards, until the next one lies beyond a gap that the tail does
    not explain: up to two thirds of the pairs may be inside groups."""
    latents = len(pairs.shared)
    if latents < FEWEST:
        return None
    some = np.triu_indices(latents, 1)
    null, sd = float(np.median(pairs.null[some])), float(np.median(pairs.sd[some]))
    middle = float(np.median(pairs.shared[some]))
    if middle > STRONG:
        return None
    expected = _expected(pairs.shared, middle)
    above = np.sqrt(np.maximum(pairs.shared + null, 0.0)) - np.sqrt(expected + null)
    above = np.sort(above[some])
    noise = 0.5 * float(np.sqrt((sd**2 + 2 * max(middle, 0.0) / rows) / max(middle + null, 1e-9)))
    count = len(above) // 3
    while True:
        beyond = max(FEWEST_IN_TAIL, count // 4)
        tail = max(float(np.mean(above[count - beyond : count] - above[max(count - beyond - 1, 0)])), noise)
        if count == len(above) or _beyond(above[count] - above[count - 1], tail, beyond) < GAP:
            return Background(expected, middle, float(above[count - 1]), tail, beyond, len(above), null)
        count += 1


def _expected(shared: np.ndarray, middle: float) -> np.ndarray:
    """c_i c_j / c, c_i the median of what coordinate i shares with the others, c that of all pairs."""
    if middle < NONE:
        return np.zeros_like(shared)
    others = ~np.eye(len(shared), dtype=bool)
    own = np.median(shared[others].reshape(len(shared), -1), axis=1)
    own = np.clip(own, 0.0, MOST * middle)
    return np.outer(own, own) / middle


def _beyond(gap: float, tail: float, count: int) -> float:
    return (1 + max(gap, 0.0) / (count * tail)) ** -count


def rows_that_count(y: np.ndarray) -> float:
    """Rows over the time in which a column forgets: n / (1 + 2 sum of autocorrelations while positive), median of the
    columns."""
    centred = y - y.mean(0)
    size = 2 * len(y)
    power = np.abs(np.fft.rfft(centred, size, axis=0)) ** 2
    auto = np.fft.irfft(power, size, axis=0)[: len(y) // 2]
    auto = auto / np.where(auto[0] > 0, auto[0], 1.0)
    negative = auto <= 0
    ends = np.where(negative.any(0), negative.argmax(0), len(auto))
    times = [1 + 2 * column[1:end].sum() for column, end in zip(auto.T, ends)]
    return max(float(len(y) / np.median(times)), 4.0)


def _cells(y: np.ndarray, bins: int, rng: np.random.Generator) -> np.ndarray:
    """The bin of each value's rank; equal values are ranked by chance."""
    ranks = np.empty(y.shape, np.int64)
    for k, column in enumerate(y.T):
        ranks[np.lexsort((rng.random(len(y)), column)), k] = np.arange(len(y))
    return ranks * bins // len(y)


def _information(cells: np.ndarray, bins: int) -> np.ndarray:
    rows, latents = cells.shape
    one_hot = np.zeros((rows, latents * bins), np.float32)
    one_hot[np.arange(rows)[:, None], cells + bins * np.arange(latents)] = 1.0
    joint = (one_hot.T @ one_hot).astype(np.float64) / rows
    surprise = -joint * np.log(np.where(joint > 0, joint, 1.0))
    entropy = surprise.reshape(latents, bins, latents, bins).sum((1, 3))
    own = np.diag(entropy)
    return own[:, None] + own[None] - entropy
