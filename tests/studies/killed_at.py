"""Kills a small study before, in the middle of, and after every call that changes files; then lets it go on.

    python tests/studies/killed_at.py SCENARIO FOLDER [EVERY]
Prints JSON: how many calls there were, how many kills, and whatever went wrong. Everything heavy is loaded once, then
each study runs in a forked process. With EVERY = 7 only every seventh kill is made.
"""

import builtins
import json
import math
import os
import shutil
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

import torch

from partita.data import load
from partita.studies import Store, _index, plan, train
from partita.training import Ensemble, Interrupted
from partita.training.checkpoint import NAMES, read_checkpoint

_index.SECONDS_TOO_FRESH = math.inf  # what a reader adds to the index depends on the clock: calls are counted here
CPU = torch.device("cpu")
DATA = load("groups", size=64)
SETTINGS = {"latents": 3, "batch_size": 32, "steps": 4}
CALLS = ("write", "fsync", "replace", "rename", "unlink", "mkdir", "rmdir", "open")
KILLED = 9


def runs_of(scenario: str):
    """Studies of one ensemble, of several, of one model after the other."""
    alone = plan(["vae"], DATA, seeds=range(3), **SETTINGS)
    restarts = plan(["pdisvae"], DATA, groups=(2, 1), seeds=range(2), options={"restarts": [2]}, **SETTINGS)
    auto = plan(["pdisvae"], DATA, groups="auto", seeds=range(2), **SETTINGS)
    diverged = plan(["vae"], DATA, seeds=range(2), **{**SETTINGS, "learning_rate": 1e30})
    return {
        "alone": alone, "restarts": restarts, "auto": auto, "diverged": diverged, "halves": restarts + alone,
        "interrupted": restarts + auto[:1], "study": alone + restarts + auto,
    }[scenario]  # fmt: skip


def study(scenario: str, folder: Path, watch=None) -> None:
    torch.set_num_threads(1)
    if scenario == "halves":
        _remember_little()
    train(runs_of(scenario), DATA, Store(folder), device=CPU, checkpoint_seconds=0.0, watch=watch)


ADVANCE = Ensemble.advance


def _remember_little() -> None:
    """As if the memory bore no more than two models from the third step on."""

    def advance(self, count):
        if len(self.seeds) > 2 and self.step >= 3:
            raise torch.OutOfMemoryError("as a test pretends")
        ADVANCE(self, count)

    Ensemble.advance = advance


def in_a_child(work: Callable[[], object]) -> tuple[int, object]:
    """The exit status of a forked process, and what its work returned."""
    receive, send = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(receive)
        status = 1
        try:
            sys.stderr = open(os.devnull, "w")  # noqa: SIM115  for as long as the process lasts
            said, status = work(), 0
        except BaseException:
            said = traceback.format_exc()
        with os.fdopen(send, "w") as out:
            out.write(json.dumps(said))
        os._exit(status)
    os.close(send)
    with os.fdopen(receive) as into:
        said = into.read()
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), json.loads(said) if said else None


