"""Coordinates unbent: z = y R + h(y), h one layer of tanh units, so that groups of z are independent.

Maximum likelihood: log p(y) = sum_g log p_g(z_g) + log |det dz/dy|, each p_g a mixture of Gaussians. h starts at 0, so
a fit starts at the linear unmixing R and bends it only as far as rows held out gain by it. Several starts, with groups
of the same sizes, are fitted side by side, and the worse half of all but the first is given up on the way.

That is a density only where no two y have one z: a map that folds the rows in two seems likelier by up to log 2. h is
bounded, so the map is one to one if its determinant vanishes nowhere (Hadamard); a sign that changes between rows, or
where one is on its way to another, is a fold, and counts so much against it that none is kept.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from partita.distributions import Groups
from partita.structure._group_densities import components_of, densities_of, log_density

HIDDEN = 64
STEPS, LOOK_EVERY, PATIENCE = 400, 50, 4
HALVED_AT = (100,)  # steps after which the better half of the starts goes on
BATCH = 256
RATE, LAST_RATE, DECAY = 5e-3, 1e-4, 1e-3
HELD_OUT = 0.2
ROWS_FOR_MIXTURES = 2000
LARGEST_GRADIENT = 5.0
GOLDEN = (5**0.5 - 1) / 2  # multiples of it, less their whole part, fill the way from 0 to 1 evenly
STEEPEST = 3.0  # slope of what enters a unit, a deviation of y: what is steeper folds between rows without being seen
FLAT = 0.01  # determinant below which it is taken on as a straight line, through 0: at 1 a fit starts


@dataclass(frozen=True)
class Bend:
    """z = y @ rotation + leave @ tanh(enter @ y + offset) + shift, as arrays."""

    rotation: np.ndarray
    enter: np.ndarray
    offset: np.ndarray
    leave: np.ndarray
    shift: np.ndarray

    @classmethod
    def straight(cls, rotation: np.ndarray, seed: int = 0) -> "Bend":
        """z = y @ rotation, with units to bend by that say nothing yet."""
        latents = len(rotation)
        enter = np.random.default_rng([seed, latents]).uniform(-1, 1, (HIDDEN, latents)) / math.sqrt(latents)
        return cls(rotation, enter, np.zeros(HIDDEN), np.zeros((latents, HIDDEN)), np.zeros(latents))

    def __call__(self, y: np.ndarray) -> np.ndarray:
        return y @ self.rotation + np.tanh(y @ self.enter.T + self.offset) @ self.leave.T + self.shift

    def log_volume(self, y: np.ndarray) -> np.ndarray:
        """The logarithm of |det dz/dy| at rows y, (n,)."""
        parts = (self.rotation, self.enter, self.offset, self.leave, self.shift)
        _, slope = _bent([torch.tensor(part)[None] for part in parts], torch.tensor(y))
        return torch.linalg.slogdet(slope)[1][0].numpy()

    def mapped(self, matrix: np.ndarray, centre: np.ndarray) -> "Bend":
        """(z - centre) @ matrix, which is such a bend again."""
        return Bend(
            self.rotation @ matrix, self.enter, self.offset, matrix.T @ self.leave, (self.shift - centre) @ matrix
        )


@dataclass(frozen=True)
class Start:
    """Coordinates to begin from, and their groups. Where `bends` is False the coordinates stay, and only the densities
    of groups are fitted; so they do where there is one group, which no bend could make independent of anything."""

    bend: Bend
    groups: Groups
    bends: bool = True

    @property
    def stays(self) -> bool:
        return not self.bends or len(self.groups) == 1


def straight(rotation: np.ndarray, groups: Groups, seed: int = 0, *, bends: bool = True) -> Start:
    """A start from straight coordinates."""
    return Start(Bend.straight(rotation, seed), groups, bends)


@dataclass(frozen=True)
class Unbent:
    """What became of a start: `codes(y)` unbends rows, `likelihood` is the mean log-density of rows held out, nats."""

    start: Start
    codes: Bend
    likelihood: float

    @property
    def on(self) -> Start:
        """A start that goes on from here."""
        return Start(self.codes, self.start.groups)


def held_out_rows(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Rows to fit on and rows to judge by."""
    order = np.random.default_rng([seed, n]).permutation(n)
    cut = int(n * HELD_OUT)
    return order[cut:], order[:cut]


