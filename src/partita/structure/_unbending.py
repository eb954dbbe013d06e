"""Coordinates unbent: z = y R + h(y), h a small network, such that groups of z are independent and z is a density of y.

Maximum likelihood with log p(y) = sum_g log p_g(z_g) + log |det dz/dy|, each p_g a mixture of Gaussians. h starts at 0, so a
fit starts at the linear unmixing R and bends it only as far as rows held out gain by it. Several starts, with groups of
the same sizes, are fitted side by side.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from partita.distributions import Groups

import os
HIDDEN = int(os.environ.get("HID","64"))
STEPS, LOOK_EVERY, PATIENCE = 800, 50, 5
BATCH = int(os.environ.get("BATCHS","256"))
RATE, DECAY = 2e-3, 1e-3
HELD_OUT = 0.2
COMPONENTS = {1: 12, 2: 24}  # of a mixture; of larger groups as of two
ROWS_A_COMPONENT = 40
ROWS_FOR_MIXTURES = 3000
LARGEST_GRADIENT = 5.0


@dataclass(frozen=True)
class Start:
    """An unmixing (K, K), z = y @ rotation, and groups of its coordinates."""

    rotation: np.ndarray
    groups: Groups


@dataclass(frozen=True)
class Unbent:
    """What became of a start: `codes(y)` unbends rows, `likelihood` is the mean log-density of the rows held out, nats."""

    start: Start
    codes: Callable[[np.ndarray], np.ndarray]
    likelihood: float
    linear_likelihood: float  # of the start itself


def held_out_rows(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Rows to fit on and rows to judge by."""
    order = np.random.default_rng([seed, n]).permutation(n)
    cut = int(n * HELD_OUT)
    return order[cut:], order[:cut]


def unbend(y: np.ndarray, starts: Sequence[Start], seed: int = 0, steps: int = STEPS) -> list[Unbent]:
    """Each start fitted to white coordinates y (n, K). The sizes of groups, in their order, are the same for all."""
    rows, judging = held_out_rows(len(y), seed)
    orders = [[k for group in start.groups for k in group] for start in starts]
    rotations = np.stack([start.rotation[:, order] for start, order in zip(starts, orders)])
    sizes = [len(group) for group in starts[0].groups]
    flow = _Flow(rotations, sizes, y[rows], seed)
    fitted, held = _tensor(y[rows]), _tensor(y[judging])
    optimiser = torch.optim.AdamW(
        [{"params": flow.network, "weight_decay": DECAY}, {"params": flow.mixtures, "weight_decay": 0.0}], lr=RATE
    )
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps, eta_min=RATE / 20)
    generator = torch.Generator().manual_seed(seed)
    best = torch.full((len(starts),), -math.inf)
    kept = [p.detach().clone() for p in flow.network]
    first, worse = best.clone(), 0
    for step in range(steps + 1):
        if step % LOOK_EVERY == 0:
            with torch.no_grad():
                now = flow.log_density(held).mean(1)
            first = now if step == 0 else first
            better = now > best + 1e-4
            for place, p in zip(kept, flow.network):
                place[better] = p.detach()[better]
            best = torch.maximum(best, torch.nan_to_num(now, nan=-math.inf))
            worse = 0 if bool(better.any()) else worse + 1
            if worse >= PATIENCE or step == steps:
                break
        batch = fitted[torch.randint(len(fitted), (BATCH,), generator=generator)]
        loss = -flow.log_density(batch).mean(1).sum()
        optimiser.zero_grad()
        loss.backward()
        _clip(flow.network, len(starts))
        optimiser.step()
        schedule.step()
    back = [np.argsort(order) for order in orders]
    return [
        Unbent(start, _Codes([p[c] for p in kept], back[c]), float(best[c]), float(first[c]))
        for c, start in enumerate(starts)
    ]


