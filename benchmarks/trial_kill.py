"""kill -9 at random moments: does the same command go on, and end in the same bytes as a run nobody touched?

    python benchmarks/trial_kill.py [--trials 25] [--steps 2000] [--seed 0]
Each trial starts a fresh study, kills it at a random moment (twice in every third trial), lets the same command finish,
and compares every weights file with the reference byte by byte. With `--searching` runs have restarts, rows held out
and early stopping.
"""

import argparse
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SEARCHING = " --restarts 2 --validation 0.1 --patience 5 --network mlp"


def command(out: Path, steps: int, searching: bool) -> list[str]:
    words = f"train pdisvae --data groups --groups 2,2,2 --steps {steps} --seeds 0:2 --beta 1,4 --device cpu"
    words += SEARCHING if searching else ""
    return [
        sys.executable, "-c", "from partita.cli.main import main; main()", *words.split(),
        "--checkpoint-seconds", "0.3", "--out", str(out),
    ]  # fmt: skip


def weights(out: Path) -> dict[str, bytes]:
    return {path.parent.name: path.read_bytes() for path in sorted(out.glob("runs/**/weights.safetensors"))}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=25)
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--searching", action="store_true")
    arguments = parser.parse_args()
    rng = random.Random(arguments.seed)
    root = Path(tempfile.mkdtemp())
    start = time.monotonic()
    subprocess.run(command(root / "reference", arguments.steps, arguments.searching), check=True, capture_output=True)
    whole = time.monotonic() - start
    reference = weights(root / "reference")
    identical, resumed = 0, 0
    for trial in range(arguments.trials):
        out = root / f"trial{trial}"
        for _ in range(2 if trial % 3 == 2 else 1):
            process = subprocess.Popen(
                command(out, arguments.steps, arguments.searching), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            time.sleep(rng.uniform(0.3 * whole, whole))
            process.kill()
            process.wait()
        under_way = any(out.glob("ensembles/**/newest.safetensors"))
        resumed += under_way
        ended = subprocess.run(command(out, arguments.steps, arguments.searching), capture_output=True, text=True)
        same = ended.returncode == 0 and weights(out) == reference
        identical += same
        note = "went on from a checkpoint" if under_way else "started again or had ended"
        print(f"trial {trial}: {'identical' if same else 'DIFFERENT ' + ended.stderr.strip()}, {note}", flush=True)
        shutil.rmtree(out)
    print(f"{identical} of {arguments.trials} killed studies ended byte-identical; {resumed} went on from a checkpoint")
    shutil.rmtree(root)
    sys.exit(identical != arguments.trials)


if __name__ == "__main__":
    main()
