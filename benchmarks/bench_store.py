"""How long a study of many runs takes to open: listing, filtering, status, and what evaluate and report do first.

    python benchmarks/bench_store.py [--runs 100,1000,10000,100000] [--folder DIR]
Two small runs are trained and measured; the others are their files again under ids of their own, 50 seeds a setting.
"opens" is all that a command does before it prints or draws: evaluate then knows that every run is measured, and has
its scores. "cold" is without the index that training and measuring leave: it is made from the folders, and then from
the scores. Seconds of this process, user and system, and (of the clock): on a machine that others use the two differ.
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

from partita.cli.evaluate import SETTINGS_PRINTED
from partita.data import load
from partita.reports import write_page
from partita.reports._drawn import drawn_of
from partita.studies import Store, evaluate_run, plan, train
from partita.studies._kept_scores import keep
from partita.studies._measure import measure
from partita.studies._status import status_of
from partita.studies._tables import summary_lines
from partita.studies._verify import survey

SHARED = ("weights.safetensors", "history.jsonl", "result.json", "scores.json")
CPU, METRICS, SEEDS = torch.device("cpu"), "gaussian_tc", 50


def many_runs(folder: Path, count: int) -> Store:
    data, store = load("groups", size=200), Store(folder)
    runs = plan(["beta_vae", "beta_tcvae"], data, steps=20)
    train(runs, data, store, device=CPU)
    for run in runs:
        evaluate_run(store, run, data, METRICS, CPU)
    scores = [store.scores(run) or {} for run in runs]
    for number in range(1, (count + 1) // 2):
        for run, own in zip(runs, scores):
            copy = replace(run, seed=number % SEEDS, options={**run.options, "beta": 1.0 + number // SEEDS})
            there, here = store.folder_of(copy), store.folder_of(run)
            there.mkdir(parents=True)
            (there / "run.json").write_text(json.dumps(copy.as_json(), indent=1))
            for name in SHARED:
                os.link(here / name, there / name)
            store.note(copy, whole=True)
            keep(folder / "index", there, str(there.stat().st_mtime_ns), own)
    for run in runs:
        store.note(run, whole=True)
    return store


def report_opens(store: Store) -> list:
    known = store.look_up()
    others = {entry.name for entry in known.entries} - {entry.name for entry in drawn_of(known.entries)}
    survey(store, deep=False, known=known, without=others)
    return known.entries


def timed(work) -> tuple[str, list]:
    clock, process = time.perf_counter(), time.process_time()
    found = work()
    return f"{time.process_time() - process:.2f} ({time.perf_counter() - clock:.2f})", found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", default="100,1000,10000,100000")
    parser.add_argument("--folder", type=Path)
    asked = parser.parse_args()
    data = load("groups", size=200)

    def evaluated(store: Store):
        found = measure(store, METRICS, CPU, in_short=True)
        assert not found.survey.finished
        assert not found.trouble
        return found.rows

    def printed(store: Store):
        return summary_lines(measure(store, METRICS, CPU, in_short=True).of_settings(SETTINGS_PRINTED)[0])

    work = {
        "list": lambda store: store.entries(),
        "filter": lambda store: [e for e in store.entries() if e.method == "beta_vae" and e.seed % 10 == 0],
        "status": status_of,
        "Run objects": lambda store: store.runs(),
        "evaluate opens": evaluated,
        "and prints": printed,
        "report opens": report_opens,
        "and writes": lambda store: write_page(store, data, store.folder / "report.html"),
        "cold rebuild": lambda store: store.entries(),
        "cold scores": evaluated,
    }
    print("own (clock) " + "".join(f"{title:>16}" for title in work), flush=True)
    for count in map(int, asked.runs.split(",")):
        root = Path(tempfile.mkdtemp(dir=asked.folder))
        many_runs(root / "study", count)
        for path in (root / "study" / "runs").glob("*/*"):
            path.stat()
        times = []
        for name, each in work.items():
            if name == "cold rebuild":
                shutil.rmtree(root / "study" / "index")
                time.sleep(2.1)  # younger folders are not remembered
            seconds, found = timed(partial(each, Store(root / "study")))
            assert name not in ("list", "evaluate opens", "cold rebuild") or len(found) == 2 * ((count + 1) // 2)
            times.append(seconds)
        print(f"{count:<12}" + "".join(f"{seconds:>16}" for seconds in times), flush=True)
        shutil.rmtree(root)


if __name__ == "__main__":
    main()
