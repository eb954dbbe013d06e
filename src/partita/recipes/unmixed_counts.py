"""The same start for counts: unmixed in logarithms of rates, and a Poisson regression for a decoder."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn

from partita.distributions import Groups
from partita.measures._rates import poisson_regression
from partita.recipes.closed_form import double, set_widths
from partita.recipes.program import Started
from partita.recipes.unmixed import at_random, order_of_groups, put, why_not

DRAWS = 500  # of the noise of a feature
ROWS_REGRESSED = 4000
LEAST = 1e-3  # of a feature's noise: what is next to never seen has no weight, and not an infinite one


@dataclass(frozen=True)
class UnmixedCounts:
    """Where counts say that a model of so many latents starts. `groups` as given, or None: they are found too."""

    latents: int
    groups: Groups | None
    network: str

    def __call__(self, x: np.ndarray, seed: int, expected: Any = 1.0) -> Started:
        """`expected` are the counts (n, D) before anything is known of the latents."""
        from partita.structure.unmixed import unmixed  # keeps scikit-learn out of start-up

        expected = np.broadcast_to(expected, x.shape)
        shown = np.log1p(x / expected)
        if why := why_not(shown, self.latents):
            return at_random(why, self.latents, self.groups)
        unit = noise_of_logs(expected.mean(0))
        sizes = None if self.groups is None else tuple(map(len, self.groups))
        found = unmixed(shown / unit, self.latents, sizes, bends=False, seed=seed)
        order, groups = order_of_groups(found.groups, self.groups)
        words = f"start: logarithms of rates are unmixed; groups of {', '.join(str(len(g)) for g in groups)}"
        return Started(0, groups if self.groups is None else None, _Rates(found, order, unit, self.network), words)


def noise_of_logs(expected: np.ndarray) -> np.ndarray:
    """Standard deviations (D,) of log(1 + x / m) for Poisson counts x of means m: in these units the noise of all
    features is alike, and rare ones do not count for more than they say."""
    drawn = np.random.default_rng(0).poisson(expected, (DRAWS, len(expected)))
    return np.maximum(np.log1p(drawn / expected).std(0), LEAST)


@dataclass(frozen=True)
class _Rates:
    """Writes the linear model of logarithms into the encoder, and into the decoder how rates follow its codes."""

    found: Any
    order: list[int]
    unit: np.ndarray
    network: str

    def __call__(self, networks: Mapping[str, nn.Module], x: Tensor, expected: Tensor | None = None) -> None:
        base, latents = self.found.principal, len(self.order)
        expected = torch.ones_like(x) if expected is None else expected.expand_as(x)
        loading = base.axes.T * base.signal @ self.found.rotation[:, self.order]
        unmix = np.linalg.solve(loading.T @ loading + base.noise * np.eye(latents), loading.T)
        encoder, decoder = cast(Any, networks["encoder"]), cast(Any, networks["decoder"])
        linear = self.network == "linear"
        into, onward = (encoder.makes_code, None) if linear else (encoder.body[1], encoder.makes_code)
        bent = 0 if linear else into.out_features - latents  # units that begin without a part in the codes
        put(into, unmix / self.unit, -unmix @ base.mean, first=bent)
        if onward is not None:
            put(onward, np.concatenate([np.zeros((latents, bent)), np.eye(latents)], 1), np.zeros(latents))
        some = slice(0, ROWS_REGRESSED)
        codes = double(encoder(x[some], None, None, expected[some]).mean)
        design = np.concatenate([codes, np.ones((len(codes), 1))], 1)
        effects = poisson_regression(double(x[some]), design, double(expected[some]))
        slopes, offset = effects[:-1].T, effects[-1]
        if linear:
            put(decoder.reads_code, slopes, offset)
        else:
            put(decoder.reads_code, np.eye(latents), np.zeros(latents), first=bent)
            put(decoder.body[2], np.concatenate([np.zeros((len(slopes), bent)), slopes], 1), offset)
        set_widths(networks, x, expected)
