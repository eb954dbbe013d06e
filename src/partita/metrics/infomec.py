"""InfoMEC: modularity, compactness and explicitness in units of information."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from partita.measures._arrays import unit_scale
from partita.measures._neighbours import label_information
from partita.metrics._group_information import BETWEEN_GROUPS, Grouping, group_information, grouping, protocol_of
from partita.metrics._histogram import entropies, equal_width, information_matrix
from partita.metrics._inputs import check_protocol, class_counts, codes_and_labels, jointly_scaled, quietly, varying
from partita.metrics.score import Parts, Score, scored, versions

INFOMEC_PROTOCOLS = ("infomec-2023", "infomec-by-entropy", BETWEEN_GROUPS)


def infomec(
    codes: Any,
    factors: Any,
    *,
    protocol: str = "infomec-2023",
    seed: int = 0,
    neighbours: int = 10,
    bins: int | None = None,
    groups: Sequence | None = None,
    factor_groups: Sequence | None = None,
    interval: float | None = None,
    resamples: int = 20,
) -> Score:
    """InfoMEC (Hsu et al. 2023); the value is InfoM, all three are in `parts`.

    NMI[f, k] = I(z_k; v_f) / H(v_f), I by nearest neighbours (Ross 2014), or by counting where `bins` cuts the codes
    into that many levels. InfoM: mean over latents of how far a latent's NMI sits on one factor,
    (max/sum - 1/F) / (1 - 1/F); InfoC: the same over factors; InfoE: 1 - cross-entropy / its value without codes, of
    an unpenalised logistic regression (100 iterations, on its training rows). Latents with a range below 1/20 of the
    largest count for InfoE only. A latent of pure noise can count as modular: its few hundredths of information are
    noise too.

    "infomec-2023" is the authors' code: a class-balanced regression, whose guess without codes costs log(values), and
    with `bins` every latent that is not constant counts. "infomec-by-entropy" asks for information throughout: an
    unweighted regression against the factor's entropy, and the 1/20 holds for `bins` too; the two agree on balanced
    factors without dead latents. With `groups` I is between groups, InfoE by entropy ("nearest-neighbours").

    Parameters
    ----------
    codes : array (n, K)
        Latents, one row an observation: posterior means, say.
    factors : array (n, F)
        Class indices of the factors of variation, integers unless said.
    protocol : str
        Whose definition, by name: "infomec-2023", "infomec-by-entropy", "nearest-neighbours".
    seed : int
        Of whatever is drawn: the same seed gives the same score.
    neighbours : int
        Nearest neighbours of the estimator between groups.
    bins : int
        Equal widths that codes are cut into.
    groups : sequence, optional
        Sizes or tuples of indices: latents that belong together.
    factor_groups : sequence, optional
        The same of factors.
    interval : float, optional
        Level of an interval, 0.95 say; none unless given.
    resamples : int
        Draws that the interval is made from.

    Returns
    -------
    Score
        `float(score)` is its value; `.parts` has what it was made of.

    Examples
    --------
    >>> import numpy as np
    >>> factors = np.stack([column.ravel() for column in np.indices((4, 5))], 1)
    >>> codes = np.tile(factors, (20, 1)) * [1.0, -2.0]
    >>> score = infomec(codes, np.tile(factors, (20, 1)))
    >>> round(score.value, 1)
    1.0
    """
    check_protocol(protocol, INFOMEC_PROTOCOLS, "infomec")
    codes, labels = codes_and_labels(codes, factors, "infomec", scaled=jointly_scaled)
    blocks = grouping(groups, factor_groups, codes.shape[1], labels.shape[1])
    protocol = protocol_of(protocol, INFOMEC_PROTOCOLS[0], blocks, "infomec")
    published = protocol == "infomec-2023"
    compute = partial(_infomec, neighbours=neighbours, bins=bins, blocks=blocks, seed=seed, published=published)
    estimator = {"neighbours": neighbours} if bins is None or blocks else {"bins": bins}
    return scored(
        compute,
        [codes, labels],
        protocol=protocol,
        settings={**estimator, **versions("scikit-learn")},
        seed=seed,
        interval=interval,
        resamples=resamples,
    )


def _infomec(
    codes: np.ndarray,
    labels: np.ndarray,
    neighbours: int,
    bins: int | None,
    blocks: Grouping | None,
    seed: int,
    published: bool,
) -> tuple[float, Parts]:
    levels = None if bins is None else equal_width(codes, bins)
    reach = np.ptp(codes, axis=0)
    active = reach > (0 if published and bins is not None else reach.max() / 20)
    if blocks is not None:
        information, entropy = group_information(codes, labels, blocks, neighbours, seed)
        active = np.array([active[list(block)].any() for block in blocks.latents])
    else:
        entropy = entropies(labels)
        information = (
            information_matrix(levels, labels) if levels is not None else _information(codes, labels, neighbours, seed)
        )
    present = entropy > 0
    nmi = (information[:, present] / entropy[present]).T
    explicit = _explicitness(codes, labels, levels, published)
    modular = float(_concentration(nmi[:, active].T).mean()) if active.any() and present.any() else 0.0
    compact = float(_concentration(nmi[:, active]).mean()) if active.any() and present.any() else 0.0
    parts = {
        "infom": modular,
        "infoc": compact,
        "infoe": float(np.mean(explicit)) if len(explicit) else 0.0,
        "nmi": nmi,
        "active": active,
        "infoe_per_factor": explicit,
    }
    return modular, parts


def _information(codes: np.ndarray, labels: np.ndarray, neighbours: int, seed: int) -> np.ndarray:
    matrix = np.zeros((codes.shape[1], labels.shape[1]))
    for k in np.flatnonzero(np.ptp(codes, axis=0) > 0):
        for f in range(labels.shape[1]):
            matrix[k, f] = label_information(codes[:, [k]], labels[:, f], neighbours=neighbours, seed=seed)
    return matrix


def _concentration(rows: np.ndarray) -> np.ndarray:
    """(max/sum - 1/n) / (1 - 1/n) of each row: 1 when all of it is in one place, 0 when it is spread evenly."""
    total, n = rows.sum(1), rows.shape[1]
    if n == 1:
        return (total > 0).astype(float)
    share = np.divide(rows.max(1), total, out=np.full(len(rows), 1 / n), where=total > 0)
    return (share - 1 / n) / (1 - 1 / n)


def _explicitness(codes: np.ndarray, labels: np.ndarray, levels: np.ndarray | None, published: bool) -> np.ndarray:
    from sklearn.linear_model import LogisticRegression

    if levels is None:
        x = (codes - codes.mean(0)) / unit_scale(codes)
    else:
        x = np.concatenate([level[:, None] == np.unique(level) for level in levels.T], 1).astype(float)
    weight = "balanced" if published else None
    scores = []
    for column in labels[:, varying(labels)].T:
        model = quietly(LogisticRegression(C=np.inf, max_iter=100, class_weight=weight).fit, x, column)
        chosen = model.predict_proba(x)[np.arange(len(x)), column]
        loss = -np.log(np.clip(chosen, np.finfo(float).eps, 1)).mean()
        # what the same regression loses without codes: a balanced one guesses every class alike
        without = np.log(class_counts(column[:, None])[0]) if published else entropies(column[:, None])[0]
        scores.append(1 - loss / without)
    return np.array(scores)
