"""Where observations and their factors come from."""

__all__ = [
    "DATASETS",
    "Dataset",
    "FactorGrid",
    "SHAPES",
    "batches",
    "correlate",
    "from_array",
    "hold_out",
    "info",
    "label",
    "load",
    "mask_labels",
    "remake",
    "subsample",
]

from partita.data.arrays import from_array
from partita.data.dataset import Dataset
from partita.data.factors import FactorGrid
from partita.data.info import info
from partita.data.load import DATASETS, load
from partita.data.rows import batches
from partita.data.shapes import SHAPES
from partita.data.subsets import correlate, hold_out, label, mask_labels, remake, subsample
