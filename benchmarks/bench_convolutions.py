"""Model-steps a second of a convolutional beta-TCVAE (Burgess et al. 2018), 64 x 64 x 1, K=10, M=64: many at once
against one by one.

The alternative is one model in plain eager PyTorch with the data on the device and fused Adam; `bench_peers.py` has
the trainers that people use. Ratios of one run are what counts.
On a CPU every row comes twice: with our convolutions in C, and with PyTorch's.

    python benchmarks/bench_convolutions.py [--models 1,8,32] [--precision float32,bf16] [--device cuda] [--profile]
"""

import argparse
from itertools import product

import numpy as np
import torch
from torch import nn

from bench_training import rate
from partita.kernels import dispatch
from partita.measures.weights import log_weights
from partita.recipes import RECIPES
from partita.training import Ensemble
from partita.training.device import choose_device

BATCH, LATENTS, SIDE, IMAGES, BETA, STRIDE = 64, 10, 64, 4096, 6.0, 10
found = dispatch.found_convolutions


def plain_burgess() -> tuple[nn.Sequential, nn.Sequential]:
    """The network of the ensembles in layers of PyTorch alone."""
    relu, wide = nn.ReLU(), (32, 4, 4)
    down = [nn.Conv2d(channels, 32, 4, 2, 1) for channels in (1, 32, 32, 32)]
    up = [nn.ConvTranspose2d(32, channels, 4, 2, 1) for channels in (32, 32, 32, 1)]
    inward = [nn.Linear(512, 256), relu, nn.Linear(256, 256), relu, nn.Linear(256, 2 * LATENTS)]
    outward = [nn.Linear(LATENTS, 256), relu, nn.Linear(256, 256), relu, nn.Linear(256, 512), relu]
    encoder = nn.Sequential(*(part for layer in down for part in (layer, relu)), nn.Flatten(), *inward)
    images = [part for layer in up for part in (layer, relu)][:-1]
    return encoder, nn.Sequential(*outward, nn.Unflatten(1, wide), *images)


def plain_loop(x: torch.Tensor):
    """One model: a function that takes one step."""
    encoder, decoder = (body.to(x.device) for body in plain_burgess())
    parameters = [*encoder.parameters(), *decoder.parameters()]
    optimiser = torch.optim.Adam(parameters, 1e-3, fused=True)
    weights = log_weights("importance", BATCH, len(x)).to(x.device, torch.float32)

    def step() -> None:
        rows = x[torch.randint(len(x), (BATCH,), device=x.device)].float()
        mean, log_variance = encoder(rows).chunk(2, -1)
        z = mean + torch.exp(0.5 * log_variance) * torch.randn_like(mean)
        recon = nn.functional.binary_cross_entropy_with_logits(decoder(z), rows, reduction="sum") / BATCH
        kl = 0.5 * (mean.square() + log_variance.exp() - 1 - log_variance).sum(1).mean()
        squared = (z[:, None] - mean[None]).square() * torch.exp(-log_variance)[None]
        each = -0.5 * (squared + log_variance[None] + 1.8378770664093453)
        joint = torch.logsumexp(weights + each.sum(-1), 1)
        tc = (joint - torch.logsumexp(weights[..., None] + each, 1).sum(-1)).mean()
        optimiser.zero_grad(set_to_none=True)
        (recon + kl + (BETA - 1) * tc).backward()
        optimiser.step()

    return step


def ensemble_of(models: int, x: torch.Tensor, precision: str, compiled: bool, network: str = "burgess") -> Ensemble:
    recipe = RECIPES["beta_tcvae"](
        beta=BETA,
        latents=LATENTS,
        shape=(1, SIDE, SIDE),
        network=network,
        likelihood="bernoulli",
        precision=precision,
    )
    return Ensemble([recipe] * models, list(range(models)), x, batch_size=BATCH, device=x.device, compiled=compiled)


def show_profile(runs: Ensemble) -> None:
    """What the device did in one stride, by kernel."""
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CUDA]) as seen:
        runs.advance(STRIDE)
        torch.cuda.synchronize()
    print(seen.key_averages().table(sort_by="cuda_time_total", row_limit=25, max_name_column_width=70))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models")
    parser.add_argument("--network", default="burgess", help="of the ensembles; small has 16 channels")
    parser.add_argument("--precision", default="float32,bf16")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--compiled", default="no,yes")
    parser.add_argument("--profile", action="store_true")
    arguments = parser.parse_args()
    device = choose_device(arguments.device)
    models = arguments.models or ("1,2" if device.type == "cpu" else "1,8,32")
    images = np.random.default_rng(0).random((IMAGES, 1, SIDE, SIDE)) < 0.05
    x = torch.tensor(images, dtype=torch.uint8, device=device)
    print(f"beta-TCVAE, {arguments.network}, 64 x 64 x 1, K=10, M=64, {device.type}, torch {torch.__version__}")
    plain = rate(plain_loop(x), arguments.seconds, device)
    print(f"{'how':<44}{'model-steps/s':>14}{'ratio':>9}{'peak MB':>9}")
    print(f"{'one model, plain eager PyTorch, fused Adam':<44}{plain:>14,.1f}{1:>9.1f}", flush=True)
    by_whom = ("ours", "PyTorch's") if device.type == "cpu" else ("ours",)
    choices = (models.split(","), arguments.precision.split(","), arguments.compiled.split(","), by_whom)
    for count, precision, compiled, whose in product(*choices):
        if device.type == "cuda":
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
        dispatch.found_convolutions = (lambda: False) if whose == "PyTorch's" else found
        runs = ensemble_of(int(count), x, precision, compiled == "yes", arguments.network)
        speed = int(count) * STRIDE * rate(lambda runs=runs: runs.advance(STRIDE), arguments.seconds, device)
        peak = f"{torch.cuda.max_memory_allocated() / 1e6:,.0f}" if device.type == "cuda" else "–"
        how = f"{count} models at once, {precision}{', compiled' if compiled == 'yes' else ''}"
        how += f", {whose}" if len(by_whom) > 1 else ""
        print(f"{how:<44}{speed:>14,.1f}{speed / plain:>9.1f}{peak:>9}", flush=True)
        if arguments.profile:
            show_profile(runs)
        del runs


if __name__ == "__main__":
    main()
