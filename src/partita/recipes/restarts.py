"""Several trainings of one run, of which the best is kept; where there are groups, each finds them first.

With groups fixed from the start the PC objective has local optima that few runs leave. The cure uses no labels
(docs/glossary.md): first every latent is a group of its own, then the latents are put together by the smallest PC of
the aggregated posterior, and training goes on with the groups. Before they are put together, every second restart
exchanges its latents for those combinations of them that linear ICA finds independent: gradients turn latents slowly,
and half the steps may not be enough. (Latents that are correlated given x stay as they are: such a posterior cannot be
turned.)
"""

import logging
from collections.abc import Callable, Sequence

import torch

from partita.data._some_rows import ROWS_LOOKED_AT
from partita.distributions import Groups
from partita.measures._ica import independent_coordinates
from partita.measures._regrouping import regroup, regroup_codes
from partita.recipes.judges import lowest_loss
from partita.recipes.program import Candidate, LatentMap, Passage, Phase, Program, Replica, goes_on
from partita.recipes.recipe import Recipe


def restarted(program: Program, alone: Callable[[], Recipe] | None, restarts: int) -> Program:
    """The program with so many replicas. `alone()` is its recipe with every latent a group of its own: half of the
    steps are then taken by that. None where the method has no groups; where each is one latent, nothing is to be
    found either.

    A model that cannot go on with other groups keeps its own from the start, in every replica: one whose networks are
    made for the groups (a discriminator's), or whose posterior has a triangular factor, which cannot follow latents
    into another order."""
    if restarts == 1:
        return program
    (candidate,) = program.candidates
    if not candidate.recipe.players:
        raise ValueError("restarts are for methods that are trained, and this one is solved in closed form")
    repeated = Program((Candidate(candidate.phases, replicas=restarts, finish=candidate.finish),), lowest_loss)
    if alone is None or all(len(group) == 1 for group in candidate.recipe.groups):
        return repeated
    first = alone()
    if candidate.recipe.architecture.posterior == "full" or not goes_on(first, candidate.recipe):
        return repeated
    phases = (Phase(first, 0.5), Phase(candidate.recipe, 0.5))
    return Program((Candidate(phases, (put_together,), restarts),), lowest_loss)


def put_together(replicas: Sequence[Replica], groups: Groups | None) -> Passage:
    """Each replica's latents in an order that makes its groups the best ones; of the second, the fourth and so on,
    after linear ICA."""
    assert groups is not None
    return Passage([_map(replica, groups, unmix=replica.number % 2 == 1) for replica in replicas])


def _map(replica: Replica, target: Groups, *, unmix: bool) -> LatentMap:
    codes = replica.codes(ROWS_LOOKED_AT)
    sizes = [len(group) for group in target]
    if not bool(torch.isfinite(codes.z).all()):
        return LatentMap.reordering(range(codes.z.shape[1]))
    if unmix and replica.recipe.architecture.posterior == "diagonal":
        z = codes.z.cpu().numpy()
        centre, transform = independent_coordinates(z, replica.seed, logging.DEBUG)
        found = regroup_codes(torch.as_tensor((z - centre) @ transform, device=codes.z.device), sizes)
        return LatentMap(centre, transform[:, order_of(target, found)])
    return LatentMap.reordering(order_of(target, regroup(codes.z, codes.mean, codes.log_variance, sizes)))


def order_of(target: Groups, found: Groups) -> list[int]:
    """order[k] is the latent that becomes latent k."""
    order = [0] * sum(map(len, target))
    for place, group in zip(target, found):
        for new, old in zip(place, group):
            order[new] = old
    return order
