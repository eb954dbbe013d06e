"""How a model stands beside PCA and the linear Gaussian model, on rows that these were not fitted to."""

import numpy as np

from partita.structure._principal import Principal

WORSE, FAR_WORSE = 1.2, 2.5  # times the squared error of PCA
# nats a latent below the linear model: turned from principal axes, diagonal posteriors lose up to 0.2
LOWER, FAR_LOWER = 0.5, 1.0
FEWEST = 20


def beside_pca(
    x: np.ndarray, latents: int, bound: float | None, error: float | None
) -> tuple[list[str], dict[str, float]]:
    """What is wrong with a bound (of a Gaussian likelihood, nats a row) and a squared error on rows x (n, D), in
    sentences; and the numbers of both beside those of as many principal components, fitted to one half of the rows and
    asked of the other."""
    if len(x) < FEWEST:
        return [], {}
    latents = min(latents, x.shape[1])
    order = np.random.default_rng(0).permutation(len(x))
    first, second = x[order[: len(x) // 2]], x[order[len(x) // 2 :]]
    wrong, numbers = [], {}
    if bound is not None:
        linear = float(np.mean([_log_likelihood(a, b, latents) for a, b in ((first, second), (second, first))]))
        numbers |= {"bound": bound, "linear model": linear}
        if bound < linear - LOWER * latents:
            wrong.append(f"the bound, {bound:.2f} nats a row, is below the {linear:.2f} of a linear model")
    if error is not None:
        pca = float(np.mean([_error(a, b, latents) for a, b in ((first, second), (second, first))]))
        numbers |= {"error": error, "error of PCA": pca}
        if error > WORSE * pca + 1e-9 * float(x.var()):
            wrong.append(f"the squared error, {error:.3g}, is above the {pca:.3g} of PCA: the fit is worse than PCA")
    return wrong, numbers


def far_worse(numbers: dict[str, float], latents: int) -> bool:
    """Whether the numbers of `beside_pca` say that a model missed its rows. Groups of bent rows may be right although
    the error is twice that of PCA, which need not untie anything."""
    below = numbers.get("linear model", 0.0) - numbers.get("bound", 0.0)
    return below > FAR_LOWER * latents or numbers.get("error", 0.0) > FAR_WORSE * numbers.get("error of PCA", np.inf)


def _log_likelihood(x: np.ndarray, other: np.ndarray, latents: int) -> float:
    """Mean log-density of other rows under probabilistic PCA fitted to x."""
    plane = Principal.of(x, latents)
    off = other - plane.mean
    along = off @ plane.axes.T
    rest = np.maximum((off**2).sum(1) - (along**2).sum(1), 0.0)
    features = x.shape[1]
    volume = np.log(plane.variance).sum() + (features - latents) * np.log(plane.noise)
    square = (along**2 / plane.variance).sum(1) + rest / plane.noise
    return float(-0.5 * (features * np.log(2 * np.pi) + volume + square).mean())


def _error(x: np.ndarray, other: np.ndarray, latents: int) -> float:
    """Mean squared error of other rows, decoded from their posterior means under probabilistic PCA fitted to x: these
    shrink towards the mean by the share of noise, as those of any model with a prior do."""
    plane = Principal.of(x, latents)
    off = other - plane.mean
    along = off @ plane.axes.T
    rest = (off**2).sum(1) - (along**2).sum(1)
    return float((rest + ((along * plane.noise / plane.variance) ** 2).sum(1)).mean() / x.shape[1])
