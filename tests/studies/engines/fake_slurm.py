#!/usr/bin/env python3
"""sbatch, srun, sinfo, sacct, scontrol and scancel of a Slurm that is this machine, and pre-empts.

Called by any of those names. Each task of an array is a process; the first one to see a checkpoint in FAKE_SLURM_STUDY
is told to go, as Slurm does it (SIGTERM, then submitit's SIGUSR2), and runs again if it asks to be queued again. One
that is cancelled is told to end (SIGTERM), and killed a while later.
"""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(os.environ["FAKE_SLURM"])
SECONDS_TO_END = 4.0


def sbatch(script: str) -> None:
    job = str(100 + len(list(HERE.glob("job-*"))))
    (HERE / f"job-{job}").write_text(Path(script).read_text())
    array = re.search(r"--array=(\d+)-(\d+)", Path(script).read_text())
    tasks = [f"{job}_{i}" for i in range(int(array[1]), int(array[2]) + 1)] if array else [job]
    for task in tasks:
        (HERE / f"state-{task}").write_text("RUNNING")
        words = [sys.executable, __file__, "supervise", task, script]
        subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    print(f"Submitted batch job {job}")


def supervise(task: str, script: str) -> None:
    job, _, index = task.partition("_")
    environment = {
        **os.environ, "SLURM_JOB_ID": task.replace("_", "0"), "SLURM_NTASKS": "1", "SLURM_PROCID": "0",
        "SLURM_LOCALID": "0", "SLURM_NODEID": "0", "SLURM_JOB_NUM_NODES": "1", "SLURM_NNODES": "1",
        "SLURM_JOB_NODELIST": "here", "FAKE_TASK": task,
    }  # fmt: skip
    environment |= {"SLURM_ARRAY_JOB_ID": job, "SLURM_ARRAY_TASK_ID": index} if index else {"SLURM_JOB_ID": job}
    while True:
        running = subprocess.Popen(["bash", script], env=environment)
        while running.poll() is None:
            time.sleep(0.05)
            if (HERE / f"cancel-{task}").exists():
                cancel(task, running)
            elif has_checkpoint() and may_preempt():
                pid = int((HERE / f"pid-{task}").read_text())
                (HERE / "preempted").write_text(task)
                os.kill(pid, signal.SIGTERM)
                time.sleep(0.5)
                os.kill(pid, signal.SIGUSR2)
                running.wait()
        if not (HERE / f"requeue-{task}").exists():
            break
        (HERE / f"requeue-{task}").rename(HERE / f"requeued-{task}")
    (HERE / f"state-{task}").write_text("COMPLETED")


def cancel(task: str, running: subprocess.Popen) -> None:
    while not (HERE / f"pid-{task}").exists() and running.poll() is None:
        time.sleep(0.05)
    pid, deadline = int((HERE / f"pid-{task}").read_text()), time.monotonic() + SECONDS_TO_END
    os.kill(pid, signal.SIGTERM)
    while running.poll() is None and time.monotonic() < deadline:
        time.sleep(0.05)
    if running.poll() is None:
        os.kill(pid, signal.SIGKILL)
    running.wait()


def has_checkpoint() -> bool:
    return any(Path(os.environ["FAKE_SLURM_STUDY"]).glob("ensembles/*/newest.safetensors"))


def may_preempt() -> bool:
    try:
        os.close(os.open(HERE / "preempting", os.O_CREAT | os.O_EXCL))
        return True
    except FileExistsError:
        return False


def srun(*words: str) -> None:
    (HERE / f"pid-{os.environ['FAKE_TASK']}").write_text(str(os.getpid()))
    command = list(words)
    while command[0].startswith("-"):
        command = command[1:] if "=" in command[0] or command[0] == "--unbuffered" else command[2:]
    os.execvp(command[0], command)


def sinfo(*words: str) -> None:
    print("cpu\ngpu")


def sacct(*words: str) -> None:
    print("JobID|State|NodeList")
    for path in sorted(HERE.glob("state-*")):
        print(f"{path.name.removeprefix('state-')}|{path.read_text()}|here")


def scontrol(verb: str, task: str) -> None:
    (HERE / f"requeue-{task}").touch()


def scancel(*jobs: str) -> None:
    for path in HERE.glob("state-*"):
        task = path.name.removeprefix("state-")
        if {task, task.partition("_")[0]} & set(jobs):
            (HERE / f"cancel-{task}").touch()


if __name__ == "__main__":
    name = Path(sys.argv[0]).name
    words = sys.argv[1:]
    if name == Path(__file__).name and words[0] == "supervise":
        supervise(*words[1:])
    else:
        globals()[name](*words)