class _Flow:
    """The network and the mixtures of several starts, each parameter with a leading axis of starts."""

    def __init__(self, rotations: np.ndarray, sizes: Sequence[int], y: np.ndarray, seed: int):
        count, latents = rotations.shape[:2]
        generator = torch.Generator().manual_seed(seed)

        def drawn(*shape: int) -> Tensor:
            return (torch.rand(count, *shape, generator=generator) * 2 - 1) / math.sqrt(shape[-1])

        self.one = os.environ.get("ONE") == "1"
        enter, inner = drawn(HIDDEN, latents), drawn(HIDDEN, HIDDEN)
        zeros = [torch.zeros(count, HIDDEN), torch.zeros(count, HIDDEN), torch.zeros(count, latents, HIDDEN)]
        network = [_tensor(rotations), enter, zeros[0], inner, zeros[1], zeros[2], torch.zeros(count, latents)]
        self.network = [p.requires_grad_() for p in network]
        self.ends = np.cumsum(sizes)
        self.blocks = [range(end - size, end) for size, end in zip(sizes, self.ends)]
        some = y[np.random.default_rng(seed).permutation(len(y))[:ROWS_FOR_MIXTURES]]
        self.priors = []
        for block in self.blocks:
            parts = [_mixture((some @ rotation)[:, list(block)], seed) for rotation in rotations]
            self.priors.append([torch.stack(part).requires_grad_() for part in zip(*parts)])
        self.mixtures = [p for prior in self.priors for p in prior]

    def log_density(self, y: Tensor) -> Tensor:
        """(starts, rows)."""
        z, slope = _bent(self.network, y)
        total = torch.linalg.slogdet(slope)[1]
        for block, (logits, centre, diagonal, lower) in zip(self.blocks, self.priors):
            steep = diagonal.clamp(max=4.0)
            factor = torch.tril(lower, -1) + torch.diag_embed(torch.exp(steep))
            off = z[:, :, None, block.start : block.stop] - centre[:, None]
            off = torch.einsum("cmij,cbmj->cbmi", factor, off)
            log_p = torch.log_softmax(logits, -1)[:, None] - 0.5 * off.square().sum(-1) + steep.sum(-1)[:, None]
            total = total + torch.logsumexp(log_p, -1) - 0.5 * len(block) * math.log(2 * math.pi)
        return total


def _bent(network: Sequence[Tensor], y: Tensor, slope: bool = True) -> tuple[Tensor, Tensor]:
    """z (starts, rows, K) and dz/dy (starts, rows, K, K)."""
    rotation, enter, offset, inner, middle, leave, shift = network
    u = torch.tanh(y @ enter.mT + offset[:, None])
    if os.environ.get("ONE") == "1":
        z = y @ rotation + u @ leave.mT + shift[:, None]
        if not slope:
            return z, z
        return z, torch.einsum("ckh,cbh,chj->cbkj", leave, 1 - u.square(), enter) + rotation.mT[:, None]
    v = torch.tanh(u @ inner.mT + middle[:, None])
    z = y @ rotation + v @ leave.mT + shift[:, None]
    if not slope:
        return z, z
    through = (1 - u.square())[..., None] * enter[:, None]
    through = (1 - v.square())[..., None] * (inner[:, None] @ through)
    return z, leave[:, None] @ through + rotation.mT[:, None]


@dataclass(frozen=True)
class _Codes:
    """Rows unbent by one start's network, its coordinates in the start's own order."""

    network: list[Tensor]
    back: np.ndarray

    def __call__(self, y: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            z = _bent([p[None] for p in self.network], _tensor(y), slope=False)[0][0]
        return z.double().numpy()[:, self.back]


def _mixture(z: np.ndarray, seed: int) -> list[Tensor]:
    """Logits, centres, log-diagonals and lower factors of the precisions of a mixture fitted by EM."""
    from sklearn.mixture import GaussianMixture

    count = max(1, min(COMPONENTS.get(z.shape[1], COMPONENTS[2]), len(z) // ROWS_A_COMPONENT))
    found = GaussianMixture(count, random_state=seed, reg_covar=2e-3, max_iter=30, tol=1e-2, init_params="k-means++")
    found.fit(z)
    factor = np.swapaxes(found.precisions_cholesky_, 1, 2)
    diagonal = np.log(np.diagonal(factor, axis1=1, axis2=2))
    return [_tensor(p) for p in (np.log(found.weights_ + 1e-6), found.means_, diagonal, np.tril(factor, -1))]


def _clip(parameters: Sequence[Tensor], count: int) -> None:
    """Each start's gradient by itself."""
    gradients = [p.grad for p in parameters if p.grad is not None]
    norm = torch.stack([g.reshape(count, -1).norm(dim=1) for g in gradients]).norm(dim=0)
    factor = (LARGEST_GRADIENT / norm.clamp(min=1e-12)).clamp(max=1.0)
    for g in gradients:
        g.mul_(factor.reshape(-1, *[1] * (g.dim() - 1)))


def _tensor(values: np.ndarray) -> Tensor:
    return torch.tensor(np.ascontiguousarray(values), dtype=torch.float32)
