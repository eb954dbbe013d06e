"""How well a model predicts what it was not shown."""

import numpy as np


def check_finite(X: np.ndarray, missing: str) -> None:
    """ValueError where X is infinite, or has gaps that nobody said to leave out."""
    known = np.isfinite(X) | np.isnan(X) if missing == "ignore" else np.isfinite(X)
    if X.dtype.kind != "f" or known.all():
        return
    place = np.unravel_index(known.argmin(), X.shape)
    where = f"the first in row {place[0]}, feature {', '.join(map(str, place[1:]))}"
    if np.isnan(X[place]):
        raise ValueError(
            f"X contains NaN, {where}: use missing='ignore', which learns with gaps, or leave such rows out"
        )
    raise ValueError(f"X contains infinity, {where}: leave such rows out")


def hidden_entries(X: np.ndarray, share: float, seed: int) -> np.ndarray:
    """X with this share of its known values gone, drawn at random; every row keeps one at least."""
    if not 0 < share < 1:
        raise ValueError(f"share must lie between 0 and 1, got {share}")
    rng = np.random.default_rng(seed)
    flat = np.array(X.reshape(len(X), -1), np.float64)
    places = rng.random(flat.shape)
    places[np.isnan(flat)] = 2.0
    hidden = places < share
    hidden[np.arange(len(flat)), np.where(np.isnan(flat), -1.0, places).argmax(1)] = False
    flat[hidden] = np.nan
    return flat.reshape(X.shape)


def explained(X: np.ndarray, truth: np.ndarray, predicted: np.ndarray) -> float:
    """R^2 over the values that X lacks and `truth` has, each in standard deviations of its feature: 1 is perfect, 0
    what the means of the features would reach."""
    X, truth, predicted = (np.asarray(each, np.float64).reshape(len(X), -1) for each in (X, truth, predicted))
    asked = np.isnan(X) & ~np.isnan(truth)
    if not asked.any():
        raise ValueError("no value is missing in X and known in the truth: there is nothing to predict")
    mean, deviation = np.nanmean(X, 0), np.nanstd(truth, 0)
    unit = np.where(deviation > 0, deviation, 1.0)
    errors, spread = ((np.where(asked, truth - guess, 0) / unit) ** 2 for guess in (predicted, mean))
    return float(1 - errors.sum() / max(spread.sum(), 1e-300))
