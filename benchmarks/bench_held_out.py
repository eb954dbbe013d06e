"""What looking at rows held out costs: the same ensemble trained with and without, log points every 50 steps.

Linear PDisVAEs of the paper's synthetic study, and convolutional beta-TCVAEs on random 64 x 64 images. The alternative
trains on the same rows, with the held-out ones taken away beforehand. Each is timed in turns, the fastest counts.

    python benchmarks/bench_held_out.py [--device auto] [--linear 500] [--images 32] [--steps 2000] [--compiled]
"""

import argparse
import time

import numpy as np
import torch

from partita.data import load
from partita.recipes import HoldOut, build
from partita.training import Ensemble, fit
from partita.training.device import choose_device

EVERY, SHARE, TURNS = 50, 0.1, 3


def ensembles(recipe, x: np.ndarray, models: int, batch: int, device: torch.device, compiled: bool) -> list[Ensemble]:
    held = HoldOut(SHARE)
    settings = {"batch_size": batch, "device": device, "compiled": compiled}
    plain = Ensemble([recipe] * models, range(models), x[held.rows(len(x)).training], **settings)
    return [plain, Ensemble([recipe] * models, range(models), x, hold_out=held, **settings)]


def seconds_a_step(runs: Ensemble, steps: int, patience: int | None) -> float:
    if runs.device.type == "cuda":
        torch.cuda.synchronize()
    begun, before = time.perf_counter(), runs.step
    fit(runs, before + steps, log_every=EVERY, keep_best=True, patience=patience)
    if runs.device.type == "cuda":
        torch.cuda.synchronize()
    return (time.perf_counter() - begun) / steps


def trial(name: str, recipe, x: np.ndarray, models: int, batch: int, steps: int, device, compiled: bool) -> None:
    plain, held = ensembles(recipe, x, models, batch, device, compiled)
    times: dict[str, list[float]] = {"plain": [], "held": []}
    for turn in range(TURNS + 1):  # the first warms up
        for key, runs in (("plain", plain), ("held", held)):
            taken = seconds_a_step(runs, steps, 10**9)
            if turn:
                times[key].append(taken)
    best = {key: min(values) for key, values in times.items()}
    spread = max(times["plain"]) / best["plain"] - 1
    print(
        f"{name}: {models / best['plain']:,.0f} model-steps/s without, {models / best['held']:,.0f} with; "
        f"the look costs {100 * (best['held'] / best['plain'] - 1):.2f} % of a step "
        f"(plain varies by {100 * spread:.1f} %)",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--linear", type=int, default=500)
    parser.add_argument("--images", type=int, default=32)
    parser.add_argument("--steps", type=int, default=2000)
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
