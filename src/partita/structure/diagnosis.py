"""Did it work, without labels: what codes, groups and rows say about each other, and a verdict with its reasons."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np

from partita.distributions import Groups, as_groups
from partita.measures._arrays import as_matrix
from partita.measures._ica import picard
from partita.structure._background import rows_that_count, shared_by_pairs, shuffled
from partita.structure._beside_pca import beside_pca, far_worse
from partita.structure._halves import Agreement, halves_agree
from partita.structure.alignment import worst_match
from partita.structure.free_groups import grouped, threshold, ties
from partita.structure.merging import neighbour_information

HOLD, UNCLEAR, WRONG = "groups hold", "no clear groups", "not to be trusted"
FEWEST_ROWS = 120  # two halves that can be unmixed
NOTHING = 0.01  # nats of KL: a latent with less carries nothing
BETWEEN = 0.05  # nats between groups, less the null; so much does not make one group of two either
ACROSS, ACROSS_NATS = 8.0, 0.025  # deviations, and nats, that two coordinates of different groups may share
FIRM = 1.5  # times as firmly as chance allows must the weakest group be tied where rows are bent: a bend ties, too
COHESION = 3.0  # deviations by which two parts of a group share more than chance
GAUSSIAN = 2.0  # times the Anderson-Darling distance that ICA finds in Gaussian noise
AGREEMENT = 0.9  # R2 of every group of one half of the rows from that of all
MAX_ROWS = 2_000
DRAWS = 8


@dataclass(frozen=True)
class Diagnosis:
    """A verdict, `"groups hold"`, `"no clear groups"` or `"not to be trusted"`, with its reasons in sentences, and the
    numbers they rest on by name. Printing says all of it."""

    verdict: str
    reasons: tuple[str, ...]
    numbers: dict[str, float] = field(default_factory=dict)

    def __str__(self) -> str:
        return "\n".join([self.verdict, *(f"- {reason}" for reason in self.reasons)])


@dataclass
class Findings:
    """What checks have to say, as they say it."""

    wrong: list[str] = field(default_factory=list)
    noted: list[str] = field(default_factory=list)  # what is not as it should be, but says nothing of the groups
    unclear: list[str] = field(default_factory=list)
    fine: list[str] = field(default_factory=list)
    numbers: dict[str, float] = field(default_factory=dict)

    def verdict(self) -> Diagnosis:
        if self.unclear:  # that nothing holds groups together is why they disagree
            return Diagnosis(UNCLEAR, (*self.unclear, *self.wrong, *self.noted), self.numbers)
        if self.wrong:
            return Diagnosis(WRONG, (*self.wrong, *self.noted), self.numbers)
        return Diagnosis(HOLD, (*self.fine, *self.noted), self.numbers)


def diagnose_groups(
    codes: Any,
    groups: Sequence,
    x: Any = None,
    *,
    kl: Any = None,
    bound: float | None = None,
    error: float | None = None,
    again: tuple[Any, Sequence] | None = None,
    restarts: Sequence[float] = (),
    found: bool = False,
    time: bool = False,
    seed: int = 0,
) -> Diagnosis:
    """Whether groups of latents hold, without labels: a verdict with its reasons.

    Groups hold where there are several; every two parts of a group share more than chance, in any split; coordinates of
    different groups share no more than chance and the groups as a whole at most 0.05 nats (by nearest neighbours, less
    the null); at most one latent by itself is Gaussian, since two could be turned into each other; two halves of
    the rows, unmixed anew, show every group again (R2 at least 0.9), and so do all rows but a quarter, grouped anew; no
    group falls apart when no sizes are told; and the model is not far worse than PCA. Where no linear unmixing shows
    the groups, their ties must be 1.5 times what chance allows instead, since a bend can tie as well.

    Parameters
    ----------
    codes : (n, K), the latents of rows.
    groups : sizes or tuples of indices.
    x : (n, D), the rows themselves. Without them the halves are unmixed from the codes, which says less.
    kl : (K,), KL of each latent from its prior, nats; below 0.01 it carries nothing.
    bound : of a Gaussian likelihood on x, nats a row. Below the linear model's by 0.5 nats a latent is said, by 1 too
        much.
    error : mean squared error of x decoded from the codes. Above that of PCA by a fifth is said, 2.5 times too much.
    again : codes of the same rows, and groups, of a second training: it should find the same (R2 at least 0.9).
    restarts : R2 of the worst group of these codes from those of each other restart of the training. How many found the
        same groups is said; that others did not is no reason against the best.
    found : whether the groups were found rather than given. The halves are asked in the same way.
    time : whether rows follow each other in time: nulls shift them, and halves are the first and the second.
    seed : of halves and nulls.

    Returns
    -------
    Diagnosis

    Examples
    --------
    >>> from partita.data import load
    >>> data = load("groups", size=1000)
    >>> held = diagnose_groups(data.truth, data.truth_groups, data.x)
    >>> held.verdict
    'groups hold'
    >>> held.numbers["agreement"] > 0.9
    True
    >>> print(diagnose_groups(data.truth, (3, 3)).verdict)
    no clear groups
    """
    codes = as_matrix(codes, "codes")
    blocks = as_groups(groups, codes.shape[1])
    say = Findings()
    rows, latents = codes.shape
    x = None if x is None else as_matrix(x, "x")
    if x is not None:
        worse, say.numbers = beside_pca(x, latents, bound, error)
        (say.wrong if far_worse(say.numbers, latents) else say.noted).extend(worse)
    if again is not None:
        _check_again(say, codes, blocks, *again)
    if len(restarts):
        _check_restarts(say, restarts)
    needed = max(FEWEST_ROWS, 6 * latents)
    if rows < needed:
        say.wrong.append(f"{rows} rows are too few to tell anything of {latents} latents: {needed} are needed")
        return say.verdict()
    dead = _nothing(codes, kl)
    if dead:
        where = say.wrong if any(len(group) > 1 and dead & set(group) for group in blocks) else say.fine
        where.append(f"latents that carry nothing: {', '.join(map(str, sorted(dead)))}")
    alive = tuple(group for group in blocks if not dead >= set(group))
    if len(alive) < 2:
        say.unclear.append("there is one group, so there is nothing to be independent of" if alive else "no latent")
        return say.verdict()
    some = (
        np.arange(0, rows, -(-rows // MAX_ROWS)) if time else np.random.default_rng(seed).permutation(rows)[:MAX_ROWS]
    )
    _check_inside(say, codes, codes[some], alive, time)
    _check_between(say, codes, codes[some], alive, time)
    gaussian = _check_gaussian(say, codes, alive)
    if not (say.unclear or say.wrong):  # it takes longest, and the verdict is known
        clear = tuple(group for group in alive if not set(group) <= gaussian)
        sizes = None if found else tuple(map(len, blocks))
        firm = say.numbers.get("cohesion", FIRM) >= FIRM
        _check_agreement(say, halves_agree(codes, blocks, clear, x, sizes, AGREEMENT, firm, time, seed))
    return say.verdict()


def _check_agreement(say: Findings, halves: Agreement) -> None:
    say.numbers["agreement"] = least = halves.least
    if halves.against is not None:
        say.wrong.append(halves.against)
    elif least < AGREEMENT:
        say.wrong.append(f"two halves of the rows do not show the same groups (R2 {least:.2f} of the worst)")
    elif halves.regrouped < halves.asked:
        often = f"{halves.asked - halves.regrouped} times of {halves.asked}"
        say.wrong.append(f"when a quarter of the rows is left out, other groups show ({often})")
    else:
        say.fine.append(f"two halves of the rows show the same groups (R2 at least {least:.2f})")


def _nothing(codes: np.ndarray, kl: Any) -> set[int]:
    constant = np.ptp(codes, axis=0) <= 1e-9 * max(1.0, float(np.abs(codes).max()))
    quiet = np.zeros(codes.shape[1], bool) if kl is None else np.asarray(kl) < NOTHING
    return set(np.flatnonzero(constant | quiet).tolist())


def _check_inside(say: Findings, codes: np.ndarray, some: np.ndarray, groups: Groups, time: bool) -> None:
    several = [group for group in groups if len(group) > 1]
    if not several:
        say.fine.append(f"{len(groups)} latents, each by itself")
        return
    least, group = min((_cohesion(codes[:, list(group)], some[:, list(group)], time), group) for group in several)
    say.numbers["cohesion"] = least
    if least < 1:
        members = ", ".join(map(str, group))
        say.unclear.append(f"nothing ties the latents {members} to one group ({least:.2f} of what a tie needs)")
    else:
        say.fine.append(f"{len(groups)} groups; the weakest is tied {least:.1f} times as firmly as chance allows")


def _cohesion(codes: np.ndarray, some: np.ndarray, time: bool) -> float:
    """How strong the ties are that make one group of these coordinates, in units of what a tie needs: by polynomials of
    ranks, else in bins (of two) or by nearest neighbours (the weakest split of more)."""
    rng, latents = np.random.default_rng(0), codes.shape[1]
    counted = np.sqrt(rows_that_count(codes) / len(codes)) if time else 1.0
    found = ties(codes, least=0.5)
    found = sorted(found, key=lambda tie: -tie.strength / threshold(len(tie.members), latents))
    by_ranks = 0.0
    for number, tie in enumerate(found, 1):
        if len(grouped(found[:number], latents, factor=0.0)) == 1:
            by_ranks = counted * tie.strength / threshold(len(tie.members), latents)
            break
    if by_ranks >= 1:
        return by_ranks
    if latents == 2:
        pair = shared_by_pairs(codes, rng, time)
        return max(by_ranks, float(pair.shared[0, 1] / max(pair.sd[0, 1], 1e-9)) / COHESION)
    parts = [part for size in range(1, latents // 2 + 1) for part in combinations(range(latents), size)]
    parts = parts if latents <= 4 else parts[:latents]
    splits = [(part, tuple(k for k in range(latents) if k not in part)) for part in parts]
    shares = [_deviations(some, split, rng, time) for split in splits]
    return max(by_ranks, min(min(nats / BETWEEN, deviations / COHESION) for nats, deviations in shares))


def _check_between(say: Findings, codes: np.ndarray, some: np.ndarray, groups: Groups, time: bool) -> None:
    rng = np.random.default_rng(1)
    nats, _ = _deviations(some, groups, rng, time)
    say.numbers["between"] = nats
    pairs = shared_by_pairs(codes, rng, time)
    home = {k: g for g, group in enumerate(groups) for k in group}
    across = [(i, j) for i, j in combinations(sorted(home), 2) if home[i] != home[j]]
    i, j = max(across, key=lambda pair: pairs.shared[pair] / max(pairs.sd[pair], 1e-9))
    say.numbers["across"] = strongest = float(pairs.shared[i, j] / max(pairs.sd[i, j], 1e-9))
    say.numbers["across nats"] = float(pairs.shared[i, j])
    if nats > BETWEEN:
        say.wrong.append(f"the groups share {nats:.3f} nats more than chance")
    if strongest > ACROSS and pairs.shared[i, j] > ACROSS_NATS:
        say.wrong.append(f"latents {i} and {j} of different groups share {pairs.shared[i, j]:.3f} nats")
    elif nats <= BETWEEN:
        say.fine.append(f"between groups {nats:.3f} nats more than chance")


def _check_again(say: Findings, codes: np.ndarray, groups: Groups, other: Any, others: Sequence) -> None:
    say.numbers["second training"] = least = worst_match(other, codes, others, groups)
    parts = as_groups(others, as_matrix(other, "codes").shape[1])
    if sorted(map(len, parts)) != sorted(map(len, groups)):
        say.wrong.append("a second training finds groups of other sizes")
    elif least < AGREEMENT:
        say.wrong.append(f"a second training finds other groups (R2 {least:.2f} of the worst)")
    else:
        say.fine.append(f"a second training finds the same groups (R2 at least {least:.2f})")


def _check_restarts(say: Findings, restarts: Sequence[float]) -> None:
    same = sum(r2 >= AGREEMENT for r2 in restarts)
    say.numbers["restarts agree"] = same / len(restarts)
    say.noted.append(f"{same} of {len(restarts)} other restarts found the same groups")


def _check_gaussian(say: Findings, codes: np.ndarray, groups: Groups) -> set[int]:
    """Latents by themselves that ICA could have made of Gaussian noise."""
    singles = [group[0] for group in groups if len(group) == 1]
    if not singles:
        return set()
    rows, latents = codes.shape
    null = _distance_of_noise(min(2000, max(100, rows // 100 * 100)), latents)
    gaussian = {k for k in singles if _from_normal(codes[:, k]) < GAUSSIAN * null}
    say.numbers["gaussian"] = float(len(gaussian))
    if len(gaussian) > 1:
        names = ", ".join(map(str, sorted(gaussian)))
        say.unclear.append(f"the latents {names} are Gaussian: any turn of them would do as well")
    return gaussian


def _deviations(y: np.ndarray, members: Groups, rng: np.random.Generator, time: bool) -> tuple[float, float]:
    """What members share less the null, nats, and that in deviations of the null."""
    null = []
    for _ in range(DRAWS):
        moved = y.copy()
        for member in members[1:]:
            moved[:, list(member)] = shuffled(moved[:, list(member)], rng, time)
        null.append(float(neighbour_information(moved, members).mean()))
    more = float(neighbour_information(y, members).mean() - np.mean(null))
    return more, more / max(float(np.std(null, ddof=1)), 1e-9)


def _from_normal(values: np.ndarray) -> float:
    """The Anderson-Darling distance of standardised values from the normal distribution."""
    from scipy.stats import norm

    z = np.sort((values - values.mean()) / max(values.std(), 1e-12))
    u = np.clip(norm.cdf(z), 1e-12, 1 - 1e-12)
    i = np.arange(1, len(z) + 1)
    return float(-len(z) - ((2 * i - 1) * (np.log(u) + np.log(1 - u[::-1]))).mean())


@cache
def _distance_of_noise(rows: int, latents: int, draws: int = 3) -> float:
    """The largest distance among coordinates that ICA makes of Gaussian noise, on average."""
    rng, largest = np.random.default_rng(3), []
    for _ in range(draws):
        noise = rng.standard_normal((rows, latents))
        white = (noise - noise.mean(0)) @ np.linalg.inv(np.linalg.cholesky(np.cov(noise.T).reshape(latents, latents))).T
        largest.append(max(_from_normal(column) for column in (white @ picard(white, 0).T).T))
    return float(np.mean(largest))
