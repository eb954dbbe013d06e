"""Groups that nobody gave: for half of the steps every latent is alone, then discovery says which belong together.

The penalty on total correlation pulls single latents apart; those it cannot make independent belong together. Discovery
answers with groups of coordinates, which are the codes or linear combinations of them. Each model goes on with these
coordinates for latents, the largest group first.
"""

import logging
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from partita.data._some_rows import ROWS_LOOKED_AT
from partita.distributions import Groups, as_groups
from partita.measures._regrouping import regroup_codes
from partita.recipes.judges import lowest_loss
from partita.recipes.program import Candidate, LatentMap, Passage, Phase, Program, Replica, check_goes_on
from partita.recipes.recipe import Recipe

log = logging.getLogger("partita")

FEWEST_ROWS = 60
MOST_ROWS = 4000


def finding_groups(grouped: Callable[[Groups | None], Recipe], replicas: int) -> Program:
    """The program of a method whose recipe is `grouped(groups)`, with every latent alone where they are None."""
    alone = grouped(None)
    if not isinstance(alone, Recipe):
        raise ValueError('groups="auto" is for methods that are one recipe, and this one is a program of its own')
    if alone.architecture.posterior != "diagonal":
        raise ValueError(f'groups="auto" needs posterior="diagonal", got {alone.architecture.posterior!r}')
    check_goes_on(alone, grouped((tuple(range(alone.architecture.latents)),)))
    return Program((Candidate((Phase(alone, 0.5), Phase(grouped, 0.5)), (find_groups,), replicas),), lowest_loss)


def find_groups(replicas: Sequence[Replica], given: Groups | None) -> Passage:
    """One partition for all replicas of a run, and each one's way there.

    The partition is the one most replicas show, of equally frequent ones the finest. Replicas that show another are
    grouped by the smallest PC.
    """
    # one draw from each posterior: a latent that says nothing is noise there, which its means need not be
    codes = [replica.codes(MOST_ROWS).z.cpu().numpy() for replica in replicas]
    rows, latents = codes[0].shape
    if rows < FEWEST_ROWS:
        log.warning("%d rows are too few to find groups (%d are needed): each latent is one", rows, FEWEST_ROWS)
        return Passage([LatentMap.reordering(range(latents))] * len(codes), as_groups(None, latents))
    seen = [_discovered(z) for z in codes]
    sizes = Counter(_sizes(each.groups) for each in seen if each is not None)
    if not sizes:
        return Passage([LatentMap.reordering(range(latents))] * len(codes), as_groups(None, latents))
    kept = max(sizes, key=lambda some: (sizes[some], len(some)))
    log.info("sizes of groups, and in how many restarts: %s; kept: %s", dict(sizes), kept)
    merges = next(each.merges for each in seen if each is not None and _sizes(each.groups) == kept)
    maps = [_map(each, z, kept) for each, z in zip(seen, codes)]
    return Passage(maps, as_groups(kept, latents), tuple(map(_evidence, merges)))


def _discovered(codes: np.ndarray) -> Any:
    """None where the codes are not finite (the run is about to end as diverged) or do not fill their dimensions."""
    from partita.structure import discover_groups  # keeps scikit-learn out of start-up

    discovery = discover_groups(codes) if np.isfinite(codes).all() else None
    whole = discovery is not None and discovery.transform.shape[1] == codes.shape[1]
    return discovery if whole else None


def _sizes(groups: Groups) -> tuple[int, ...]:
    return tuple(sorted(map(len, groups), reverse=True))


def _map(discovery: Any, codes: np.ndarray, sizes: tuple[int, ...]) -> LatentMap:
    if discovery is None:
        return LatentMap.reordering(range(codes.shape[1]))
    groups = discovery.groups
    if _sizes(groups) != sizes:
        groups = regroup_codes(torch.as_tensor(discovery.coordinates(codes)[:ROWS_LOOKED_AT]), sizes)
    order = [k for group in sorted(groups, key=lambda group: (-len(group), group)) for k in group]
    if not discovery.unmixed:
        return LatentMap.reordering(order)
    return LatentMap(discovery.centre, discovery.transform[:, order])


def _evidence(merge: Any) -> dict[str, Any]:
    numbers = {name: float(getattr(merge, name)) for name in ("information", "null", "null_sd", "p_value")}
    return {"members": [list(group) for group in merge.members], **numbers}
