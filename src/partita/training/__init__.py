"""From a recipe and data to trained models."""

from partita.training.checkpoint import Checkpoints
from partita.training.ensemble import Ensemble
from partita.training.fit import fit
from partita.training.history import History
from partita.training.interrupt import Interrupted, interruptible
from partita.training.model import Model

__all__ = ["Checkpoints", "Ensemble", "History", "Interrupted", "Model", "fit", "interruptible"]
