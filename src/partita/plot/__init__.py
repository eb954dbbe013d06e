"""Pictures of a fitted model: each function takes the model and its rows, and returns a matplotlib figure."""

__all__ = [
    "dependence",
    "diagnosis",
    "groups",
    "history",
    "loadings",
    "maps",
    "planes",
    "reconstructions",
    "traversals",
]

from partita.plot.dependence import dependence
from partita.plot.diagnosis import diagnosis
from partita.plot.groups import groups
from partita.plot.history import history
from partita.plot.loadings import loadings
from partita.plot.maps import maps
from partita.plot.planes import planes
from partita.plot.reconstructions import reconstructions
from partita.plot.traversals import traversals
