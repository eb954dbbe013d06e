"""What the latent space turned into: alignment with known groups and the best grouping."""

from partita.structure.alignment import Alignment, align
from partita.structure.grouping import best_grouping

__all__ = ["Alignment", "align", "best_grouping"]
