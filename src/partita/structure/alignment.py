"""Which learned group is which true group: linear alignment and the best grouping after the fact."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from partita.distributions import Groups, as_groups
from partita.measures._arrays import as_pair


@dataclass(frozen=True)
class Alignment:
    """How well each true group is a linear function of its matched learned group.

    `matrix[a, b]` is the R^2 of true group a from learned group b; `assignment[a]` the learned group matched to a, or
    -1 where there are fewer learned groups than true ones; `r2` and `mse` are means over all true groups (an unmatched
    one counts as predicted by its mean). `bound` is the largest r2 any grouping could have, where one was searched.
    """

    r2: float
    mse: float
    matrix: np.ndarray
    assignment: tuple[int, ...]
    bound: float | None = None
    exact: bool = True


def align(
    codes: Any,
    truth: Any,
    groups: Sequence | None,
    truth_groups: Sequence | None,
    *,
    held_out: float = 0.0,
    seed: int = 0,
) -> Alignment:
    """Latent alignment of the PDisVAE paper: least squares z'_a ~ z_b W + w for every pair, then linear assignment.

    R^2 is 1 - SSE/SST averaged over the coordinates of the true group (constant ones left out). `held_out` is the
    fraction of rows, drawn by `seed`, on which R^2 and MSE are taken instead of on the fitted rows; then R^2 may be
    negative. Invariant to invertible linear maps inside a group and to relabelling groups.

    Parameters
    ----------
    codes : (n, K), the learned latents, one row an observation.
    truth : (n, L), the true ones.
    groups, truth_groups : sizes or tuples of indices; None takes every latent by itself.
    held_out : fraction of rows that are tested on and not fitted.
    seed : of the draw of those rows.

    Returns
    -------
    Alignment
        The mean R^2 and squared error, all pairs of groups, and which were matched.

    Examples
    --------
    Two groups, each turned by a map of its own, and listed in the other order.

    >>> import numpy as np
    >>> truth = np.random.default_rng(0).standard_normal((100, 4))
    >>> codes = np.concatenate([truth[:, 2:] @ [[1, 2], [3, 4]], truth[:, :2] @ [[0, 1], [1, 1]]], 1)
    >>> found = align(codes, truth, groups=(2, 2), truth_groups=(2, 2))
    >>> round(found.r2, 3), found.assignment
    (1.0, (1, 0))
    """
    codes, truth = as_pair(codes, truth, ("codes", "truth"))
    learned, true = as_groups(groups, codes.shape[1]), as_groups(truth_groups, truth.shape[1])
    fit_rows, test_rows = _rows(len(codes), held_out, seed)
    matrix, errors = np.empty((len(true), len(learned))), np.empty((len(true), len(learned)))
    for b, block in enumerate(learned):
        residual = _residual(codes[:, list(block)], truth, fit_rows, test_rows)
        matrix[:, b], errors[:, b] = _group_scores(residual, truth[test_rows], true)
    return _assigned(matrix, errors, truth[test_rows], true)


def worst_match(codes: Any, truth: Any, groups: Sequence, truth_groups: Sequence) -> float:
    """R^2 of the group of `truth` that its match in `codes` explains worst; 0 where the groups are of other sizes."""
    match = align(codes, truth, groups, truth_groups)
    learned, true = (as_groups(g, np.shape(z)[1]) for g, z in ((groups, codes), (truth_groups, truth)))
    if sorted(map(len, learned)) != sorted(map(len, true)):
        return 0.0
    return float(min(match.matrix[a, b] for a, b in enumerate(match.assignment)))


def _rows(n: int, held_out: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    if not 0 <= held_out < 1:
        raise ValueError(f"held_out is the fraction of rows to test on, 0 or more and below 1, got {held_out}")
    everything = np.arange(n)
    test = round(held_out * n)
    if test == 0:
        return everything, everything
    if n - test < 2:
        raise ValueError(f"held_out={held_out} of {n} rows leaves {n - test} to fit on")
    order = np.random.default_rng(seed).permutation(n)
    return order[test:], order[:test]


def _residual(block: np.ndarray, truth: np.ndarray, fit_rows: np.ndarray, test_rows: np.ndarray) -> np.ndarray:
    design = np.concatenate([block, np.ones((len(block), 1))], 1)
    weights = np.linalg.lstsq(design[fit_rows], truth[fit_rows], rcond=None)[0]
    return truth[test_rows] - design[test_rows] @ weights


def _group_scores(residual: np.ndarray, truth: np.ndarray, true: Groups) -> tuple[np.ndarray, np.ndarray]:
    squared = (residual**2).mean(0)
    r2 = coordinate_r2(squared, variances(truth))
    return np.array([group_mean(r2[list(a)]) for a in true]), np.array([squared[list(a)].mean() for a in true])


def variances(x: np.ndarray) -> np.ndarray:
    """Variance of each column, exactly 0 for a constant one."""
    return np.where(np.ptp(x, axis=0) > 0, x.var(0), 0.0)


def coordinate_r2(squared_error: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """1 - error / variance; NaN for a constant coordinate."""
    constant = variance <= 0
    return np.where(constant, np.nan, 1 - squared_error / np.where(constant, 1.0, variance))


def group_mean(r2: np.ndarray) -> float:
    """Mean over the coordinates that vary; 0 for a group that is constant."""
    varies = ~np.isnan(r2)
    return float(r2[varies].mean()) if varies.any() else 0.0


def _assigned(matrix: np.ndarray, errors: np.ndarray, truth: np.ndarray, true: Groups) -> Alignment:
    from scipy.optimize import linear_sum_assignment

    rows, columns = linear_sum_assignment(matrix, maximize=True)
    match = dict(zip(rows.tolist(), columns.tolist()))
    variance = variances(truth)
    r2 = [matrix[a, match[a]] if a in match else 0.0 for a in range(len(true))]
    mse = [errors[a, match[a]] if a in match else variance[list(group)].mean() for a, group in enumerate(true)]
    assignment = tuple(match.get(a, -1) for a in range(len(true)))
    return Alignment(float(np.mean(r2)), float(np.mean(mse)), matrix, assignment)
