"""What the latent space turned into: alignment, grouping, entanglement, rank, disintegration, discovery."""

__all__ = [
    "Alignment",
    "Decomposition",
    "Diagnosis",
    "Discovery",
    "Disintegration",
    "Dummy",
    "Entanglement",
    "LatentReport",
    "Merge",
    "SizedGroups",
    "Term",
    "Trajectory",
    "Unmixed",
    "align",
    "best_elbo_trajectory",
    "best_grouping",
    "bottom_up_tree",
    "diagnose_groups",
    "discover_groups",
    "discrete_entropy",
    "disintegration",
    "dummies",
    "effective_rank",
    "free_groups",
    "gaussian_entropy",
    "grouping_coefficient",
    "grouping_factors",
    "groups_of_sizes",
    "latent_report",
    "line",
    "min_total_correlation",
    "omniscient",
    "posterior_entropy",
    "top_down_tree",
    "unmixed",
]

from partita.structure.alignment import Alignment, align
from partita.structure.decomposition import (
    Decomposition,
    Term,
    bottom_up_tree,
    discrete_entropy,
    gaussian_entropy,
    line,
    posterior_entropy,
    top_down_tree,
)
from partita.structure.diagnosis import Diagnosis, diagnose_groups
from partita.structure.discovery import Discovery, discover_groups
from partita.structure.disintegrated import Disintegration, disintegration
from partita.structure.entanglement import Entanglement, min_total_correlation
from partita.structure.free_groups import free_groups
from partita.structure.grouping import best_grouping
from partita.structure.merging import Merge
from partita.structure.omniscience import LatentReport, latent_report, omniscient
from partita.structure.rank import Dummy, dummies, effective_rank
from partita.structure.sized_groups import SizedGroups, groups_of_sizes
from partita.structure.trajectory import Trajectory, best_elbo_trajectory, grouping_coefficient, grouping_factors
from partita.structure.unmixed import Unmixed, unmixed
