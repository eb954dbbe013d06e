"""Model-steps a second of methods with several players (FactorVAE, IDVAE), 64 x 64 x 1, K=10, M=64: many at once
against one model whose steps are launched one by one, eagerly, in float32.

    python benchmarks/bench_players.py [--methods factor_vae,idvae] [--models 1,16] [--precision float32,bf16]
"""

import argparse

import numpy as np
import torch

from bench_convolutions import BATCH, IMAGES, LATENTS, SIDE, STRIDE
from bench_training import rate
from partita.recipes import RECIPES
from partita.training import Ensemble
from partita.training.device import choose_device


def ensemble_of(method: str, models: int, x: torch.Tensor, precision: str, compiled: bool) -> Ensemble:
    recipe = RECIPES[method](
        latents=LATENTS,
        shape=(1, SIDE, SIDE),
        network="burgess",
        likelihood="bernoulli",
        labels=3,
        precision=precision,
    )
    u = np.random.default_rng(1).random((len(x), 3)).astype(np.float32)
    seeds = list(range(models))
    return Ensemble([recipe] * models, seeds, x, u=u, batch_size=BATCH, device=x.device, compiled=compiled)


def one_by_one(runs: Ensemble):
    """Takes one step without a graph."""

    def step() -> None:
        runs.take_step(runs.draws.index(0, 1)[0], runs.draws.noise(0, 1)[0], runs.values(0, 1)[0])

    return step


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--methods", default="factor_vae,idvae")
    parser.add_argument("--models", default="1,16")
    parser.add_argument("--precision", default="float32,bf16")
    parser.add_argument("--compiled", default="no,yes")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--seconds", type=float, default=3.0)
    arguments = parser.parse_args()
    device = choose_device(arguments.device)
    images = np.random.default_rng(0).random((IMAGES, 1, SIDE, SIDE)) < 0.05
    x = torch.tensor(images, dtype=torch.uint8, device=device)
    print(f"Burgess, 64 x 64 x 1, K=10, M=64, {device.type}, torch {torch.__version__}")
    print(f"{'how':<56}{'model-steps/s':>14}{'ratio':>9}")
    for method in arguments.methods.split(","):
        plain = rate(one_by_one(ensemble_of(method, 1, x, "float32", False)), arguments.seconds, device)
        print(f"{method + ', one model, eager, steps one by one':<56}{plain:>14,.0f}{1:>9.1f}", flush=True)
        for count in map(int, arguments.models.split(",")):
            for precision in arguments.precision.split(","):
                for compiled in (choice == "yes" for choice in arguments.compiled.split(",")):
                    runs = ensemble_of(method, count, x, precision, compiled)
                    speed = count * STRIDE * rate(lambda runs=runs: runs.advance(STRIDE), arguments.seconds, device)
                    how = f"{method}, {count} models at once, {precision}{', compiled' if compiled else ''}"
                    print(f"{how:<56}{speed:>14,.0f}{speed / plain:>9.1f}", flush=True)
                    del runs


if __name__ == "__main__":
    main()
