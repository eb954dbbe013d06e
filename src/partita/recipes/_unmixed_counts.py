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
from partita.recipes.unmixed import Taught, at_random, order_of_groups, put, why_not

HALF = 0.5  # a count, added before the logarithm
DRAWS = 500  # of the noise of a feature
ROWS_REGRESSED = 5000
RIDGE = 1e-3
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
        if why := why_not(x, self.latents):
            return at_random(why, self.latents, self.groups)
        logs = logs_of_rates(x, expected)
        sizes = None if self.groups is None else tuple(map(len, self.groups))
        curves = self.network == "nearly_linear"
        found = unmixed(logs, self.latents, sizes, bends=False, curves=curves, seed=seed)
        order, groups = order_of_groups(found.groups, self.groups)
        words = f"start: logarithms of rates are unmixed; groups of {', '.join(str(len(g)) for g in groups)}"
        if found.surface is not None:
            write = Taught(found.codes(logs)[:, order])
            words = words.replace("unmixed", "unmixed on a curved surface")
            return Started(0, None, write, words)
        base = found.principal
        loading = base.axes.T * base.signal @ found.rotation[:, order]
        inverse = np.linalg.inv(loading.T @ loading + base.noise * np.eye(self.latents))
        codes = (logs - base.mean) @ loading @ inverse
        return Started(0, groups if self.groups is None else None, _Rates(codes, self.network), words)


def logs_of_rates(x: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """log(x + 1/2), of counts that a row of average exposure would have, in units of each feature's own Poisson noise:
    so rare features do not count for more than they say."""
    average = expected.mean(0)
    drawn = np.random.default_rng(0).poisson(average, (DRAWS, len(average)))
    noise = np.maximum(np.log(drawn + HALF).std(0), LEAST)
    return np.log(x * (average / expected) + HALF) / noise


@dataclass(frozen=True)
class _Rates:
    """Writes into the encoder what comes nearest to these codes (n, K) of the rows, and into the decoder how rates
    follow it."""

    codes: np.ndarray
    network: str

    def __call__(self, networks: Mapping[str, nn.Module], x: Tensor, expected: Tensor | None = None) -> None:
        latents, some = self.codes.shape[1], slice(0, ROWS_REGRESSED)
        expected = torch.ones_like(x) if expected is None else expected.expand_as(x)
        counts, told = double(x[some]), double(expected[some])
        encoder, decoder = cast(Any, networks["encoder"]), cast(Any, networks["decoder"])
        read, offset = _ridge(double(encoder.shown(x[some] / expected[some])), self.codes[some])
        linear = self.network == "linear"
        enter = encoder.makes_code if linear else encoder.body[1]
        bent = 0 if linear else enter.out_features - latents  # units that begin without a part
        put(enter, read, offset, first=bent)
        if not linear:
            put(encoder.makes_code, np.concatenate([np.zeros((latents, bent)), np.eye(latents)], 1), np.zeros(latents))
        codes = double(encoder(x[some], None, None, expected[some]).mean)
        effects = poisson_regression(counts, np.concatenate([codes, np.ones((len(codes), 1))], 1), told)
        slopes, offset = effects[:-1].T, effects[-1]
        if linear:
            put(decoder.reads_code, slopes, offset)
        else:
            put(decoder.reads_code, np.eye(latents), np.zeros(latents), first=bent)
            put(decoder.body[2], np.concatenate([np.zeros((len(slopes), bent)), slopes], 1), offset)
        set_widths(networks, x, expected)


def _ridge(features: np.ndarray, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weights (K, D) and offsets (K,) by which features (n, D) come nearest to targets (n, K)."""
    mean, spread = features.mean(0), np.maximum(features.std(0), LEAST)
    unit, wanted = (features - mean) / spread, targets - targets.mean(0)
    rows, columns = unit.shape
    ridge = RIDGE * rows
    if columns <= rows:
        solved = np.linalg.solve(unit.T @ unit + ridge * np.eye(columns), unit.T @ wanted)
    else:
        solved = unit.T @ np.linalg.solve(unit @ unit.T + ridge * np.eye(rows), wanted)
    weights = (solved / spread[:, None]).T
    return weights, targets.mean(0) - weights @ mean
