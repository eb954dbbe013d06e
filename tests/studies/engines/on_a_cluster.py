"""Run as a script by test_on_ray.py: one Ray cluster of two nodes, what is asked of it, and JSON of what came.

on_a_cluster.py FOLDER [OTHER]: OTHER is where a second version of partita lies, for a node of its own.
"""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

os.environ |= {"RAY_USAGE_STATS_ENABLED": "0", "OMP_NUM_THREADS": "1"}

import numpy as np
import ray
from ray.cluster_utils import Cluster

from partita.data import load
from partita.studies import Store, plan
from partita.studies._train_on import measure_on, train_on
from partita.studies.engines import engine_named
from partita.studies.engines.on_ray import _be_quiet

NODE = {"num_cpus": 1, "object_store_memory": 100 << 20, "include_dashboard": False}


@contextmanager
def blind_node(address: str, hidden: Path):
    """A node for which this folder is empty, as on a machine that does not share it: its processes have mounts of their
    own. Yields whether there is one: not everybody may mount."""
    node = f"ray start --address={address} --num-cpus=1 --object-store-memory=100000000 --block"
    script = f"mount -t tmpfs none '{hidden}' && exec {sys.executable} -m ray.scripts.scripts {node.partition(' ')[2]}"
    words = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "start_new_session": True}
    before, process = len(ray.nodes()), subprocess.Popen(["unshare", "--mount", "sh", "-c", script], **words)
    try:
        while process.poll() is None and len(ray.nodes()) == before:
            time.sleep(0.1)
        yield process.poll() is None
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def with_a_blind_node(engine, cluster, folder: Path, runs, data) -> dict:
    found, hidden = {}, folder / "hidden"
    hidden.mkdir()
    np.save(hidden / "rows.npy", np.random.default_rng(0).normal(size=(60, 4)))
    with blind_node(cluster.address, hidden) as there:
        if there:
            found["blind"] = said(lambda: train_on(engine, runs, data, Store(hidden / "study"), device="cpu"))
            found["blind wrote"] = [path.name for path in (hidden / "study").rglob("*")]
            rows, shared, share = load(str(hidden / "rows.npy")), [], engine.share
            engine.share = lambda dataset: shared.append(dataset.name) or share(dataset)
            own = plan(["vae"], rows, latents=2, steps=20, batch_size=32, network="linear", seeds=range(4))
            train_on(engine, own, rows, Store(folder / "unseen data"), device="cpu", models_at_once=1)
            found["unseen data"] = [len(Store(folder / "unseen data").finished()), len(shared)]
    return found


def said(work) -> str:
    try:
        work()
    except (ValueError, OSError) as error:
        return f"{type(error).__name__}: {error}"
    return "nothing"


def main(folder: Path, other: str | None) -> None:
    found = {}
    cluster = Cluster(initialize_head=True, head_node_args=NODE)
    cluster.add_node(**NODE)
    try:
        _be_quiet(ray)
        ray.init(address=cluster.address, log_to_driver=False, logging_level="ERROR", configure_logging=False)
        engine = engine_named(f"ray:{cluster.address}", folder, "cpu")
        found["workers"] = engine.workers()
        data = load("groups", size=200)
        runs = plan(["vae", "beta_vae"], data, latents=3, steps=400, batch_size=32, seeds=range(2))
        store = Store(folder / "named")
        found["diverged"] = train_on(engine, runs, data, store, device="cpu")
        written = {path: path.stat().st_mtime_ns for path in store.folder.glob("runs/**/*.*")}
        train_on(engine, runs, data, store, device="cpu")
        found["again"] = {path: path.stat().st_mtime_ns for path in store.folder.glob("runs/**/*.*")} == written
        measure_on(engine, store, "gaussian_tc", device="cpu")
        found["measured"] = sum(entry.scored == "scored" for entry in store.entries())
        mine = replace(data, x=np.asarray(data.x), description={}, name="mine")
        own = plan(["vae"], mine, latents=3, steps=20, batch_size=32, network="linear")
        train_on(engine, own, mine, Store(folder / "in memory"), device="cpu")
        found["in memory"] = len(Store(folder / "in memory").finished())
        found |= with_a_blind_node(engine, cluster, folder, runs, data)
        if other:
            cluster.add_node(**NODE, env_vars={"PYTHONPATH": other})
            found["versions"] = said(lambda: train_on(engine, runs, data, Store(folder / "other"), device="cpu"))
    finally:
        ray.shutdown()
        cluster.shutdown()
    print("FOUND" + json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:] or [None])
