"""Faults on a Ray cluster of three nodes: is a run lost, trained twice to the end, or other than in a local study?

    python benchmarks/trial_cluster.py [--trials 50] [--steps 600] [--seed 0]
Each trial trains a fresh study, does one thing to the cluster at a random moment after the first checkpoint, lets the
study end and compares every weights file with a local study nobody touched, byte by byte. Recovery is the time from the
fault until what was lost is trained again by somebody else.
"""

import argparse
import math
import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from contextlib import suppress
from pathlib import Path

from three_nodes import NODE, three_nodes

LEASES = {"seconds": 6.0, "hangs_after": 20.0}
KINDS = ("worker killed", "raylet killed", "node removed", "driver killed", "node added", "no space left",
         "worker hangs", "worker stopped", "two drivers", "Slurm beside it")  # fmt: skip


def plan_of(steps: int):
    from partita.data import load
    from partita.studies import plan

    data = load("groups", size=500)
    runs = plan(["pdisvae", "beta_tcvae", "vae", "beta_vae"], data, seeds=range(2), steps=steps)
    return data, runs


def drive(folder: Path, on: str, steps: int) -> None:
    """One driver, in this process."""
    from partita.studies import Store
    from partita.studies._train_on import train_on
    from partita.studies.engines import engine_named

    data, runs = plan_of(steps)
    engine = engine_named(on, folder, "cpu")
    train_on(
        engine, runs, data, Store(folder), device="cpu", checkpoint_seconds=0.3, leases=LEASES,
        modules=["cluster_faults"], modules_in=str(Path(__file__).parent.absolute()),
    )  # fmt: skip


def weights(folder: Path) -> dict[str, bytes]:
    return {path.parent.name: path.read_bytes() for path in folder.glob("runs/**/weights.safetensors")}


class Trial:
    def __init__(self, cluster, control: Path, folder: Path, steps: int, rng: random.Random):
        from partita.studies import Store

        self.cluster, self.control, self.folder, self.steps, self.rng = cluster, control, folder, steps, rng
        self.store, self.errors, self.threads = Store(folder), [], []

    def start_driver(self, on: str | None = None, *, apart: bool = False):
        on = on or f"ray:{self.cluster.address}"
        if apart:
            words = [sys.executable, __file__, "--drive", str(self.folder), on, str(self.steps)]
            return subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        thread = threading.Thread(target=self._drive, args=(on,), daemon=True)
        thread.start()
        self.threads.append(thread)
        return thread

    def _drive(self, on: str):
        try:
            drive(self.folder, on, self.steps)
        except Exception as error:
            self.errors.append(f"{type(error).__name__}: {error}")

    def victims(self, seconds: float = 120.0):
        """Leases of a random worker that has a checkpoint; where all is over before, none."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and len(weights(self.folder)) < 8 and not self.errors:
            by_key = defaultdict(list)
            for lease in self.store.leases(**LEASES).held().values():
                by_key[lease.owner.get("key")].append(lease)  # of one being written there is none yet
            ready = [
                v for key, v in by_key.items() if key and self.store.checkpoints_of(self._members(v)).newest.exists()
            ]
            if ready:
                time.sleep(self.rng.uniform(0.0, 0.5))
                return self.rng.choice(ready)
            time.sleep(0.05)
        return []

    def _members(self, leases):
        _, runs = plan_of(self.steps)
        mine = {lease.run for lease in leases}
        return tuple(run.id for run in runs if run.id in mine)

    def recovered(self, victims, since: float, seconds: float = 120.0) -> float | None:
        """Seconds until all of these have ended or are somebody else's."""
        keys = {lease.run: lease.owner["key"] for lease in victims}
        while time.monotonic() - since < seconds and not self.errors:
            held = self.store.leases(**LEASES).held()
            others = [run for run in keys if run in held and held[run].owner.get("key") != keys[run]]
            if all(run in others or self.store.has_ended(run) for run in keys):
                return time.monotonic() - since
            time.sleep(0.05)
        return None

    def run(self, kind: str) -> float | None:
        """Does what `kind` says, waits for the end, and returns the seconds it took to recover."""
        if kind == "Slurm beside it":  # submitit's own executor: an array of processes on this machine
            self.start_driver("slurm:executor=local")
        driver = self.start_driver(apart=kind == "driver killed")
        victims = self.victims()
        since, after = time.monotonic(), lambda: None
        pid = victims[0].owner["pid"] if victims else None
        if kind == "worker killed" and pid:
            os.kill(pid, signal.SIGKILL)
        elif kind in ("raylet killed", "node removed"):
            since = self._lose_a_node(kind, pid)
        elif kind == "driver killed":
            driver.kill()
            driver.wait()
            self.start_driver()
        elif kind == "node added":
            node = self.cluster.add_node(**NODE)
            after = lambda: self.cluster.remove_node(node)  # noqa: E731
        elif kind == "no space left":
            (self.control / "full").touch()
            time.sleep(self.rng.uniform(0.5, 2.0))
            (self.control / "full").unlink()
        elif kind == "worker hangs":
            (self.control / "hang").touch()
        elif kind == "worker stopped" and pid:
            os.kill(pid, signal.SIGSTOP)
            after = lambda: _end(pid)  # noqa: E731
        elif kind == "two drivers":
            self.start_driver()
        found = math.nan  # nothing was lost
        if kind not in ("node added", "two drivers", "worker hangs", "Slurm beside it"):
            found = self.recovered(victims, since)
        if kind == "worker hangs":
            found = self._after_the_hung(since)
        for thread in self.threads:
            thread.join(timeout=240)
            if thread.is_alive():
                self.errors.append("the driver did not end")
        after()
        return found

    def _lose_a_node(self, kind: str, pid: int | None) -> float:
        """The node of this worker, unless it is the head, which Ray itself cannot lose; then another."""
        nodes = sorted(self.cluster.worker_nodes, key=lambda node: node.unique_id)
        own = [node for node in nodes if pid and _is_below(pid, node)]
        node = (own or nodes)[0]
        since = time.monotonic()
        if kind == "raylet killed":
            os.kill(node.all_processes["raylet"][0].process.pid, signal.SIGKILL)
        self.cluster.remove_node(node, allow_graceful=False)
        self.cluster.add_node(**NODE)
        return since

    def _after_the_hung(self, since: float) -> float | None:
        while time.monotonic() - since < 120 and not self.errors:
            hung = [path.name.partition("-")[2] for path in self.control.glob("hung-*")]
            if hung and not Path(f"/proc/{hung[0]}").exists():
                return time.monotonic() - since
            time.sleep(0.05)
        return None


