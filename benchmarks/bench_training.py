"""Model-steps a second of the linear PDisVAE of the paper's synthetic study: many models at once against one by one.

The alternative is the same model as people write it: one model, eager PyTorch, the M x M x K tensor of log-densities.
Ratios of one run are what counts: the machine's speed and load divide out.
    python benchmarks/bench_training.py [--models 1,30] [--device cpu|cuda] [--seconds 10]
"""

import argparse
import math
import time

import torch

from partita.data import load
from partita.recipes import RECIPES
from partita.training import Ensemble
from partita.training.device import choose_device

BATCH, LATENTS, GROUPS, VARIANCE, BETA = 128, 6, (2, 2, 2), 0.25, 4.0


def plain_loop(x: torch.Tensor):
    """One model, dense: a function that takes one step."""
    size, device = len(x), x.device
    encoder = torch.nn.Linear(x.shape[1], 2 * LATENTS, device=device)
    decoder = torch.nn.Linear(LATENTS, x.shape[1], device=device)
    optimiser = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], 1e-3)
    log_weights = torch.full((BATCH, BATCH), math.log((size - 1) / (size * (BATCH - 1))), device=device)
    log_weights.fill_diagonal_(-math.log(size))

    def step() -> None:
        rows = x[torch.randint(size, (BATCH,), device=device)]
        mean, log_variance = encoder(rows).chunk(2, -1)
        z = mean + torch.exp(0.5 * log_variance) * torch.randn_like(mean)
        recon = 0.5 * ((decoder(z) - rows).square() / VARIANCE).sum(1).mean()
        kl = 0.5 * (mean.square() + log_variance.exp() - 1 - log_variance).sum(1).mean()
        squared = (z[:, None] - mean[None]).square() * torch.exp(-log_variance)[None]
        each = -0.5 * (squared + log_variance[None] + math.log(2 * math.pi))
        joint = torch.logsumexp(log_weights + each.sum(-1), 1)
        grouped = each.reshape(BATCH, BATCH, len(GROUPS), -1).sum(-1)
        pc = (joint - torch.logsumexp(log_weights[..., None] + grouped, 1).sum(-1)).mean()
        optimiser.zero_grad()
        (recon + kl + BETA * pc).backward()
        optimiser.step()

    return step


def ensemble_of(models: int, x: torch.Tensor, compiled: bool) -> Ensemble:
    recipe = RECIPES["pdisvae"](
        groups=GROUPS,
        beta=BETA,
        latents=LATENTS,
        shape=(x.shape[1],),
        network="linear",
        likelihood=f"gaussian:{VARIANCE}",
    )
    return Ensemble([recipe] * models, list(range(models)), x, batch_size=BATCH, device=x.device, compiled=compiled)


def rate(advance, seconds: float, device: torch.device) -> float:
    """Calls a second after warm-up, in which the compiler's helpers also come to rest; `advance` takes one stride."""
    advance()
    begin = time.perf_counter()
    while time.perf_counter() - begin < 2:
        advance()
    if device.type == "cuda":
        torch.cuda.synchronize()
    start, calls = time.perf_counter(), 0
    while time.perf_counter() - start < seconds:
        for _ in range(10):
            advance()
        calls += 10
        if device.type == "cuda":
            torch.cuda.synchronize()
    return calls / (time.perf_counter() - start)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--seconds", type=float, default=10.0)
    arguments = parser.parse_args()
    device = choose_device(arguments.device)
    models = arguments.models or ("1,30" if device.type == "cpu" else "1,50,500,2000")
    x = torch.tensor(load("groups").x, device=device)
    stride = 10
    print(f"linear PDisVAE, K=6, G=3, M=128, N={len(x)}, {device.type}, torch {torch.__version__}")
    before = rate(plain_loop(x), arguments.seconds, device)
    speeds: dict[str, float] = {}
    for count in map(int, models.split(",")):
        for compiled in (False, True):
            runs = ensemble_of(count, x, compiled)
            speed = count * stride * rate(lambda runs=runs: runs.advance(stride), arguments.seconds, device)
            graph = ", CUDA graph" if device.type == "cuda" else ""
            speeds[f"{count} models at once{graph}{', compiled' if compiled else ''}"] = speed
    after = rate(plain_loop(x), arguments.seconds, device)
    print(f"{'how':<44}{'model-steps/s':>14}{'ratio':>9}")
    plain = max(before, after)
    print(f"{'one model, plain eager PyTorch, dense form':<44}{plain:>14,.0f}{1:>9.1f}")
    for how, speed in speeds.items():
        print(f"{how:<44}{speed:>14,.0f}{speed / plain:>9.1f}")
    print(f"the plain model ran before and after, at {before:,.0f} and {after:,.0f}; the faster one counts")


if __name__ == "__main__":
    main()
