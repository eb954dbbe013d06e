"""One study of 300 small runs on three nodes of a Ray cluster, and the same in one local process.

    python benchmarks/bench_cluster.py [--seeds 50] [--steps 300]
Six settings of 50 seeds, an ensemble each. Are the bytes equal, and what does the cluster cost? Processor seconds
are compared, of the process that trains or of the workers (nodes on one machine share its cores), and the clock.
"""

import argparse
import os
import resource
import shutil
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from three_nodes import three_nodes


def weights(folder: Path) -> dict[str, bytes]:
    return {path.parent.name: path.read_bytes() for path in folder.glob("runs/**/weights.safetensors")}


def processor_seconds(cluster) -> float:
    """Of the workers of all nodes, user and system."""
    nodes = [cluster.head_node, *cluster.worker_nodes]
    raylets = {str(node.all_processes["raylet"][0].process.pid) for node in nodes}
    ticks = 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = path.read_text().rpartition(")")[2].split()
            ticks += int(fields[11]) + int(fields[12]) if fields[1] in raylets else 0
    return ticks / os.sysconf("SC_CLK_TCK")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=50)
    parser.add_argument("--steps", type=int, default=300)
    asked = parser.parse_args()
    root = Path(tempfile.mkdtemp())
    with three_nodes() as cluster:
        import torch

        from partita.data import load
        from partita.studies import Store, plan, train
        from partita.studies._train_on import train_on
        from partita.studies.engines import engine_named

        torch.set_num_threads(1)
        data = load("groups", size=500)
        methods = ["vae", "beta_vae", "beta_tcvae", "pdisvae", "dip_vae_i", "dip_vae_ii"]
        runs = plan(methods, data, seeds=range(asked.seeds), steps=asked.steps)
        warm = plan(methods, data, seeds=[1000], steps=2)
        engine = engine_named(f"ray:{cluster.address}", root, "cpu")
        train(warm, data, Store(root / "warm here"), device=torch.device("cpu"))
        train_on(engine, warm, data, Store(root / "warm there"), device="cpu", models_at_once=1)

        began, before = time.monotonic(), resource.getrusage(resource.RUSAGE_SELF)
        train(runs, data, Store(root / "here"), device=torch.device("cpu"))
        clock_here, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_SELF)
        here = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

        began, before, spent = time.monotonic(), processor_seconds(cluster), time.process_time()
        train_on(engine, runs, data, Store(root / "there"), device="cpu")
        clock_there, there = time.monotonic() - began, processor_seconds(cluster) - before
        driver = time.process_time() - spent
    same = weights(root / "here") == weights(root / "there")
    print(f"{len(runs)} runs of {asked.steps} steps: bytes {'equal' if same else 'DIFFERENT'}")
    print(f"processor seconds: {here:.1f} here; {there:.1f} in workers and {driver:.1f} in the driver there")
    print(f"overhead: {100 * ((there + driver) / here - 1):.1f} % of processors")
    print(f"by the clock: {clock_here:.1f} s here, {clock_there:.1f} s there")
    shutil.rmtree(root)


if __name__ == "__main__":
    main()
