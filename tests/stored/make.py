"""Writes what a version of partita stores, to be kept as fixtures: python tests/stored/make.py FOLDER

FOLDER/study          finished runs, measured        FOLDER/interrupted    runs under way, in either half
FOLDER/own_file       a run on a file, by its name   FOLDER/model.safetensors, codes.npy    a saved Disentangler
Every run has STEPS steps; those under way were asked to stop after so many as `stopped.json` says.
"""

import json
import os
import signal
import sys
from pathlib import Path

import numpy as np
import torch

import partita as pt
from partita.data import load
from partita.studies import Store, evaluate_run, plan, train
from partita.training import Interrupted

STEPS = 40
SETTINGS = {"steps": STEPS, "batch_size": 50}
METHODS = {
    "vae": {"seeds": (0, 1)},
    "restarts": {"seeds": (0, 1), "options": {"restarts": [2]}},
    "auto": {"seeds": (0,), "groups": "auto", "latents": 3},
    "auto, late": {"seeds": (1,), "groups": "auto", "latents": 3},
}
STOPPED = {"vae": 20, "restarts": 30, "auto": 10, "auto, late": 30}


def planned(name: str, dataset):
    return plan(["vae" if name == "vae" else "pdisvae"], dataset, **SETTINGS, **METHODS[name])


def stopped_at(step: int):
    return lambda runs, history, now, steps: now == step and signal.raise_signal(signal.SIGTERM)


def main(folder: Path) -> None:
    os.chdir(folder)
    dataset, cpu = load("groups", size=200), torch.device("cpu")
    for name in METHODS:
        train(planned(name, dataset), dataset, Store(Path("study")), device=cpu)
        try:
            watch = stopped_at(STOPPED[name])
            train(planned(name, dataset), dataset, Store(Path("interrupted")), device=cpu, watch=watch)
        except Interrupted as wish:
            print(name, wish)
    Path("stopped.json").write_text(json.dumps(STOPPED) + "\n")
    study = Store(Path("study"))
    for run in study.finished():
        evaluate_run(study, run, dataset)
    rows = np.random.default_rng(0).normal(size=(60, 4)).astype(np.float32)
    Path("own_file").mkdir(exist_ok=True)
    os.chdir("own_file")
    np.save("rows.npy", rows)
    own = load("rows.npy")
    train(plan(["vae"], own, latents=2, network="linear", **SETTINGS), own, Store(Path("runs_here")), device=cpu)
    os.chdir("..")
    model = pt.Disentangler("pdisvae", latents=4, groups=(2, 2), options={"restarts": 2}, network="linear", steps=STEPS)
    model.fit(rows).save("model.safetensors")
    np.save("codes.npy", model.transform(rows))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
