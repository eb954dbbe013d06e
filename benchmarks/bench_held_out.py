"""What looking at rows held out costs: one look, by the time of the steps between two looks.

Linear PDisVAEs of the paper's synthetic study, and convolutional beta-TCVAEs on random 64 x 64 images. A look falls on
50 steps, as with the default 5,000; steps and looks are timed in turns, and the median of each counts.

    python benchmarks/bench_held_out.py [--device auto] [--linear 500] [--images 32] [--steps 500] [--compiled]
"""

import argparse
import time
from statistics import median

import numpy as np
import torch

from partita.data import load
from partita.recipes import HoldOut, build
from partita.training import Ensemble
from partita.training.device import choose_device

EVERY, TURNS, LOOKS = 50, 7, 20


def seconds(work, times: int, device: torch.device) -> float:
    """A time each, from an idle device to an idle device."""
    if device.type == "cuda":
        torch.cuda.synchronize()
    begun = time.perf_counter()
    for _ in range(times):
        work()
    if device.type == "cuda":
        torch.cuda.synchronize()
    return (time.perf_counter() - begun) / times


def trial(name: str, recipe, x: np.ndarray, models: int, batch: int, steps: int, device, compiled: bool) -> None:
    settings = {"batch_size": batch, "device": device, "compiled": compiled}
    runs = Ensemble([recipe] * models, range(models), x, hold_out=HoldOut(0.1), **settings)
    runs.watch_held_out(EVERY, keep_best=True, patience=10**9)
    assert runs.held_out is not None
    runs.advance(20)
    runs.held_out.look()
    a_step, a_look = [], []
    for _ in range(TURNS):
        a_step.append(seconds(lambda: runs.advance(10), steps // 10, device) / 10)
        a_look.append(seconds(runs.held_out.look, LOOKS, device))
    share = median(a_look) / (EVERY * median(a_step))
    print(
        f"{name}, {models} models: step {1e3 * median(a_step):.3f} ms ({models / median(a_step):,.0f} model-steps/s), "
        f"look {1e3 * median(a_look):.3f} ms, {len(runs.held_out.rows['x'])} rows: {100 * share:.2f} % of the steps",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--linear", type=int, default=500)
    parser.add_argument("--images", type=int, default=32)
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--compiled", action="store_true")
    asked = parser.parse_args()
    device = choose_device(asked.device)
    house = {"latents": 6, "shape": (20,), "network": "linear", "likelihood": "gaussian:0.25"}
    linear = build("pdisvae", groups=(2, 2, 2), **house).recipe
    trial("linear", linear, np.array(load("groups").x), asked.linear, 128, asked.steps, device, asked.compiled)
    if asked.images:
        images = np.random.default_rng(0).integers(0, 2, (5000, 1, 64, 64), np.uint8)
        house = {
            "latents": 10,
            "shape": (1, 64, 64),
            "network": "burgess",
            "likelihood": "bernoulli",
            "precision": "bf16",
        }
        recipe = build("beta_tcvae", **house).recipe
        trial("images", recipe, images, asked.images, 64, asked.steps // 5, device, asked.compiled)


if __name__ == "__main__":
    main()
