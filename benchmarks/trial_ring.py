"""Is the ring of head direction found in one of two groups, without labels?

    python benchmarks/trial_ring.py DATA [--seeds 0:10] [--counts poisson]

DATA is `head_direction.npz` (docs/examples/spikes.md). Rows are square roots of counts smoothed over 0.2 s, each neuron
in its standard deviation, or (`--counts`) counts in sliding windows of 0.5 s. `Disentangler(groups=(2, 2))` is fitted
with everything else by default. The angle is then decoded from each group by 30 neighbours, over ten contiguous blocks
of which one at a time is left out: R2 of its cosine and sine. The ring lies in one group where that is at least .80
from it and at most .15 from the other. The last column is CPU seconds of the fit.
"""

import argparse
import os
import sys
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parents[1] / "docs/examples"))

import torch

import partita as pt

IN, OUT = 0.80, 0.15


def main() -> None:
    import spikes

    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--seeds", default="0:10")
    parser.add_argument("--counts", default="", help="a likelihood of counts: poisson or negative_binomial")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    recording = spikes.recording(asked.data)
    x = recording.counts_in_windows() if asked.counts else recording.smoothed()
    told = {"likelihood": asked.counts} if asked.counts else {}
    low, high = map(int, asked.seeds.split(":"))
    found = 0
    print(f"all neurons: {spikes.decoded(x, recording.direction):.3f}")
    for seed in range(low, high):
        began = time.process_time()
        model = pt.Disentangler(groups=(2, 2), seed=seed, device="cpu", **told).fit(x)
        took = time.process_time() - began
        z = model.transform(x)
        ring, other = sorted((spikes.decoded(z[:, g], recording.direction) for g in model.groups_), reverse=True)
        found += ring >= IN and other <= OUT
        print(f"seed {seed}: ring {ring:.3f}, other {other:.3f}, {took:.0f} CPU s", flush=True)
    print(f"in one group: {found} of {high - low}")


if __name__ == "__main__":
    main()
