"""Who of a run's replicas is kept. A judge is a function of the replicas; JUDGES is the only registry of them."""

import logging
from collections.abc import Sequence

import numpy as np

from partita.recipes.program import Judge, Replica

log = logging.getLogger("partita")

# Of the steps, the share at the end over which replicas are compared.
LATE = 0.2
ROWS_COMPARED = 1000


def lowest_loss(replicas: Sequence[Replica]) -> int:
    """The lowest loss: on rows held out where there are some, at its best; else in training, late."""
    return int(np.argmin(_losses(replicas)))


def median_loss(replicas: Sequence[Replica]) -> int:
    """Neither luck nor its opposite: the median of the losses, of an even number the lower one in the middle."""
    return int(np.argsort(_losses(replicas), kind="stable")[(len(replicas) - 1) // 2])


JUDGES: dict[str, Judge] = {"loss": lowest_loss, "median": median_loss}


def agreement(replicas: Sequence[Replica], kept: int) -> tuple[float, ...]:
    """How far each other replica found the groups of the one that is kept: R^2 of the group of that one which its
    match explains worst, on some rows; 0 of a replica that is not finite."""
    from partita.structure.alignment import worst_match  # keeps scipy out of start-up

    if len(replicas) == 1:
        return ()
    groups = [replica.recipe.groups for replica in replicas]
    means = [replica.codes(ROWS_COMPARED).mean.cpu().numpy() for replica in replicas]
    finite = [bool(np.isfinite(mean).all()) for mean in means]
    others = [number for number in range(len(replicas)) if number != kept]
    return tuple(
        worst_match(means[k], means[kept], groups[k], groups[kept]) if finite[k] and finite[kept] else 0.0
        for k in others
    )


def late_loss(replica: Replica) -> float:
    """The loss a replica was trained with, mean over the last fifth of the steps, at the weights it had then.

    A single look at the end, exact as it may be, is at the mercy of the last few steps: with a network that can bend,
    right and wrong groups differ by less than two looks at one model.
    """
    late = replica.steps > (1 - LATE) * replica.steps[-1]
    loss = float(replica.quantities["loss"][late].mean())
    return loss if np.isfinite(loss) else np.inf


def held_out_loss(replica: Replica) -> float | None:
    """The lowest loss on rows held out, that of the weights that were kept; None where no rows were."""
    if "held_out_loss" not in replica.quantities:
        return None
    losses = replica.quantities["held_out_loss"][replica.steps > replica.began]
    return float(np.min(losses, where=np.isfinite(losses), initial=np.inf))


def _losses(replicas: Sequence[Replica]) -> list[float]:
    held = [held_out_loss(replica) for replica in replicas]
    losses = [late_loss(replica) if loss is None else loss for replica, loss in zip(replicas, held)]
    log.info("loss of each restart: %s", ", ".join(f"{loss:.4f}" for loss in losses))
    return losses