def _end(pid: int) -> None:
    with suppress(ProcessLookupError):  # it may have been told to go while it slept
        os.kill(pid, signal.SIGKILL)


def _is_below(pid: int, node) -> bool:
    """Whether a process is a child of the node's raylet."""
    with open(f"/proc/{pid}/stat") as file:
        parent = int(file.read().rpartition(")")[2].split()[1])
    return parent == node.all_processes["raylet"][0].process.pid


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=50)
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="the number of the first trial")
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--drive", nargs=3)
    asked = parser.parse_args()
    if asked.drive:
        drive(Path(asked.drive[0]), asked.drive[1], int(asked.drive[2]))
        return
    root = Path(tempfile.mkdtemp())
    control = root / "control"
    control.mkdir()
    bad = 0
    with three_nodes(PARTITA_TRIAL=str(control)) as cluster:
        import torch

        from partita.studies import Store, train

        data, runs = plan_of(asked.steps)
        torch.set_num_threads(1)
        began = time.monotonic()
        train(runs, data, Store(root / "reference"), device=torch.device("cpu"))
        print(f"{len(runs)} runs undisturbed, locally: {time.monotonic() - began:.1f} s", flush=True)
        reference, times = weights(root / "reference"), defaultdict(list)
        lost = twice = different = 0
        kinds = asked.kinds.split(",")
        for number in range(asked.first, asked.first + asked.trials):
            kind = kinds[number % len(kinds)]
            trial = Trial(cluster, control, root / f"trial{number}", asked.steps, random.Random(asked.seed + number))
            began = time.monotonic()
            recovery = trial.run(kind)
            found = weights(trial.folder)
            log = control / "ends"
            lines = [line.split() for line in log.read_text().splitlines()] if log.exists() else []
            ends, by = Counter(line[0] for line in lines), Counter(line[2] for line in lines)
            missing, again = len(reference.keys() - found.keys()), sum(count > 1 for count in ends.values())
            other = sum(found[name] != reference[name] for name in found)
            lost, twice, different = lost + missing, twice + again, different + other
            bad += bool(missing or again or other or trial.errors or recovery is None)
            times[kind].append(math.inf if recovery is None else recovery)
            print(
                f"trial {number}: {kind}: {missing} lost, {again} twice, {other} different, recovered after "
                f"{'never' if recovery is None else f'{recovery:.1f} s'}, {time.monotonic() - began:.1f} s in all"
                f"{'; ' + ', '.join(f'{n} runs by {who}' for who, n in by.items()) if len(by) > 1 else ''}"
                f"{'; ' + '; '.join(trial.errors) if trial.errors else ''}",
                flush=True,
            )
            for path in control.iterdir():
                path.unlink()
            shutil.rmtree(trial.folder)
    print(f"{'fault':<16} trials  recovery: median  longest (s)")
    for kind, found in times.items():
        print(f"{kind:<16} {len(found):6d}  {statistics.median(found):16.1f}  {max(found):7.1f}")
    print(
        f"{asked.trials} trials of {len(runs)} runs: {lost} lost, {twice} trained twice to the end, {different} other"
    )
    shutil.rmtree(root)
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
