"""Model-steps a second of a convolutional beta-TCVAE (Burgess et al. 2018), 64 x 64 x 1, K=10, M=64, beside its peers.

The peers run their own trainers on the same network and the same images in memory: `pythae` (BetaTCVAE, BaseTrainer),
`disent` (BetaTcVae, lightning's Trainer without logger, progress bar and checkpoints), and a loop in plain PyTorch as
users write it: DataLoader, a loss logged by `.item()` at every step. The plain loop is 1. `pip install pythae disent`
beside partita, or a folder of both on PYTHONPATH; what is missing gets a row that says so.

    python benchmarks/bench_peers.py [--models 1,8,32] [--precision float32,bf16] [--seconds 5] [--device cuda]
"""

import argparse
import logging
import math
import tempfile
import time
import warnings
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout, suppress
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from bench_convolutions import BATCH, BETA, LATENTS, SIDE, STRIDE, ensemble_of, plain_loop
from bench_training import rate
from partita.training.device import choose_device
from written import about, in_one_line, keep, markdown

IMAGES = 20000  # 312 steps a pass: what trainers do between passes is a small part, as with real data
WARM_UP = 2.0


class Done(Exception):
    """Enough steps were seen."""


class Clock:
    """Steps a second, from ticks at the end of every step; the first seconds do not count."""

    def __init__(self, seconds: float):
        self.seconds, self.begun = seconds, time.perf_counter()
        self.start, self.elapsed, self.steps = None, 0.0, 0

    def tick(self) -> bool:
        """Whether enough was seen."""
        now = time.perf_counter()
        if self.start is None:
            if now - self.begun > WARM_UP:
                self.start = now
            return False
        self.steps += 1
        self.elapsed = now - self.start
        return self.elapsed > self.seconds

    @property
    def rate(self) -> float:
        return self.steps / self.elapsed


