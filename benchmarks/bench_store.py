"""How long a study of many runs takes to open: listing, filtering, status, and what evaluate and report do first.

    python benchmarks/bench_store.py [--runs 100,1000,10000,100000] [--folder DIR]
One small run is trained; the others are its files again under ids of their own. "cold" is without the index that
training leaves: it is made from the folders. Seconds of this process, user and system, and (of the clock): on a machine
that others use the two differ.
"""

import argparse
import json
import os
import shutil
import tempfile
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import torch

from partita.data import load
from partita.studies import Store, evaluate_run, plan, train
from partita.studies._status import status_of
from partita.studies._verify import survey

SHARED = ("weights.safetensors", "history.jsonl", "result.json", "scores.json")


def many_runs(folder: Path, count: int) -> Store:
    data, store = load("groups", size=200), Store(folder)
    runs = plan(["vae", "beta_vae"], data, steps=20)
    train(runs, data, store, device=torch.device("cpu"))
    for run in runs:
        evaluate_run(store, run, data, "gaussian_tc", torch.device("cpu"))
    for number in range(1, (count + 1) // 2):
        for run in runs:
            copy = replace(run, seed=number)
            there, here = store.folder_of(copy), store.folder_of(run)
            there.mkdir(parents=True)
            (there / "run.json").write_text(json.dumps(copy.as_json(), indent=1))
            for name in SHARED:
                os.link(here / name, there / name)
            store.note(copy, whole=True)
    for run in runs:
        store.note(run, whole=True)
    return store


def timed(work) -> tuple[str, list]:
    clock, process = time.perf_counter(), time.process_time()
    found = work()
    return f"{time.process_time() - process:.2f} ({time.perf_counter() - clock:.2f})", found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", default="100,1000,10000,100000")
    parser.add_argument("--folder", type=Path)
    asked = parser.parse_args()
    titles = ("list", "filter", "status", "Run objects", "evaluate opens", "report opens", "cold rebuild")
    print("own (clock) " + "".join(f"{title:>16}" for title in titles), flush=True)
    for count in map(int, asked.runs.split(",")):
        root = Path(tempfile.mkdtemp(dir=asked.folder))
        many_runs(root / "study", count)
        for path in (root / "study" / "runs").glob("*/*"):
            path.stat()
        work = {
            "list": lambda store: store.entries(),
            "filter": lambda store: [e for e in store.entries() if e.method == "vae" and e.seed % 10 == 0],
            "status": status_of,
            "Run objects": lambda store: store.runs(),
            "evaluate opens": lambda store: survey(store, deep=False),
            "report opens": lambda store: (survey(store, deep=False), store.runs()[0]),
        }
        times = []
        for each in work.values():
            seconds, found = timed(partial(each, Store(root / "study")))
            times.append(seconds)
        shutil.rmtree(root / "study" / "index")
        os.utime(root / "study")
        time.sleep(2.1)  # younger folders are not remembered
        seconds, found = timed(Store(root / "study").entries)
        assert len(found) == 2 * ((count + 1) // 2)
        times.append(seconds)
        print(f"{count:<12}" + "".join(f"{seconds:>16}" for seconds in times), flush=True)
        shutil.rmtree(root)


if __name__ == "__main__":
    main()
