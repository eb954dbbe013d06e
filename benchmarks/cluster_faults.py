"""Imported by the workers of trial_cluster.py: a full disk, a worker that hangs, and who trained what to its end.

Files in the folder PARTITA_TRIAL say what is to go wrong: `full` as long as it is there, `hang` for whoever is first.
"""

import errno
import os
import time
from pathlib import Path

from partita.studies import _ensemble_trainer
from partita.training import files

CONTROL = Path(os.environ["PARTITA_TRIAL"])
write_all, steps_of_training = files._write_all, _ensemble_trainer.steps_of_training


def write_unless_full(handle, content):
    if (CONTROL / "full").exists():
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    write_all(handle, content)


def watched_training(programs, seeds, maker, steps, *, checkpoints, on_begin, **settings):
    stood = []

    def begin(history):
        stood.append(history.steps[-1] if history.steps else 0)
        on_begin(history)

    training = steps_of_training(programs, seeds, maker, steps, checkpoints=checkpoints, on_begin=begin, **settings)
    while True:
        try:
            next(training)
        except StopIteration as end:
            if stood[-1] < steps:  # else it was at its end before, and only its files were missing
                with (CONTROL / "ends").open("a") as log:
                    by = "Slurm" if "SUBMITIT_EXECUTOR" in os.environ else "Ray"
                    log.write("".join(f"{member} {os.getpid()} {by}\n" for member in checkpoints.members))
            return end.value
        _hang_where_asked()
        yield


def _hang_where_asked():
    try:
        os.rename(CONTROL / "hang", CONTROL / f"hung-{os.getpid()}")
    except FileNotFoundError:
        return
    while True:
        time.sleep(1)


files._write_all = write_unless_full
_ensemble_trainer.steps_of_training = watched_training
