"""A start from the rows themselves: their coordinates are unmixed, grouped and, where they are bent, unbent; the model
the user asked for is written down there and trained on.

With groups fixed from a random start the PC objective has local optima that few runs leave, and networks that bend
freely find wrong groups that explain the rows they are trained on as well. `structure.unmixed` finds groups from the
rows without a model, judged by rows held out, in seconds.
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn

from partita.distributions import Groups, as_groups, as_likelihood
from partita.recipes.closed_form import double, set_widths
from partita.recipes.program import Candidate, Phase, Program, Started
from partita.recipes.recipe import Recipe
from partita.recipes.restarts import order_of

log = logging.getLogger("partita")

# The network of a candidate: that of a linear start first.
NETWORKS = ("linear", "nearly_linear")
RIDGE = 1e-3
TAUGHT_STEPS, TAUGHT_BATCH, TAUGHT_RATE = 1000, 256, 3e-3


def starting_unmixed(make: Callable[..., Any], options: Mapping[str, Any]) -> Program:
    """The program of a method `make(groups=, network=, ...)` that starts where the rows are unmixed. With network
    "auto" a linear one is trained, or one that bends where the rows are bent."""
    network = options.get("network", "auto")
    if network not in ("auto", *NETWORKS):
        raise ValueError(f'start="unmixed" needs network "auto" or one of {", ".join(NETWORKS)}, got {network!r}')
    counts = as_likelihood(options.get("likelihood", "gaussian")).counts
    chosen = (network,) if network != "auto" else NETWORKS[1:] if counts else NETWORKS
    given = options.get("groups")
    candidates = []
    for name in chosen:
        own = dict(options) | {"network": name}
        recipe: Any = make(**own) if given != "auto" else lambda found, own=own: make(**own | {"groups": found})
        if isinstance(recipe, Program):
            raise ValueError('start="unmixed" is for methods that are one recipe, and this one is a program of its own')
        candidates.append(Candidate((Phase(recipe),)))
    first = candidates[0].recipe
    _check(first)
    groups = None if given == "auto" else first.groups
    if counts:
        from partita.recipes._unmixed_counts import UnmixedCounts

        return Program(tuple(candidates), start=UnmixedCounts(first.architecture.latents, groups, chosen[0]))
    return Program(tuple(candidates), start=UnmixedStart(first.architecture.latents, groups, chosen))


def _check(recipe: Recipe) -> None:
    house = recipe.architecture
    if len(house.shape) != 1 or house.posterior != "diagonal" or house.labels:
        raise ValueError('start="unmixed" is for rows of numbers without labels and for posterior="diagonal"')
    if not starts_from(house.likelihood):
        words = f"a Gaussian likelihood or counts, got {as_likelihood(house.likelihood).name}"
        raise ValueError(f'start="unmixed" is for {words}')


def starts_from(likelihood: Any) -> bool:
    """Whether rows of this likelihood can be unmixed."""
    return isinstance(likelihood, str) and (likelihood.startswith("gaussian") or as_likelihood(likelihood).counts)


@dataclass(frozen=True)
class UnmixedStart:
    """Where rows, as an encoder reads them, say that a model of so many latents starts. `groups` as given, or None:
    they are found too."""

    latents: int
    groups: Groups | None
    networks: tuple[str, ...]

    def __call__(self, x: np.ndarray, seed: int) -> Started:
        from partita.structure.unmixed import Unmixed, unmixed  # keeps scikit-learn out of start-up

        if why := why_not(x, self.latents):
            return at_random(why, self.latents, self.groups)
        sizes = None if self.groups is None else tuple(map(len, self.groups))
        bends = "nearly_linear" in self.networks
        found: Unmixed = unmixed(x, self.latents, sizes, bends=bends, curves=bends, seed=seed)
        order, groups = order_of_groups(found.groups, self.groups)
        bent, curved = found.bend is not None, found.surface is not None
        straight = not (bent or curved)
        network = self.networks[0 if straight else -1]
        kind = _Linear if network == "linear" else _NearlyLinear
        write = Taught(found.codes(x)[:, order]) if curved else kind(found, order)
        how = "on a curved surface" if curved else f"bent, by {found.gain:.2f} nats a row" if bent else "linear"
        words = f"start: the rows are {how}; groups of {', '.join(str(len(g)) for g in groups)}"
        if network == "linear" and len(self.networks) > 1:
            words += '; method "ica" with the same groups finds the same latents in a second'
        return Started(self.networks.index(network), groups if self.groups is None else None, write, words)


def why_not(x: np.ndarray, latents: int) -> str | None:
    """Why rows cannot be unmixed, where that is so."""
    from partita.structure.unmixed import FEWEST_ROWS

    needed = max(FEWEST_ROWS, 3 * latents)
    if len(x) < needed:
        return f"{len(x)} rows are too few to unmix {latents} latents ({needed} are needed)"
    if latents > x.shape[1]:
        return f"rows of {x.shape[1]} numbers are too short to unmix {latents} latents"
    if not np.isfinite(x).all() or not x.std():
        return "rows that are not finite, or all alike, cannot be unmixed"
    return None


def at_random(why: str, latents: int, groups: Groups | None) -> Started:
    """Where a run starts that cannot start unmixed; with groups that were to be found, each latent by itself."""
    found = as_groups(None, latents) if groups is None else None
    alone = "" if groups is not None else ", and each latent is a group of its own"
    log.warning("%s: training starts at random%s", why, alone)
    return Started(0, found, None, f"start: at random, because {why}")


def order_of_groups(found: Groups, asked: Groups | None) -> tuple[list[int], Groups]:
    """Which coordinate becomes latent k; and the groups of latents: those asked for, or the largest first."""
    if asked is not None:
        return order_of(asked, found), asked
    if len(found) == 1 < sum(map(len, found)):
        log.warning("no parts of these rows vary independently, as far as they show: all latents are one group")
    largest = sorted(found, key=lambda group: (-len(group), group))
    return [k for group in largest for k in group], as_groups(tuple(map(len, largest)), sum(map(len, found)))


@dataclass(frozen=True)
class _Linear:
    """Writes the linear Gaussian model down: x = L z + mean, E[z|x] = (L^T L + s^2)^-1 L^T (x - mean)."""

    found: Any
    order: list[int]

    def __call__(self, networks: Mapping[str, nn.Module], x: Tensor) -> None:
        base = self.found.principal
        loading = base.axes.T * base.signal @ self.found.rotation[:, self.order]
        unmix = np.linalg.solve(loading.T @ loading + base.noise * np.eye(loading.shape[1]), loading.T)
        encoder, decoder = networks["encoder"].makes_code, networks["decoder"].reads_code
        put(encoder, unmix, -unmix @ base.mean)
        put(decoder, loading, base.mean)
        variance = getattr(networks["decoder"], "log_variance", None)
        if isinstance(variance, nn.Parameter):  # a learned one
            variance.fill_(np.log(base.noise))
        set_widths(networks, x)


@dataclass(frozen=True)
class _NearlyLinear:
    """Writes the bend into the encoder as it is; the decoder's last layer is fitted to the rows by ridge regression."""

    found: Any
    order: list[int]

    def __call__(self, networks: Mapping[str, nn.Module], x: Tensor) -> None:
        base, bend = self.found.principal, self.found.bend
        whiten = base.axes / np.sqrt(base.variance)[:, None]
        encoder, decoder = cast(Any, networks["encoder"]), cast(Any, networks["decoder"])
        enter, last = encoder.body[1], encoder.makes_code
        read, write = decoder.reads_code, decoder.body[2]
        latents = len(self.order)
        units = enter.out_features - latents
        if bend is None:
            bent, offset = double(enter.weight)[:units, : whiten.shape[1]], double(enter.bias)[:units]
            leave, shift = np.zeros((latents, units)), np.zeros(latents)
            rotation = self.found.rotation
        else:
            bent, offset = bend.enter @ whiten, bend.offset - bend.enter @ whiten @ base.mean
            leave, shift, rotation = bend.leave[self.order], bend.shift[self.order], bend.rotation
        put(enter, np.concatenate([bent, whiten]), np.concatenate([offset, -whiten @ base.mean]))
        put(last, np.concatenate([leave, rotation[:, self.order].T], 1), shift)
        put(read, np.concatenate([double(read.weight)[:units], np.eye(read.in_features)]), None)
        with torch.no_grad():
            z = encoder(x).mean
            beside = z.new_zeros(len(z), read.in_features - latents)  # what covariates explain is off these rows
            units_of = decoder.body[1](read(torch.cat([z, beside], -1)))
        design = np.concatenate([double(units_of), np.ones((len(z), 1))], 1)
        gram = design.T @ design / len(z) + RIDGE * np.eye(design.shape[1])
        solved = np.linalg.solve(gram, design.T @ double(x.flatten(1)) / len(z))
        put(write, solved[:-1].T, solved[-1])
        set_widths(networks, x)


