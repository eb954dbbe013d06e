"""Linear coordinates turned until their groups are likeliest, which few rows gain by.

Picard-O asks every coordinate by itself, and all by one curve. What rows say of a rotation they say through the
densities of its groups, which are fitted here: maximum likelihood, and of independent subspaces (Hyvärinen and Hoyer
2000) rather than coordinates.
"""

import numpy as np
import torch
from torch import Tensor

from partita.distributions import Groups
from partita.structure._group_densities import components_of, densities_of, log_density

STEPS, FITTED_EVERY = 150, 15  # densities are fitted again to coordinates that have moved on
RATE = 0.01  # radians, about


def likeliest_turn(white: np.ndarray, rotation: np.ndarray, groups: Groups, seed: int = 0) -> tuple[np.ndarray, float]:
    """The rotation near this one that makes white rows (n, K) likeliest where their coordinates are independent in
    these groups, and their mean log-density, nats: of the rows it was fitted to, so it compares groups of the same
    sizes alone."""
    y, turn = (torch.tensor(each, dtype=torch.float32) for each in (white, rotation))
    latents = len(rotation)
    sizes = sorted({*map(len, groups)})
    same = [torch.tensor([group for group in groups if len(group) == size]) for size in sizes]
    components = [components_of(size, len(y)) for size in sizes]
    angles = torch.zeros(latents, latents, requires_grad=True)
    optimiser = torch.optim.Adam([angles])

    def turned() -> Tensor:
        return turn @ torch.matrix_exp(angles - angles.T)

    def side_by_side(z: Tensor) -> list[Tensor]:
        """Groups of each size, (groups, rows, size)."""
        return [z[:, places].transpose(0, 1) for places in same]

    for step in range(STEPS):
        if step % FITTED_EVERY == 0:
            with torch.no_grad():
                turn = turned()
                angles.zero_()
                fitted = zip(side_by_side(y @ turn), components)
                densities = [densities_of(each.contiguous(), seed, borne) for each, borne in fitted]
        optimiser.param_groups[0]["lr"] = RATE * (1 - step / STEPS)
        told = zip(side_by_side(y @ turned()), densities)
        likelihood = sum((log_density(each, *parts).mean(1).sum() for each, parts in told), y.new_zeros(()))
        optimiser.zero_grad()
        (-likelihood).backward()
        optimiser.step()
    with torch.no_grad():
        left, _, right = torch.linalg.svd(turned().double())
    return (left @ right).numpy(), float(likelihood.detach())
