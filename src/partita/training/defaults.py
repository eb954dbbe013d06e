"""What to do with an array when its owner said nothing."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from numbers import Integral
from typing import Any

import numpy as np

from partita.data._some_rows import ROWS_LOOKED_AT, spread_rows
from partita.distributions import LIKELIHOODS, Likelihood, as_likelihood
from partita.networks.bodies import takes
from partita.training.scale import Scale, choose_scale, measure_scale, rows_to_measure

NUMBERS_LOOKED_AT = 1 << 22
LINEAR_GAUSSIAN = ("pca", "ica")  # methods that are, whatever likelihood is asked for
FEWEST_ROWS = 50  # in each half
# Widths of kernels, in standard deviations of a coordinate times the root of their number.
KERNEL_WIDTHS = (4.0, 2.0, 1.0, 0.7)
RIDGE = 0.1
HIDDEN = (256, 256)  # widths of the hidden layers of "mlp"
# Rows held out where nobody says how many, and of how many; and what of the mean square difference of two rows is less
# between neighbours of a series in time.
HELD_OUT, FEWEST_TO_HOLD_OUT, NEIGHBOURLY = 0.1, 100, 0.7
# Of the variance, and by itself: where noise is less, the likelihood would be too steep to begin with.
LEAST_SHARE, LEAST = 1e-3, 1e-8


def choose_network(shape: Sequence[int], likelihood: str | Likelihood = "gaussian") -> tuple[str, str]:
    """The network for observations of this shape, and why."""
    shape = tuple(shape)
    if len(shape) == 1 and as_likelihood(likelihood).counts:
        return "nearly_linear", "logarithms of rates are nearly linear in their causes: gains multiply, and some bend"
    if takes("burgess", shape) and shape[0] in (1, 3):
        return "burgess", "images of 32 or 64 pixels get the convolutions of Burgess et al. 2018"
    if takes("conv", shape):
        return "conv", "images get convolutions, as many as their size allows"
    return "mlp", "vectors, and images of fewer than 16 or more than 256 pixels, get fully connected layers"


def network_asked(network: Any, hidden: Sequence[int]) -> Any:
    """The network where hidden layers of these widths are asked for, which "mlp" alone has; ValueError where another
    is."""
    if tuple(hidden) == HIDDEN or (isinstance(network, str) and network == "mlp"):
        return network
    if not isinstance(network, str) or network != "auto":
        name = network if isinstance(network, str) else "your own"
        raise ValueError(f"hidden is for network 'mlp', and the network is {name!r}: leave hidden out")
    return "mlp"


def widths(hidden: Any) -> tuple[int, ...]:
    """Widths of hidden layers, from one number or several; ValueError where they are none."""
    found = (hidden,) if isinstance(hidden, Integral) else hidden
    whole = isinstance(found, Sequence | np.ndarray) and not isinstance(found, str)
    if not whole or not len(found) or not all(isinstance(each, Integral) and int(each) >= 1 for each in found):
        raise ValueError(f"hidden must be widths of layers such as (256, 256), got {hidden!r}")
    return tuple(int(each) for each in found)


def choose_validation(x: Any) -> tuple[float | str | None, str]:
    """Which rows to hold out, and why: a tenth, in stretches where neighbours resemble each other; none of few."""
    if len(x) < FEWEST_TO_HOLD_OUT:
        return None, f"{len(x)} rows are too few to hold some out"
    last = min(len(x), ROWS_LOOKED_AT)
    rows = np.nan_to_num(np.asarray(x[:last], np.float64).reshape(last, -1))
    apart = np.square(rows - np.random.default_rng(0).permutation(rows)).mean()
    if np.square(np.diff(rows, axis=0)).mean() < NEIGHBOURLY * apart:
        return f"blocks:{HELD_OUT:g}", "a tenth of the rows, in stretches: neighbours resemble each other"
    return HELD_OUT, "a tenth of the rows, drawn at random"


@dataclass(frozen=True)
class Chosen:
    """How data are seen: a likelihood, the scale of the observations, and why, each in words."""

    likelihood: str | Likelihood
    why: str
    scale: Scale
    why_scale: str


def choose_likelihood(x: np.ndarray, x_scale: float, latents: int) -> tuple[str, str]:
    """The likelihood for these observations as they are, and why."""
    chosen = choose_seen(x, x_scale, latents, scale="none")
    assert isinstance(chosen.likelihood, str)
    return chosen.likelihood, chosen.why


def choose_seen(
    x: Any,
    x_scale: float,
    latents: int,
    likelihood: str | Likelihood = "auto",
    scale: str = "auto",
) -> Chosen:
    """Likelihood and scale of these observations, of which so many latents explain a part."""
    chosen = choose_units(x, x_scale, likelihood, scale)
    return with_noise(chosen, x, x_scale, latents) if likelihood == "auto" else chosen


def choose_units(
    x: Any, x_scale: float, likelihood: str | Likelihood, scale: str, exposure: np.ndarray | None = None
) -> Chosen:
    """The same without a Gaussian's variance. Where the likelihood is "auto", the first of `LIKELIHOODS` that takes
    such data unasked."""
    rows, why = _some_rows(x, x_scale), "as asked"
    if isinstance(likelihood, str) and likelihood == "auto":
        family, why = next((each, why) for each in LIKELIHOODS.values() if (why := each.unasked(rows)))
        likelihood = family.name
    family = as_likelihood(likelihood)
    if (scale != "none" or exposure is not None) and (family.counts or family.unitless or scale != "auto"):
        rows = rows_to_measure(x, x_scale)
    name, why_scale = choose_scale(scale, family, rows)
    if exposure is not None and len(exposure) != len(rows):
        exposure = exposure[spread_rows(len(exposure), len(rows))]
    return Chosen(likelihood, why, measure_scale(name, family, rows, exposure), why_scale)


def with_noise(chosen: Chosen, x: Any, x_scale: float, latents: int) -> Chosen:
    """For vectors, a likelihood with the variance that so many latents leave unexplained, in the units of the scale (of
    logarithms, for counts), where its family has such a variant and the rows can tell."""
    family = as_likelihood(chosen.likelihood)
    noise = None
    if x.ndim == 2 and family.of_noise is not None:
        rows = chosen.scale.shown(family, _some_rows(x, x_scale))
        noise = unexplained(rows, latents) if family.counts else noise_variance(rows, latents)
    if noise is None or family.of_noise is None:
        return chosen
    why = chosen.why.replace("one learned variance", "the variance that latents cannot explain")
    return replace(chosen, likelihood=family.of_noise(noise), why=why)


def _some_rows(x: Any, x_scale: float) -> np.ndarray:
    return (_shuffled_rows(x) if x.ndim == 2 else np.asarray(x[:ROWS_LOOKED_AT], np.float64)) * x_scale


def check_likelihood(likelihood: str | Likelihood, x: Any, x_scale: float) -> None:
    """ValueError where the likelihood is no density of such data, as far as a few million of their numbers show."""
    family = as_likelihood(likelihood)
    if family.suits is not None:
        most = max(ROWS_LOOKED_AT, NUMBERS_LOOKED_AT // prod(x.shape[1:]))
        rows = spread_rows(len(x), most)
        family.check(np.asarray(x[rows], np.float64) * x_scale, rows)


def choose_latents(x: np.ndarray) -> tuple[int, str]:
    """How many latents rows of numbers have, and why: as many as they have `structure._principal.signals_of`."""
    from partita.structure._principal import signals_of  # keeps scikit-learn out of start-up

    if x.ndim != 2:
        raise ValueError(f'latents="auto" is for rows of numbers, and observations here have shape {x.shape[1:]}')
    centred = np.asarray(x, np.float64) - x.mean(0)
    found = signals_of(np.linalg.eigvalsh(centred.T @ centred / len(x))[::-1], len(x))
    return found, "as many as probabilistic PCA explains the rows best with, by BIC"


def noise_variance(x: np.ndarray, latents: int) -> float | None:
    """What so many latents leave `unexplained`; None where that is next to nothing, or x cannot tell."""
    noise = unexplained(x, latents)
    if noise is None:
        return None
    return noise if noise > max(LEAST_SHARE * float(x[: len(x) // 2].var(0).mean()), LEAST) else None


def unexplained(x: np.ndarray, latents: int) -> float | None:
    """What is left of a feature's variance when so many coordinates of its row are known; None where x cannot tell.

    The coordinates are principal ones of half of the rows. Of the other half they leave what lies off their plane, less
    what kernel ridge regression predicts of that from the coordinates, lest curvature count as noise. A variance that
    is learned by a large network instead shrinks with all it remembers, and with it the weight of KL and PC. Too small
    where rows repeat, or noise lasts over several: held-out rows then are not new.
    """
    from sklearn.decomposition import PCA
    from sklearn.kernel_ridge import KernelRidge

    half, features = len(x) // 2, x.shape[1]
    if not isinstance(latents, Integral) or not 1 <= latents < features or half < max(FEWEST_ROWS, 2 * latents):
        return None
    spread = x[:half].var(0).mean() if np.isfinite(x).all() else 0.0
    if not spread:
        return None
    plane = PCA(latents, random_state=0).fit(x[:half])
    scores = plane.transform(x)
    off = x - plane.inverse_transform(scores)
    known = scores / np.sqrt(np.maximum(plane.explained_variance_, 1e-6 * plane.explained_variance_[0]))
    errors = [np.square(off[half:]).sum()]
    for width in KERNEL_WIDTHS:
        kernel = {"kernel": "rbf", "gamma": 1 / (2 * latents * width**2)}
        curve = KernelRidge(alpha=RIDGE, **kernel).fit(known[:half], off[:half])  # type: ignore[arg-type]
        errors.append(np.square(off[half:] - curve.predict(known[half:])).sum())
    return float(min(errors)) / ((len(x) - half) * (features - latents))


def _shuffled_rows(x: np.ndarray) -> np.ndarray:
    """In random order, because neighbours in a recording resemble each other; read in theirs, as files like it."""
    rng = np.random.default_rng(0)
    most = max(2 * FEWEST_ROWS, min(ROWS_LOOKED_AT, NUMBERS_LOOKED_AT // x.shape[1]))
    chosen = np.sort(rng.permutation(len(x))[:most])
    return rng.permutation(np.asarray(x[chosen], np.float64))