def encoder() -> nn.Sequential:
    layers: list[nn.Module] = []
    for channels in (1, 32, 32, 32):
        layers += [nn.Conv2d(channels, 32, 4, 2, 1), nn.ReLU()]
    dense = [nn.Flatten(), nn.Linear(512, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU()]
    return nn.Sequential(*layers, *dense, nn.Linear(256, 2 * LATENTS))


def decoder() -> nn.Sequential:
    layers: list[nn.Module] = [nn.Linear(LATENTS, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU()]
    layers += [nn.Linear(256, 512), nn.ReLU(), nn.Unflatten(1, (32, 4, 4))]
    for channels in (32, 32, 32):
        layers += [nn.ConvTranspose2d(32, channels, 4, 2, 1), nn.ReLU()]
    return nn.Sequential(*layers, nn.ConvTranspose2d(32, 1, 4, 2, 1))


def log_importance(size: int, device: torch.device) -> Tensor:
    weights = torch.full((BATCH, BATCH), math.log((size - 1) / (size * (BATCH - 1))), device=device)
    return weights.fill_diagonal_(-math.log(size))


def users_loop(images: Tensor, seconds: float, device: torch.device) -> float:
    """One model, DataLoader, `.item()` every step."""
    loader = DataLoader(TensorDataset(images), BATCH, shuffle=True, drop_last=True, pin_memory=device.type == "cuda")
    encode, decode = encoder().to(device), decoder().to(device)
    optimiser = torch.optim.Adam([*encode.parameters(), *decode.parameters()], 1e-3)
    weights, logged, clock = log_importance(len(images), device), [], Clock(seconds)
    while True:
        for (x,) in loader:
            x = x.to(device, non_blocking=True)
            mean, log_variance = encode(x).chunk(2, 1)
            z = mean + torch.exp(0.5 * log_variance) * torch.randn_like(mean)
            recon = nn.functional.binary_cross_entropy_with_logits(decode(z), x, reduction="sum") / len(x)
            kl = 0.5 * (mean**2 + log_variance.exp() - 1 - log_variance).sum(1).mean()
            squared = (z[:, None] - mean[None]) ** 2 * torch.exp(-log_variance)[None]
            each = -0.5 * (squared + log_variance[None] + math.log(2 * math.pi))
            joint = torch.logsumexp(weights + each.sum(-1), 1)
            tc = (joint - torch.logsumexp(weights[..., None] + each, 1).sum(1)).mean()
            loss = recon + kl + (BETA - 1) * tc
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            logged.append((loss.item(), recon.item(), kl.item(), tc.item()))
            if clock.tick():
                return clock.rate


def pythae_trainer(images: Tensor, seconds: float, device: torch.device) -> float:
    from pythae.data.datasets import BaseDataset
    from pythae.models import BetaTCVAE, BetaTCVAEConfig
    from pythae.models.base.base_utils import ModelOutput
    from pythae.models.nn import BaseDecoder, BaseEncoder
    from pythae.trainers import BaseTrainer, BaseTrainerConfig
    from pythae.trainers.training_callbacks import TrainingCallback

    class Encoder(BaseEncoder):
        def __init__(self):
            super().__init__()
            self.body = encoder()

        def forward(self, x):
            mean, log_variance = self.body(x).chunk(2, 1)
            return ModelOutput(embedding=mean, log_covariance=log_variance)

    class Decoder(BaseDecoder):
        def __init__(self):
            super().__init__()
            self.body = decoder()

        def forward(self, z):
            return ModelOutput(reconstruction=torch.sigmoid(self.body(z)))

    clock = Clock(seconds)

    class Watch(TrainingCallback):
        def on_train_step_end(self, training_config, **kwargs):
            if clock.tick():
                raise Done

    settings = BetaTCVAEConfig(input_dim=(1, SIDE, SIDE), latent_dim=LATENTS, reconstruction_loss="bce", beta=BETA)
    model = BetaTCVAE(settings, Encoder(), Decoder())
    with tempfile.TemporaryDirectory() as folder:
        training = BaseTrainerConfig(
            output_dir=folder, num_epochs=10000, learning_rate=1e-3, per_device_train_batch_size=BATCH,
            no_cuda=device.type != "cuda",
        )  # fmt: skip
        data = BaseDataset(images, torch.zeros(len(images)))
        with suppress(Done):
            BaseTrainer(model, data, training_config=training, callbacks=[Watch()]).train()
    return clock.rate


def disent_trainer(images: Tensor, seconds: float, device: torch.device) -> float:
    import lightning
    from disent.frameworks.vae import BetaTcVae
    from disent.model import AutoEncoder, DisentDecoder, DisentEncoder

    class Encoder(DisentEncoder):
        def __init__(self):
            super().__init__(x_shape=(1, SIDE, SIDE), z_size=LATENTS, z_multiplier=2)
            self.body = encoder()

        def encode(self, x):
            return self.body(x)

    class Decoder(DisentDecoder):
        def __init__(self):
            super().__init__(x_shape=(1, SIDE, SIDE), z_size=LATENTS)
            self.body = decoder()

        def decode(self, z):
            return self.body(z)

    clock = Clock(seconds)

    class Watch(lightning.Callback):
        def on_train_batch_end(self, trainer, *rest):
            trainer.should_stop = clock.tick()

    class Rows(TensorDataset):
        def __getitem__(self, row):
            return {"x_targ": (self.tensors[0][row],)}

    settings = BetaTcVae.cfg(
        optimizer="adam", optimizer_kwargs={"lr": 1e-3}, recon_loss="bce", loss_reduction="mean_sum", beta=BETA
    )
    framework = BetaTcVae(AutoEncoder(Encoder(), Decoder()), settings)
    loader = DataLoader(Rows(images), BATCH, shuffle=True, drop_last=True, pin_memory=device.type == "cuda")
    trainer = lightning.Trainer(
        max_epochs=10000, accelerator="gpu" if device.type == "cuda" else "cpu", devices=1, logger=False,
        enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False, callbacks=[Watch()],
    )  # fmt: skip
    trainer.fit(framework, loader)
    return clock.rate


def version_of(package: str) -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def tried(name: str, what: str, measure: Callable[[], float]) -> dict[str, Any]:
    """One row, with the reason where it cannot be measured."""
    try:
        row = {"name": name, "what": what, "rate": measure()}
    except Exception as error:
        row = {"name": name, "what": what, "failed": in_one_line(error)}
    print(f"{name}, {what}: {row.get('rate', row.get('failed'))}", flush=True)
    return row


def quietly(measure: Callable[[], float]) -> float:
    """Without the lines that trainers print of themselves."""
    try:
        logging.disable(logging.WARNING)
        with warnings.catch_warnings(), redirect_stdout(StringIO()), redirect_stderr(StringIO()):
            warnings.simplefilter("ignore")
            return measure()
    finally:
        logging.disable(logging.NOTSET)


def in_steps(rate: float) -> str:
    return f"{rate:,.0f}" if rate >= 100 else f"{rate:.1f}"


def partita_rows(x: Tensor, asked: argparse.Namespace, device: torch.device) -> list[dict[str, Any]]:
    rows = []
    for count in map(int, asked.models.split(",")):
        for precision in asked.precision.split(","):
            for compiled in (choice == "yes" for choice in asked.compiled.split(",")):

                def measure(count=count, precision=precision, compiled=compiled) -> float:
                    runs = ensemble_of(count, x, precision, compiled)
                    return count * STRIDE * rate(lambda: runs.advance(STRIDE), asked.seconds, device)

                graph = ", CUDA graph" if device.type == "cuda" else ""
                what = f"{count} at once, {precision}{graph}{', compiled' if compiled else ''}"
                rows.append(tried("partita", what, measure))
    return rows


def report(rows: list[dict[str, Any]], made: dict[str, str]) -> str:
    alone = max((row["rate"] for row in rows if row["name"] == "plain PyTorch" and "rate" in row), default=math.nan)
    cells = [
        [row["name"], row["what"], in_steps(row["rate"]), f"{row['rate'] / alone:.1f}"]
        if "rate" in row
        else [row["name"], row["what"], "–", row["failed"]]
        for row in rows
    ]
    return "\n".join([
        f"{made['date']}, {made['device']}, torch {made['torch']}, Python {made['python']}", f"`{made['command']}`", "",
        markdown(("who", "what was measured", "model-steps/s", "ratio"), cells), "",
        f"beta-TCVAE, Burgess network, 64 x 64 x 1, K={LATENTS}, M={BATCH}, {IMAGES} random binary images. The plain "
        "loop ran before and after; the faster one is 1.",
    ])  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", help="default 1,8,32; on a CPU 1,2")
    parser.add_argument("--precision", help="default float32,bf16; on a CPU float32")
    parser.add_argument("--compiled", default="no,yes")
    parser.add_argument("--peers", default="pythae,disent")
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--out", type=Path, default=Path("runs/bench_peers"))
    asked = parser.parse_args()
    device = choose_device(asked.device)
    asked.models = asked.models or ("1,2" if device.type == "cpu" else "1,8,32")
    asked.precision = asked.precision or ("float32" if device.type == "cpu" else "float32,bf16")
    binary = np.random.default_rng(0).random((IMAGES, 1, SIDE, SIDE), dtype=np.float32) < 0.05
    images = torch.tensor(binary, dtype=torch.float32)
    plain = partial(users_loop, images, asked.seconds, device)
    words = "one model, DataLoader, .item() every step"
    rows = [tried("plain PyTorch", words, plain)]
    trainers = {"pythae": pythae_trainer, "disent": disent_trainer}
    for peer in filter(None, asked.peers.split(",")):
        what = f"one model, its own trainer, {version_of(peer)}"
        rows.append(tried(peer, what, partial(quietly, partial(trainers[peer], images, asked.seconds, device))))
    x = torch.tensor(binary, dtype=torch.uint8, device=device)
    eager = "one model, eager, data on the device, fused Adam"
    rows.append(tried("plain PyTorch, tuned", eager, lambda: rate(plain_loop(x), asked.seconds, device)))
    rows += partita_rows(x, asked, device)
    rows.append(tried("plain PyTorch", f"{words}, again", plain))
    made = about(device)
    keep(asked.out, "peers", report(rows, made), {"about": made, "rows": rows})


if __name__ == "__main__":
    main()
