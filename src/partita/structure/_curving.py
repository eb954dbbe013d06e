"""Rows on a curved surface: coordinates on it by a small autoencoder, where principal ones would cut through it.

A ring of tuning curves, say, takes many principal components and two numbers. Whether rows are curved is asked first,
without training: kernels predict what lies off the plane of the principal components from the coordinates on it, and
what of that other rows confirm is curvature.
"""

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

CURVED = 0.9  # share of what lies off the plane that kernels leave, below which rows are curved; of flat ones, 1
KERNEL_WIDTHS, RIDGE = (4.0, 2.0), 0.1  # widths in deviations of a coordinate, times the root of their number
ROWS_LOOKED_AT, STRETCHES = 3000, 20  # stretches of rows in turn are fitted and judged: neighbours in time are alike
HIDDEN, MODELS = 64, 6
STEPS, LOOK_EVERY, BATCH = 1500, 150, 256
RATE, DECAY, LARGEST_GRADIENT = 2e-3, 1e-4, 5.0
HELD_OUT = 5  # of so many stretches, one


@dataclass(frozen=True)
class Surface:
    """Coordinates of rows on a curved surface: h = tanh(layer(tanh(layer(x)))), and the last layer of that."""

    mean: np.ndarray
    unit: float
    layers: tuple[tuple[np.ndarray, np.ndarray], ...]  # weights (inputs, outputs) and offsets

    def __call__(self, x: np.ndarray) -> np.ndarray:
        found = (x - self.mean) / self.unit
        for number, (weight, offset) in enumerate(self.layers):
            found = found @ weight + offset
            found = np.tanh(found) if number < len(self.layers) - 1 else found
        return found


def curvature(x: np.ndarray, latents: int) -> float:
    """The share of what lies off the plane of so many principal components that kernels of the coordinates on it leave
    unexplained, of rows they were not fitted to: about 1 for flat rows, however they are bent inside the plane."""
    from sklearn.decomposition import PCA
    from sklearn.kernel_ridge import KernelRidge

    if latents >= x.shape[1]:
        return 1.0
    rows = np.sort(np.random.default_rng(0).permutation(len(x))[:ROWS_LOOKED_AT])
    fitted = _stretches(len(rows)) % 2 == 0
    plane = PCA(latents, random_state=0).fit(x[rows[fitted]])
    scores = plane.transform(x[rows])
    off = x[rows] - plane.inverse_transform(scores)
    known = scores / np.sqrt(np.maximum(plane.explained_variance_, 1e-6 * plane.explained_variance_[0]))
    whole = np.square(off[~fitted]).sum()
    if whole <= 1e-9 * np.square(x[rows] - plane.mean_).sum():
        return 1.0
    left = []
    for width in KERNEL_WIDTHS:
        curve = KernelRidge(alpha=RIDGE, kernel="rbf", gamma=1 / (2 * latents * width**2))  # type: ignore[arg-type]
        curve.fit(known[fitted], off[fitted])
        left.append(np.square(off[~fitted] - curve.predict(known[~fitted])).sum())
    return float(min(left) / whole)


def surfaces_of(x: np.ndarray, latents: int, seed: int = 0) -> list[Surface]:
    """The encoders of small variational autoencoders of rows (n, D), which differ in where they began: weights as they
    were when rows held out had the best bound, and the best of these first."""
    mean, unit = x.mean(0), float(x.std()) or 1.0
    held = _stretches(len(x)) % HELD_OUT == HELD_OUT - 1
    seen = torch.tensor((x - mean) / unit, dtype=torch.float32)
    fitted, judged = seen[torch.as_tensor(~held)], seen[torch.as_tensor(held)]
    generator = torch.Generator().manual_seed(seed)
    widths = (x.shape[1], HIDDEN, HIDDEN)
    layers = [_layer(a, b, generator) for a, b in zip(widths, (HIDDEN, HIDDEN, 2 * latents))]
    layers += [_layer(a, b, generator) for a, b in zip((latents, HIDDEN, HIDDEN), widths[::-1])]
    log_noise = torch.zeros(MODELS, 1, 1)
    parameters = [p.requires_grad_() for p in (*(p for layer in layers for p in layer), log_noise)]
    optimiser = torch.optim.AdamW(parameters, lr=RATE, weight_decay=DECAY)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, STEPS, eta_min=RATE / 20)
    best, kept = torch.full((MODELS,), -math.inf), [p.detach().clone() for p in parameters[:6]]
    for step in range(1, STEPS + 1):
        batch = fitted[torch.randint(len(fitted), (BATCH,), generator=generator)]
        optimiser.zero_grad()
        (-_bound(layers, log_noise, batch, generator).sum()).backward()
        torch.nn.utils.clip_grad_norm_(parameters, LARGEST_GRADIENT * MODELS)
        optimiser.step()
        schedule.step()
        if step % LOOK_EVERY == 0:
            with torch.no_grad():
                now = torch.nan_to_num(_bound(layers, log_noise, judged, generator), nan=-math.inf)
            better = now > best
            best = torch.where(better, now, best)
            for place, p in zip(kept, parameters):
                place[better] = p.detach()[better]
    kept[4], kept[5] = kept[4][..., :latents], kept[5][..., :latents]  # of the last layer, what makes means
    arrays = [p.double().numpy() for p in kept]
    pairs = list(zip(arrays[::2], arrays[1::2]))
    order = torch.argsort(best, descending=True).tolist()
    return [Surface(mean, unit, tuple((weight[c], offset[c, 0]) for weight, offset in pairs)) for c in order]


def _bound(layers: list[tuple[Tensor, Tensor]], log_noise: Tensor, x: Tensor, generator: torch.Generator) -> Tensor:
    """The mean ELBO of each model, nats a row, with one draw."""
    numbers = _through(layers[:3], x.expand(MODELS, *x.shape))
    mean, log_variance = numbers.chunk(2, -1)
    noise = torch.randn(mean.shape, generator=generator)
    decoded = _through(layers[3:], mean + noise * torch.exp(0.5 * log_variance))
    kl = 0.5 * (mean.square() + log_variance.exp() - log_variance - 1).sum(-1)
    fit = (decoded - x).square() / log_noise.exp() + log_noise + math.log(2 * math.pi)
    return -(0.5 * fit.sum(-1) + kl).mean(-1)


def _through(layers: list[tuple[Tensor, Tensor]], x: Tensor) -> Tensor:
    for weight, offset in layers[:-1]:
        x = torch.tanh(torch.baddbmm(offset, x, weight))
    return torch.baddbmm(layers[-1][1], x, layers[-1][0])


def _layer(inputs: int, outputs: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Weights (models, inputs, outputs) as linear layers begin, and offsets."""
    reach = 1 / math.sqrt(inputs)
    drawn = (torch.rand(MODELS, inputs + 1, outputs, generator=generator) * 2 - 1) * reach
    return drawn[:, :inputs].clone(), drawn[:, inputs:].clone()


def _stretches(n: int) -> np.ndarray:
    """Of each of n rows, the number of the contiguous stretch it lies in."""
    return np.arange(n) * STRETCHES // n
