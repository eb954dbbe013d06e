"""Coordinates unbent: z = y R + h(y), h one layer of tanh units, so that groups of z are independent.

Maximum likelihood: log p(y) = sum_g log p_g(z_g) + log |det dz/dy|, each p_g a mixture of Gaussians. h starts at 0, so
a fit starts at the linear unmixing R and bends it only as far as rows held out gain by it. Several starts, with groups
of the same sizes, are fitted side by side, and the worse half of all but the first is given up twice.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from partita.distributions import Groups

HIDDEN = 64
STEPS, LOOK_EVERY, PATIENCE = 800, 50, 4
HALVED_AT = (150, 300)  # steps after which the better half of the starts goes on
BATCH = 256
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
    """What became of a start: `codes(y)` unbends rows, `likelihood` is the mean log-density of rows held out, nats."""

    start: Start
    codes: "Bend"
    likelihood: float
    linear_likelihood: float  # of the start itself


def held_out_rows(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Rows to fit on and rows to judge by."""
    order = np.random.default_rng([seed, n]).permutation(n)
    cut = int(n * HELD_OUT)
    return order[cut:], order[:cut]


def unbend(y: np.ndarray, starts: Sequence[Start], seed: int = 0, steps: int = STEPS) -> list[Unbent]:
    """The starts that went on to the end, fitted to white coordinates y (n, K): the first one always, then the others,
    the likeliest first. The sizes of groups, in their order, are the same for all."""
    rows, judging = held_out_rows(len(y), seed)
    fitted, held = _tensor(y[rows]), _tensor(y[judging])
    flow = _Flow(starts, y[rows], seed)
    generator = torch.Generator().manual_seed(seed)
    best, worse = flow.looked_at(held), 0
    first = best.clone()
    for step in range(1, steps + 1):
        flow.step(fitted[torch.randint(len(fitted), (BATCH,), generator=generator)], step / steps)
        if step % LOOK_EVERY:
            continue
        now = flow.looked_at(held)
        better = now > best + 1e-4
        flow.keep(better)
        best, worse = torch.where(better, now, best), 0 if bool(better.any()) else worse + 1
        if step in HALVED_AT and len(best) > 1:
            others = torch.argsort(best[1:], descending=True)[: len(best) // 2] + 1
            on = torch.cat([torch.zeros(1, dtype=torch.long), others])
            flow.go_on_with(on)
            best, first = best[on], first[on]
        if worse >= PATIENCE:
            break
    order = [0, *(torch.argsort(best[1:], descending=True) + 1).tolist()]
    return [Unbent(flow.starts[c], flow.codes(c), float(best[c]), float(first[c])) for c in order]


class _Flow:
    """The networks and mixtures of several starts: each parameter has a leading axis of starts, and so has the best
    network so far."""

    def __init__(self, starts: Sequence[Start], y: np.ndarray, seed: int):
        self.starts = list(starts)
        rotations = np.stack([start.rotation[:, _columns(start.groups)] for start in starts])
        count, latents = rotations.shape[:2]
        generator = torch.Generator().manual_seed(seed)
        enter = (torch.rand(count, HIDDEN, latents, generator=generator) * 2 - 1) / math.sqrt(latents)
        leave, offset, shift = (torch.zeros(count, *shape) for shape in ((latents, HIDDEN), (HIDDEN,), (latents,)))
        self.network = [_tensor(rotations), enter, offset, leave, shift]
        ends = np.cumsum([len(group) for group in starts[0].groups])
        self.blocks = [slice(end - len(group), end) for group, end in zip(starts[0].groups, ends.tolist())]
        some = y[np.random.default_rng(seed).permutation(len(y))[:ROWS_FOR_MIXTURES]]
        each = [[_mixture((some @ rotation)[:, block], seed) for rotation in rotations] for block in self.blocks]
        self.mixtures = [torch.stack(part) for parts in each for part in zip(*parts)]
        self.best = [p.clone() for p in self.network]
        self._optimise([])

    def log_density(self, y: Tensor) -> Tensor:
        """(starts, rows)."""
        z, slope = _bent(self.network, y)
        total = torch.linalg.slogdet(slope)[1]
        for number, block in enumerate(self.blocks):
            logits, centre, diagonal, lower = self.mixtures[4 * number : 4 * number + 4]
            steep = diagonal.clamp(max=4.0)
            factor = torch.tril(lower, -1) + torch.diag_embed(torch.exp(steep))
            # (z - centre) times the factor of each component, as one product of matrices
            count, components, size = centre.shape
            flat = factor.reshape(count, components * size, size)
            off = (z[:, :, block] @ flat.mT).reshape(count, -1, components, size)
            off = off - (factor @ centre[..., None])[..., 0][:, None]
            log_p = torch.log_softmax(logits, -1)[:, None] - 0.5 * off.square().sum(-1) + steep.sum(-1)[:, None]
            total = total + torch.logsumexp(log_p, -1) - 0.5 * size * math.log(2 * math.pi)
        return total

    def step(self, batch: Tensor, progress: float) -> None:
        for group in self.optimiser.param_groups:
            group["lr"] = RATE * (0.05 + 0.95 * 0.5 * (1 + math.cos(math.pi * progress)))
        self.optimiser.zero_grad()
        (-self.log_density(batch).mean(1).sum()).backward()
        _clip(self.network, len(self.starts))
        self.optimiser.step()

    def looked_at(self, held: Tensor) -> Tensor:
        with torch.no_grad():
            return torch.nan_to_num(self.log_density(held).mean(1), nan=-math.inf)

    def keep(self, better: Tensor) -> None:
        for place, p in zip(self.best, self.network):
            place[better] = p.detach()[better]

    def go_on_with(self, starts: Tensor) -> None:
        """These alone, with the moments their optimiser has gathered."""
        gathered = [
            {name: value[starts] if value.dim() else value for name, value in self.optimiser.state[p].items()}
            for p in (*self.network, *self.mixtures)
        ]
        self.starts = [self.starts[c] for c in starts.tolist()]
        self.network, self.mixtures, self.best = (
            [p.detach()[starts].clone() for p in parameters] for parameters in (self.network, self.mixtures, self.best)
        )
        self._optimise(gathered)

    def codes(self, start: int) -> "Bend":
        rotation, enter, offset, leave, shift = (p[start].double().numpy() for p in self.best)
        back = np.argsort(_columns(self.starts[start].groups))
        return Bend(rotation[:, back], enter, offset, leave[back], shift[back])

    def _optimise(self, gathered: list[dict[str, Tensor]]) -> None:
        parameters = [p.requires_grad_() for p in (*self.network, *self.mixtures)]
        bending = {"params": self.network, "weight_decay": DECAY}
        self.optimiser = torch.optim.AdamW([bending, {"params": self.mixtures, "weight_decay": 0.0}], lr=RATE)
        for p, moments in zip(parameters, gathered):
            self.optimiser.state[p] = moments


@dataclass(frozen=True)
class Bend:
    """z = y @ rotation + leave @ tanh(enter @ y + offset) + shift, as arrays."""

    rotation: np.ndarray
    enter: np.ndarray
    offset: np.ndarray
    leave: np.ndarray
    shift: np.ndarray

    def __call__(self, y: np.ndarray) -> np.ndarray:
        return y @ self.rotation + np.tanh(y @ self.enter.T + self.offset) @ self.leave.T + self.shift


def _columns(groups: Groups) -> list[int]:
    return [k for group in groups for k in group]


def _bent(network: Sequence[Tensor], y: Tensor) -> tuple[Tensor, Tensor]:
    """z (starts, rows, K) and dz/dy (starts, rows, K, K)."""
    rotation, enter, offset, leave, shift = network
    u = torch.tanh(y @ enter.mT + offset[:, None])
    slope = (leave[:, None] * (1 - u.square())[:, :, None]) @ enter[:, None]
    return y @ rotation + u @ leave.mT + shift[:, None], slope + rotation.mT[:, None]


def _mixture(z: np.ndarray, seed: int) -> list[Tensor]:
    """Logits, centres, log-diagonals and lower factors of the precisions of a mixture fitted by EM."""
    from sklearn.mixture import GaussianMixture

    count = max(1, min(COMPONENTS.get(z.shape[1], COMPONENTS[2]), len(z) // ROWS_A_COMPONENT))
    found = GaussianMixture(count, random_state=seed, reg_covar=2e-3, max_iter=30, tol=1e-2, init_params="k-means++")
    found.fit(z)
    factor = np.swapaxes(found.precisions_cholesky_, 1, 2)
    diagonal = np.log(np.diagonal(factor, axis1=1, axis2=2))
    parts = (np.log(np.asarray(found.weights_) + 1e-6), np.asarray(found.means_), diagonal, np.tril(factor, -1))
    return [_tensor(p) for p in parts]


def _clip(parameters: Sequence[Tensor], count: int) -> None:
    """Each start's gradient by itself."""
    gradients = [p.grad for p in parameters if p.grad is not None]
    norm = torch.stack([g.reshape(count, -1).norm(dim=1) for g in gradients]).norm(dim=0)
    factor = (LARGEST_GRADIENT / norm.clamp(min=1e-12)).clamp(max=1.0)
    for g in gradients:
        g.mul_(factor.reshape(-1, *[1] * (g.dim() - 1)))


def _tensor(values: np.ndarray) -> Tensor:
    return torch.tensor(np.ascontiguousarray(values), dtype=torch.float32)
