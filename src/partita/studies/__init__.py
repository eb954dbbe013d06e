"""Many runs: what they are, where they are kept, how they are trained and measured."""

__all__ = [
    "COLUMNS",
    "Column",
    "Compared",
    "Comparison",
    "Run",
    "Scores",
    "Store",
    "Tracker",
    "compare",
    "evaluate_run",
    "plan",
    "reload",
    "tracked",
    "train",
]

from partita.studies.compare import Compared, Comparison, compare
from partita.studies.evaluate import evaluate_run
from partita.studies.execute import train
from partita.studies.plan import plan
from partita.studies.run import Run
from partita.studies.scores import COLUMNS, Column, Scores
from partita.studies.source import reload
from partita.studies.store import Store
from partita.studies.trackers import Tracker, tracked