@dataclass(frozen=True)
class Taught:
    """Teaches networks coordinates of the rows (n, K), on a curved surface, which they cannot hold as they are: the
    encoder is fitted to them by least squares, the decoder to the rows by their likelihood."""

    codes: np.ndarray

    def __call__(self, networks: Mapping[str, nn.Module], x: Tensor, expected: Tensor | None = None) -> None:
        encoder, decoder = cast(Any, networks["encoder"]), cast(Any, networks["decoder"])
        scaled = (self.codes - self.codes.mean(0)) / np.maximum(self.codes.std(0), 1e-9)
        z = torch.as_tensor(scaled).to(x)
        generator = torch.Generator().manual_seed(len(x))
        optimiser = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=TAUGHT_RATE)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, TAUGHT_STEPS)
        with torch.enable_grad():
            for _ in range(TAUGHT_STEPS):
                some = torch.randint(len(x), (TAUGHT_BATCH,), generator=generator).to(x.device)
                known = {} if expected is None else {"exposure": expected[some]}
                missed = (encoder(x[some], **known).mean - z[some]).square().sum(1)
                loss = (missed - decoder(z[some], **known).log_prob(x[some])).mean()
                optimiser.zero_grad()
                loss.backward()
                optimiser.step()
                schedule.step()
        set_widths(networks, x, expected)


def put(layer: Any, weight: np.ndarray, bias: np.ndarray | None, *, first: int = 0) -> None:
    """Into the rows of a layer from `first` on: those of an encoder's last are its means. Columns beside these are
    covariates', which begin without a part."""
    rows = slice(first, first + len(weight))
    layer.weight[rows] = 0
    layer.weight[rows, : weight.shape[1]] = torch.as_tensor(weight).to(layer.weight)
    if bias is not None:
        layer.bias[rows] = torch.as_tensor(bias).to(layer.bias)
