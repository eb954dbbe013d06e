"""What a worker does: it reads the runs of its task from the store, and trains or measures them there.

It can be killed at any moment and started anywhere again: it goes on from the checkpoint in the store, leaves alone
what has ended, and holds leases on what it trains.
"""

import os
import platform
import sys
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from partita.data import Dataset
from partita.studies._scoring import is_current
from partita.studies._train_here import Manner, train_here
from partita.studies._watching import watched_metrics
from partita.studies.engines._task import Node, Task, unlike, versions
from partita.studies.evaluate import evaluate_run
from partita.studies.run import Run
from partita.studies.source import candidates, identity, reload
from partita.studies.store import Store
from partita.studies.trackers import tracked
from partita.training import interruptible
from partita.training.device import choose_device
from partita.training.fit import NOTHING

# What a worker that hangs ends with: whoever started it starts another.
HUNG = 75
_loaded: dict[str, Dataset] = {}


def look(store: str, token: str, data: Mapping[str, Any]) -> Node:
    """What this machine has. The store is the right one if the token lies there."""
    sees_data = "path" not in data or any(os.path.lexists(place) for place in candidates(data, Path(store)))
    return Node(platform.node(), versions(), (Path(store) / token).exists(), sees_data)


def work(task: Task, shared: Dataset | None = None) -> list[str]:
    """Does a task. Returns the runs that others have taken meanwhile."""
    store = Store(Path(task.store))
    if (other := unlike(task.settings.get("versions", {}), versions())) is not None:
        raise OSError(f"{platform.node()} has {other}: install the same on all nodes")
    if not store.folder.is_dir():
        raise OSError(f"{platform.node()} does not see {store.folder}: a study on a cluster needs a shared folder")
    _import_own_parts(task)
    runs = [store.run_in(store.folder_named(name)) for name in task.runs]
    dataset = shared if shared is not None else _data(runs[0], store.folder)
    device = choose_device(task.settings.get("device", "auto"))
    if task.kind == "measure":
        return _measure(store, runs, dataset, task, device)
    names = task.settings.get("log_metrics", ())
    manner = Manner(
        watched=watched_metrics(names, dataset) if names else NOTHING,
        models_at_once=task.settings.get("models_at_once"),
        on_hang=lambda: os._exit(HUNG),
        **{key: task.settings[key] for key in ("checkpoint_seconds",) if key in task.settings},
    )
    leases = store.leases(job=task.job, **task.settings.get("leases", {}))
    with interruptible(patient=True) as asked, tracked(store, task.settings.get("track", ())) as told:
        return train_here(runs, dataset, told, device, asked, leases, manner, wait=False)


def _measure(store: Store, runs: list[Run], dataset: Dataset, task: Task, device) -> list[str]:
    metrics, again = task.settings["metrics"], task.settings.get("again", False)
    for run in runs:
        try:
            kept = store.scores(run)
        except ValueError:
            kept = None
        if again or kept is None or not is_current(kept, metrics):
            evaluate_run(store, run, dataset, metrics, device)
            store.note(run, whole=True)
    return []


def _data(run: Run, folder: Path) -> Dataset:
    """Read or rendered once in a process, which may do several tasks; the data of one study at a time."""
    key = repr(identity(run.data))
    if key not in _loaded:
        _loaded.clear()
        _loaded[key] = reload(run.data, folder)
    return _loaded[key]


def _import_own_parts(task: Task) -> None:
    """Modules of the user's that runs name, from the folder the study was started in."""
    if (place := task.settings.get("modules_in")) and place not in sys.path:
        sys.path.append(place)
    for module in task.settings.get("modules", ()):
        import_module(module)
