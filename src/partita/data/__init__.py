"""Where observations and their factors come from."""

from partita.data.arrays import from_array
from partita.data.dataset import Dataset
from partita.data.factors import FactorGrid
from partita.data.load import DATASETS, load

__all__ = ["DATASETS", "Dataset", "FactorGrid", "from_array", "load"]
