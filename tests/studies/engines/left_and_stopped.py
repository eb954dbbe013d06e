"""Run as a script by test_on_ray.py: commands on a Ray cluster that are interrupted, or leave their work to it."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

os.environ |= {"RAY_USAGE_STATS_ENABLED": "0", "OMP_NUM_THREADS": "1"}

from ray.cluster_utils import Cluster

from partita.studies import Store
from partita.studies._status import status_of

NODE = {"num_cpus": 1, "object_store_memory": 100 << 20, "include_dashboard": False}
WORDS = "train vae,beta_vae --data groups:size=200 --latents 3 --steps 400 --batch-size 32 --seeds 0:2 --device cpu"
LONG = WORDS.replace("--steps 400", "--steps 19000")


def command(words: str) -> subprocess.Popen:
    program = "from partita.cli.main import main; main()"
    return subprocess.Popen(
        [sys.executable, "-c", program, *words.split()], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def wait_for(true, seconds: float = 120.0) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if true():
            return True
        time.sleep(0.1)
    return False


def under_way(folder: Path) -> bool:
    try:
        return any(worker.step for worker in status_of(Store(folder)).workers)
    except ValueError:
        return False


def left_and_recalled(on: str, folder: Path) -> dict:
    """The same command without --detach waits for what was left, and its Ctrl-C ends that too."""
    command(f"{LONG}{on}{folder} --detach").communicate(timeout=100)
    wait_for(lambda: under_way(folder))
    waits = command(f"{LONG}{on}{folder}")
    wait_for(lambda: asks(waits.pid))
    time.sleep(10.0)  # Ray minds it first, and a while later the command does
    waits.send_signal(signal.SIGINT)
    _, said = waits.communicate(timeout=100)
    store = Store(folder)
    return {"recalled": said, "held then": len(store.leases().held()), "saved then": len(store.under_way())}


def asks(process: int) -> bool:
    """Whether a command minds what it is asked: Ctrl-C is no longer Python's own business."""
    status = Path(f"/proc/{process}/status").read_text()
    (caught,) = [line.split()[1] for line in status.splitlines() if line.startswith("SigCgt")]
    return bool(int(caught, 16) >> (signal.SIGTERM - 1) & 1)


def main(folder: Path) -> None:
    found = {}
    cluster = Cluster(initialize_head=True, head_node_args=NODE)
    try:
        on = f" --on ray:{cluster.address} --out "
        stopped = command(LONG + on + f"{folder}/stopped")
        found["began"] = wait_for(lambda: under_way(folder / "stopped"))
        stopped.send_signal(signal.SIGINT)
        _, found["said"] = stopped.communicate(timeout=100)
        found["status"] = stopped.returncode
        found["held"] = len(Store(folder / "stopped").leases().held())
        found["saved"] = len(Store(folder / "stopped").under_way())
        left = command(WORDS + on + f"{folder}/left --detach")
        found["left"], _ = left.communicate(timeout=100)
        found["ended"] = wait_for(lambda: status_of(Store(folder / "left")).finished == 4)
        found |= left_and_recalled(on, folder / "recalled")
    finally:
        cluster.shutdown()
    print("FOUND" + json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