def unbend(
    y: np.ndarray, starts: Sequence[Start], seed: int = 0, steps: int = STEPS, *, settle: bool = True
) -> list[Unbent]:
    """The starts that went on to the end, fitted to white coordinates y (n, K): the first one always, then the others,
    the likeliest first, those that may not bend last. The sizes of groups, in their order, are the same for all. Where
    they need not `settle`, since they will go on, steps stay as large as they are and the better half is chosen on the
    way."""
    rows, judging = held_out_rows(len(y), seed)
    fitted, held = _tensor(y[rows]), _tensor(y[judging])
    flow = _Flow(starts, y[rows], seed)
    generator = torch.Generator().manual_seed(seed)
    best, worse = flow.looked_at(held), 0
    for step in range(1, steps + 1):
        rate = LAST_RATE + (RATE - LAST_RATE) * 0.5 * (1 + math.cos(math.pi * step / steps)) if settle else RATE
        flow.step(fitted[torch.randint(len(fitted), (BATCH,), generator=generator)], rate)
        if step % LOOK_EVERY:
            continue
        now = flow.looked_at(held)
        better = now > best + 1e-4
        flow.keep(better)
        best, worse = torch.where(better, now, best), 0 if bool(better.any()) else worse + 1
        if not settle and step in HALVED_AT and len(best) > 1:
            others = torch.argsort(best[1:], descending=True)[: len(best) // 2] + 1
            on = torch.cat([torch.zeros(1, dtype=torch.long), others])
            flow.go_on_with(on)
            best = best[on]
        if worse >= PATIENCE:
            break
    order = sorted(range(len(best)), key=lambda c: (c > 0, not flow.starts[c].bends, -float(best[c])))
    return [Unbent(flow.starts[c], flow.codes(c), float(best[c])) for c in order]


class _Flow:
    """The networks and mixtures of several starts: each parameter has a leading axis of starts, and so has the best
    network so far."""

    def __init__(self, starts: Sequence[Start], y: np.ndarray, seed: int):
        self.starts = list(starts)
        bends = [_in_order(start) for start in starts]
        parts = ("rotation", "enter", "offset", "leave", "shift")
        self.network = [_tensor(np.stack([getattr(bend, part) for bend in bends])) for part in parts]
        ends = np.cumsum([len(group) for group in starts[0].groups])
        blocks = [slice(end - len(group), end) for group, end in zip(starts[0].groups, ends.tolist())]
        sizes = sorted({*map(len, starts[0].groups)})
        # groups of one size side by side, as if they were of further starts
        self.blocks = [[block for block in blocks if block.stop - block.start == size] for size in sizes]
        some = y[np.random.default_rng(seed).permutation(len(y))[:ROWS_FOR_MIXTURES]]
        codes = _tensor(np.stack([bend(some) for bend in bends]))
        self.mixtures: list[Tensor] = []
        self.places: list[slice] = []  # of the parameters of each size of groups
        for same in self.blocks:
            components = components_of(same[0].stop - same[0].start, len(y))
            found = densities_of(torch.cat([codes[:, :, block] for block in same]), seed, components)
            self.places.append(slice(len(self.mixtures), len(self.mixtures) + len(found)))
            self.mixtures += [part.unflatten(0, (len(same), -1)).transpose(0, 1).contiguous() for part in found]
        self.best = [p.clone() for p in self.network]
        slope = _bent(self.network, _tensor(some))[1]
        self.side = torch.linalg.slogdet(slope)[0].sum(1, keepdim=True).sign()  # that of most rows
        self._optimise([])

    def log_density(self, y: Tensor) -> Tensor:
        """(starts, rows)."""
        z, slope = _bent(self.network, y)
        return self._log_volume(slope) + self._log_mixtures(z)

    def worth(self, y: Tensor) -> Tensor:
        """The mean log-density of rows in random order, less what folds between two of them count, (starts,)."""
        rows, half = len(y), len(y) // 2
        share = (GOLDEN * torch.arange(half, dtype=y.dtype) % 1)[:, None]
        between = y[:half] * share + y[half : 2 * half] * (1 - share)
        z, slope = _bent(self.network, torch.cat([y, between]))
        volume = self._log_volume(slope)
        folds = (volume[:, rows:] - math.log(FLAT)).clamp(max=0).sum(1) / rows
        return (volume[:, :rows] + self._log_mixtures(z[:, :rows])).mean(1) + folds

    def _log_mixtures(self, z: Tensor) -> Tensor:
        """Log-densities of groups, added up, (starts, rows)."""
        total = z.new_zeros(z.shape[:2])
        for same, place in zip(self.blocks, self.places):
            own = torch.stack([z[:, :, block] for block in same], 1).flatten(0, 1)
            density = log_density(own, *(p.flatten(0, 1) for p in self.mixtures[place]))
            total = total + density.unflatten(0, (-1, len(same))).sum(1)
        return total

    def _log_volume(self, slope: Tensor) -> Tensor:
        """The logarithm of determinants on the side of 0 where a start began; below FLAT, where it would plunge, along
        its tangent, so that a row on the other side is drawn back."""
        sign, size = torch.linalg.slogdet(slope)
        sign = self.side * sign
        line = math.log(FLAT) + sign * torch.exp(size) / FLAT - 1
        return torch.where((sign > 0) & (size > math.log(FLAT)), size, line)

    def step(self, batch: Tensor, rate: float) -> None:
        for group in self.optimiser.param_groups:
            group["lr"] = rate
        self.optimiser.zero_grad()
        (-self.worth(batch).sum()).backward()
        _clip(self.network, len(self.starts))
        for p in (*self.network, *self.mixtures):
            assert p.grad is not None
            p.grad = p.grad.contiguous()  # the fused optimiser walks memory, not indices
        self.optimiser.step()
        with torch.no_grad():
            enter = self.network[1]
            enter.mul_((STEEPEST / enter.norm(dim=-1, keepdim=True).clamp(min=1e-9)).clamp(max=1.0))
        fixed = [c for c, start in enumerate(self.starts) if start.stays]
        if fixed:
            with torch.no_grad():
                for p, first in zip(self.network, self.best):
                    p[fixed] = first[fixed]

    def looked_at(self, held: Tensor) -> Tensor:
        with torch.no_grad():
            return torch.nan_to_num(self.worth(held), nan=-math.inf)

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
        self.side = self.side[starts]
        self._optimise(gathered)

    def codes(self, start: int) -> "Bend":
        rotation, enter, offset, leave, shift = (p[start].double().numpy() for p in self.best)
        back = np.argsort(_columns(self.starts[start].groups))
        return Bend(rotation[:, back], enter, offset, leave[back], shift[back])

    def _optimise(self, gathered: list[dict[str, Tensor]]) -> None:
        parameters = [p.requires_grad_() for p in (*self.network, *self.mixtures)]
        bending = {"params": self.network, "weight_decay": DECAY}
        self.optimiser = torch.optim.AdamW(
            [bending, {"params": self.mixtures, "weight_decay": 0.0}], lr=RATE, fused=True
        )
        for p, moments in zip(parameters, gathered):
            self.optimiser.state[p] = moments


def _columns(groups: Groups) -> list[int]:
    return [k for group in groups for k in group]


def _in_order(start: Start) -> Bend:
    """The bend with its coordinates in the order of their groups."""
    latents = len(start.bend.shift)
    return start.bend.mapped(np.eye(latents)[:, _columns(start.groups)], np.zeros(latents))


def _bent(network: Sequence[Tensor], y: Tensor) -> tuple[Tensor, Tensor]:
    """z (starts, rows, K) and dz/dy (starts, rows, K, K)."""
    rotation, enter, offset, leave, shift = network
    u = torch.tanh(y @ enter.mT + offset[:, None])
    count, hidden, latents = enter.shape
    # sum_h leave_kh (1 - u_h^2) enter_hl, as one product of matrices over all rows
    outer = (leave.mT[..., None] * enter[:, :, None]).reshape(count, hidden, latents * latents)
    slope = ((1 - u.square()) @ outer).reshape(count, -1, latents, latents)
    return y @ rotation + u @ leave.mT + shift[:, None], slope + rotation.mT[:, None]


def _clip(parameters: Sequence[Tensor], count: int) -> None:
    """Each start's gradient by itself."""
    gradients = [p.grad for p in parameters if p.grad is not None]
    norm = torch.stack([g.reshape(count, -1).norm(dim=1) for g in gradients]).norm(dim=0)
    factor = (LARGEST_GRADIENT / norm.clamp(min=1e-12)).clamp(max=1.0)
    for g in gradients:
        g.mul_(factor.reshape(-1, *[1] * (g.dim() - 1)))


def _tensor(values: np.ndarray) -> Tensor:
    return torch.tensor(np.ascontiguousarray(values), dtype=torch.float32)
