"""Where ensembles are trained and runs measured: in this process, on a Ray cluster, or by Slurm.

An engine only maps tasks to workers. A task is a store's path and ids of runs; everything else lies in the store, so
that a worker may die, hang or be started twice (`_worker`), and whoever asks next goes on (`_drive`).
"""

__all__ = ["Ending", "Engine", "Node", "Task", "engine_named"]

from partita.studies.engines._task import Ending, Engine, Node, Task
from partita.studies.engines.named import engine_named
