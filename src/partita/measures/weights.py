"""Weights w_ij that turn a minibatch of posteriors into an estimate of the aggregated posterior.

For an anchor z_i and batch members j = 1..M out of a data set of N, every estimator here is
`q(z_i) ~ sum_j w_ij q(z_i | n_j)`; they differ in the M x M matrix of weights alone.
"""

import math
from collections.abc import Callable
from difflib import get_close_matches

import torch
from torch import Tensor


def importance(row: Tensor, column: Tensor, batch: int, size: int, dtype: torch.dtype) -> Tensor:
    """Self 1/N, others (N-1)/(N(M-1)): unbiased for q(z), with the least variance of all unbiased weights.

    PDisVAE eq. 4; Esmaeili et al. 2019. With the whole data set in the batch (M = N) every weight is 1/N: exact.
    """
    others = math.log((size - 1) / (size * (batch - 1))) if batch > 1 else -math.inf
    return _everywhere(others, row, column, dtype).masked_fill(row == column, -math.log(size))


def mss(row: Tensor, column: Tensor, batch: int, size: int, dtype: torch.dtype) -> Tensor:
    """Minibatch stratified sampling as Chen et al. 2018 derive it: unbiased for q(z), a little noisier than importance.

    Self 1/N, the next member (cyclically) (N-M+1)/(N(M-1)), the others 1/(M-1). A batch that is the whole data set
    leaves nothing to estimate and gets 1/N everywhere (the formula alone would still favour some members).
    """
    if batch == size:
        return _everywhere(-math.log(size), row, column, dtype)
    stratum = math.log((size - batch + 1) / (size * (batch - 1)))
    others = _everywhere(-math.log(batch - 1), row, column, dtype)
    return others.masked_fill((row + 1) % batch == column, stratum).masked_fill(row == column, -math.log(size))


def mss_published(row: Tensor, column: Tensor, batch: int, size: int, dtype: torch.dtype) -> Tensor:
    """The weights of the public beta-TCVAE code, for comparison only: biased.

    Meant to be `mss`, but 1/N stands in column 0 and the stratum weight in column 1 of every row instead of on the
    diagonal and beside it, and row M-2 has the stratum weight in column 0 as well. The self term of nearly every row
    then weighs 1/(M-1) instead of 1/N, so the estimate behaves like `naive`.
    """
    stratum = math.log((size - batch + 1) / (size * (batch - 1)))
    others = _everywhere(-math.log(batch - 1), row, column, dtype)
    columns = others.masked_fill(column == 0, -math.log(size)).masked_fill(column == 1, stratum)
    return columns.masked_fill((row == batch - 2) & (column == 0), stratum)


def mws(row: Tensor, column: Tensor, batch: int, size: int, dtype: torch.dtype) -> Tensor:
    """Minibatch weighted sampling (Chen et al. 2018, eq. 6): 1/(NM) everywhere; low by about a factor N.

    The gradient is that of `naive`; values of TC are higher by (K-1) log N, those of PC by (G-1) log N.
    """
    return _everywhere(-math.log(size * batch), row, column, dtype)


def naive(row: Tensor, column: Tensor, batch: int, size: int, dtype: torch.dtype) -> Tensor:
    """1/M everywhere, the batch taken for the data set: the self term is too heavy by N/M."""
    return _everywhere(-math.log(batch), row, column, dtype)


WEIGHTS: dict[str, Callable[[Tensor, Tensor, int, int, torch.dtype], Tensor]] = {
    "importance": importance,
    "mss": mss,
    "mss_published": mss_published,
    "mws": mws,
    "naive": naive,
}


def check_weights(by: str, batch: int, size: int) -> None:
    """Raise ValueError unless estimator `by` is defined for `batch` of `size` data points."""
    if by not in WEIGHTS:
        near = get_close_matches(str(by), WEIGHTS, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise ValueError(f"unknown estimator {by!r}: choose from {', '.join(WEIGHTS)}{hint}")
    if size < batch:
        raise ValueError(
            f"size is the number of data points the batch was drawn from: got {size} for a batch of {batch}"
        )
    if batch < 2 and by not in ("mws", "naive") and not (batch == size and by != "mss_published"):
        raise ValueError(f"estimator {by!r} needs a batch of at least 2, got {batch}")


def log_weights(
    by: str,
    batch: int,
    size: int,
    device: torch.device | str | None = None,
    dtype: torch.dtype | None = None,
    *,
    rows: tuple[int, int] | None = None,
) -> Tensor:
    """log w_ij of estimator `by` for a batch of M = `batch` out of N = `size` data points, (M, M).

    `rows` (first, last + 1) gives those anchors only.

    Parameters
    ----------
    by : one of `WEIGHTS`.
    batch : M.
    size : N, at least M.
    device, dtype : of the result; None for torch's own.
    rows : first anchor and the one after the last; None for all.

    Returns
    -------
    Tensor
        (M, M), or as many rows as were asked for.

    Examples
    --------
    >>> weights = log_weights("importance", batch=3, size=10).exp()
    >>> [round(weight, 2) for weight in weights[0].tolist()]
    [0.1, 0.45, 0.45]
    """
    check_weights(by, batch, size)
    first, end = rows or (0, batch)
    row = torch.arange(first, end, device=device).unsqueeze(1)
    column = torch.arange(batch, device=device).unsqueeze(0)
    return WEIGHTS[by](row, column, batch, size, dtype or torch.get_default_dtype())


def _everywhere(value: float, row: Tensor, column: Tensor, dtype: torch.dtype) -> Tensor:
    return torch.full((row.shape[0], column.shape[1]), value, device=row.device, dtype=dtype)
