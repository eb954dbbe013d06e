"""Runs of partita 0.1, which knew a file by its path: asked for again, they are found under the ids they have."""

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

from partita.studies.run import Run
from partita.studies.source import WHERE, seen_from, without
from partita.studies.store import Store
from partita.training.files import read_json


def as_filed(runs: Sequence[Run], store: Store) -> list[Run]:
    """The same runs as the study knows them: under an earlier id where it has one, else with the way from its folder
    to the data."""
    earlier = _earlier(store) if any("places" in run.data for run in runs) else {}
    return [earlier.get(_key(run)) or replace(run, data=seen_from(run.data, store.folder)) for run in runs]


def _earlier(store: Store) -> dict[str, Run]:
    found = {}
    for folder in store.folders_of_0_1():
        try:
            run = Run.from_json(read_json(folder / "run.json"))
            if "path" in run.data and "places" not in run.data:
                found[_key(run)] = run
        except (OSError, ValueError, TypeError):  # a damaged file is not one that can be found again
            continue
    return found


def _key(run: Run) -> str:
    """What partita 0.1 knew of a run, but the folder of the file. Its name stands for the labels, of which it had no
    hash."""
    data = {**without(run.data, *WHERE, "known"), "file": Path(run.data.get("path", "")).name}
    return json.dumps({**asdict(run), "data": data}, sort_keys=True)