def counted(kill: tuple[int, str] | None, work: Callable[[], object]) -> list[str]:
    """The names of the calls that change files; at the one to `kill`, the process ends before, amid or after it."""
    made: list[str] = []
    plain = {name: getattr(os, name) for name in CALLS} | {"file": builtins.open}

    def wrapped(name: str):
        def call(*arguments, **settings):
            if not _changes(name, arguments, settings):
                return plain[name](*arguments, **settings)
            made.append(name)
            here = kill is not None and kill[0] == len(made) - 1
            if here and kill[1] == "before":
                os._exit(KILLED)
            if here and kill[1] == "amid":
                plain["write"](arguments[0], bytes(arguments[1])[: len(arguments[1]) // 2])
                os._exit(KILLED)
            # what a process wrote outlives it without being synced, so only the order counts here
            try:
                return None if name == "fsync" else plain[name](*arguments, **settings)
            finally:
                if here:
                    os._exit(KILLED)

        return call

    for name in CALLS:
        setattr(os, name, wrapped(name))
    builtins.open = wrapped("file")
    work()
    return made


def _changes(name: str, arguments, settings) -> bool:
    """Of what is opened, what is opened to be written; and not what Python keeps of modules."""
    if name == "open":
        return bool(arguments[1] & (os.O_WRONLY | os.O_RDWR)) and "__pycache__" not in str(arguments[0])
    if name == "file":
        mode = arguments[1] if len(arguments) > 1 else settings.get("mode", "r")
        return any(letter in mode for letter in "wax+")
    return True


def steps_taken(work: Callable[[], object]) -> int:
    """Steps times models."""
    os.fsync = lambda handle: None
    taken = [0]
    plain = Ensemble.take_step

    def take_step(self, *arguments):
        plain(self, *arguments)
        taken[0] += len(self.seeds)

    Ensemble.take_step = take_step
    work()
    return taken[0]


def steps_left(scenario: str, folder: Path) -> int:
    """Steps times models that no file holds: what going on must take, and no more."""
    store = Store(folder)
    held: dict[str, int] = {}
    for path in folder.glob("ensembles/**/*.safetensors"):
        if path.name in NAMES:
            _, about = read_checkpoint(path)
            for member in about["members"]:
                held[member] = max(held.get(member, 0), about["step"])
    waiting = [run for run in runs_of(scenario) if store.result(run) is None]
    return sum(run.program.replicas * (ends(run, scenario) - held.get(run.id, 0)) for run in waiting)


def ends(run, scenario: str) -> int:
    return 2 if scenario == "diverged" else run.steps


def content(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_bytes().hex() for path in sorted(folder.glob("runs/**/*.*"))}


def left_over(folder: Path) -> list[str]:
    temporary = [path for path in folder.rglob(".*") if path.name != ".lock"]
    return [str(path.relative_to(folder)) for path in [*temporary, *folder.glob("ensembles/*")]]


def begun(scenario: str, folder: Path) -> None:
    """Where the scenario begins: nowhere, or with runs that were asked to stop."""
    if scenario != "interrupted":
        return

    def stop():
        def watch(runs, history, step, steps):
            if step == 3:
                signal.raise_signal(signal.SIGTERM)

        try:
            study(scenario, folder, watch)
        except Interrupted:
            return
        raise AssertionError("was not interrupted")

    status, said = in_a_child(stop)
    assert status == 0, said


def main(scenario: str, root: Path, every: int) -> dict:
    study(scenario, root / "warm")  # loads and compiles whatever it needs, for all forked processes
    start = root / "start"
    start.mkdir(parents=True)
    begun(scenario, start)
    reference = root / "reference"
    shutil.copytree(start, reference)
    status, calls = in_a_child(lambda: counted(None, lambda: study(scenario, reference)))
    assert status == 0, calls
    expected = content(reference)
    assert not left_over(reference), left_over(reference)
    points = [(i, how) for i, name in enumerate(calls) for how in ("before", "amid", "after")
              if how != "amid" or name == "write"]  # fmt: skip
    trouble, folder = [], root / "killed"
    for kill in points[::every]:
        shutil.copytree(start, folder)
        status, said = in_a_child(lambda kill=kill: counted(kill, lambda: study(scenario, folder)))
        if status != KILLED:
            trouble.append(f"{kill}: was not killed: {status} {said}")
        left = steps_left(scenario, folder)
        status, taken = in_a_child(lambda: steps_taken(lambda: study(scenario, folder)))
        where = f"{kill[1]} call {kill[0]}, {calls[kill[0]]}"
        if status != 0:
            trouble.append(f"{where}: did not go on: {taken}")
        elif content(folder) != expected:
            other = [name for name in expected.keys() | content(folder).keys()
                     if expected.get(name) != content(folder).get(name)]  # fmt: skip
            trouble.append(f"{where}: other bytes in {other}")
        elif taken != left:
            trouble.append(f"{where}: took {taken} steps, {left} were left")
        elif left_over(folder):
            trouble.append(f"{where}: left {left_over(folder)}")
        shutil.rmtree(folder)
    return {"calls": len(calls), "points": len(points), "kills": len(points[::every]), "trouble": trouble}


if __name__ == "__main__":
    words = sys.argv[1:]
    print(json.dumps(main(words[0], Path(words[1]), int(words[2]) if len(words) > 2 else 1)))
