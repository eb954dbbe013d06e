"""Where observations and their factors come from."""

from partita.data.arrays import from_array
from partita.data.dataset import Dataset
from partita.data.factors import FactorGrid
from partita.data.info import info
from partita.data.load import DATASETS, load
from partita.data.rows import batches

__all__ = ["DATASETS", "Dataset", "FactorGrid", "batches", "from_array", "info", "load"]
