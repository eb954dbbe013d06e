"""Groups that nobody gave: for half of the steps every latent is alone, then discovery says which belong together.

The penalty on total correlation pulls single latents apart; those it cannot make independent belong together. Discovery
is handed in, because it lies above this room: it takes codes and answers with groups of coordinates, which are the
codes or linear combinations of them. Each model goes on with these coordinates for latents, the largest group first.
"""

import logging
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from partita.distributions import Groups, as_groups
from partita.measures.regrouping import regroup_codes
from partita.training.ensemble import Ensemble
from partita.training.latents import ROWS_LOOKED_AT, Turn, model_of, posterior_of, some_rows

log = logging.getLogger("partita")

FEWEST_ROWS = 60
MOST_ROWS = 4000

# Codes (n, K) -> groups of the coordinates (codes - centre) @ transform, and the merges that made them.
Discover = Callable[[np.ndarray], Any]


@dataclass(frozen=True)
class Found:
    """The partition of a run's latents, and why: what the members of each merge share, in nats, and by chance."""

    groups: Groups
    merges: tuple[dict[str, Any], ...] = ()


def find_groups(warm: Ensemble, discover: Discover) -> tuple[Found, list[Turn]]:
    """One partition for all models of the ensemble, restarts of one run, and each model's way there.

    The partition is the one most restarts show, of equally frequent ones the finest. Restarts that show another are
    grouped by the smallest PC. Where rows are too few to tell, every latent stays alone.
    """
    codes = [_codes(warm, position) for position in range(len(warm.seeds))]
    few = len(warm.x) < FEWEST_ROWS
    if few:
        log.warning("%d rows are too few to find groups (%d are needed): each latent is one", len(warm.x), FEWEST_ROWS)
    seen = [None if few else _discovered(z, discover) for z in codes]
    sizes = Counter(_sizes(each.groups) for each in seen if each is not None)
    latents = codes[0].shape[1]
    if not sizes:
        return Found(as_groups(None, latents)), [Turn.reordering(range(latents))] * len(codes)
    kept = max(sizes, key=lambda some: (sizes[some], len(some)))
    log.info("sizes of groups, and in how many restarts: %s; kept: %s", dict(sizes), kept)
    merges = next(each.merges for each in seen if each is not None and _sizes(each.groups) == kept)
    return Found(as_groups(kept, latents), tuple(map(_evidence, merges))), [
        _turn(each, z, kept) for each, z in zip(seen, codes)
    ]


def _codes(ensemble: Ensemble, position: int) -> np.ndarray:
    """One draw from each posterior: a latent that says nothing is noise there, which its means need not be."""
    x = some_rows(ensemble, MOST_ROWS)
    return posterior_of(model_of(ensemble, position), x, ensemble.device)[0].cpu().numpy()


def _discovered(codes: np.ndarray, discover: Discover) -> Any:
    """None where the codes are not finite (the run is about to end as diverged) or do not fill their dimensions."""
    discovery = discover(codes) if np.isfinite(codes).all() else None
    whole = discovery is not None and discovery.transform.shape[1] == codes.shape[1]
    return discovery if whole else None


def _sizes(groups: Groups) -> tuple[int, ...]:
    return tuple(sorted(map(len, groups), reverse=True))


def _turn(discovery: Any, codes: np.ndarray, sizes: tuple[int, ...]) -> Turn:
    if discovery is None:
        return Turn.reordering(range(codes.shape[1]))
    groups = discovery.groups
    if _sizes(groups) != sizes:
        groups = regroup_codes(torch.as_tensor(discovery.coordinates(codes)[:ROWS_LOOKED_AT]), sizes)
    order = [k for group in sorted(groups, key=lambda group: (-len(group), group)) for k in group]
    if not discovery.unmixed:
        return Turn.reordering(order)
    return Turn(discovery.centre, discovery.transform[:, order])


def _evidence(merge: Any) -> dict[str, Any]:
    numbers = {name: float(getattr(merge, name)) for name in ("information", "null", "null_sd", "p_value")}
    return {"members": [list(group) for group in merge.members], **numbers}
