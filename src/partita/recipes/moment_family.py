"""Methods that pull the covariance of the latents towards the identity: uncorrelated, which is not independent."""

from partita.distributions import as_groups
from partita.measures.elbo import kl, reconstruction
from partita.measures.moments import covariance_of_means, covariance_of_samples
from partita.recipes.recipe import Recipe, nonnegative, one_player


def dip_vae_i(*, lambda_od: float = 10.0, lambda_d: float | None = None, latents: int = 6, **architecture) -> Recipe:
    """DIP-VAE-I (Kumar et al. 2018): ELBO - lambda_od * sum_{i!=j} C_ij^2 - lambda_d * sum_i (C_ii - 1)^2, with C the
    covariance of the posterior means over the batch.

    `lambda_d` is 10 lambda_od unless given. (0, 0) is the VAE. KL in closed form.

    Use it as the cheapest penalty: two moments of the means, no density. It cannot see dependence beyond
    correlation: a ring passes for independent.

    Defaults: lambda_od 10 is ours, lambda_d = 10 lambda_od its paper's.
    """
    return _moments(covariance_of_means, lambda_od, lambda_d, 10, latents, architecture)


def dip_vae_ii(*, lambda_od: float = 10.0, lambda_d: float | None = None, latents: int = 6, **architecture) -> Recipe:
    """DIP-VAE-II (Kumar et al. 2018): as DIP-VAE-I, with C the covariance of q(z): that of the means plus the mean
    posterior covariance.

    `lambda_d` is lambda_od unless given. (0, 0) is the VAE. KL in closed form.

    Use it as DIP-VAE-I when the samples, not the means, are to have covariance I. It cannot see dependence
    beyond correlation: a ring passes for independent.

    Defaults: lambda_od 10 is ours, lambda_d = lambda_od its paper's.
    """
    return _moments(covariance_of_samples, lambda_od, lambda_d, 1, latents, architecture)


def _moments(measure, lambda_od, lambda_d, usual: float, latents: int, architecture: dict) -> Recipe:
    """`usual` is lambda_d over lambda_od where nobody says otherwise."""
    nonnegative(lambda_od=lambda_od)
    lambda_d = usual * lambda_od if lambda_d is None else lambda_d
    nonnegative(lambda_d=lambda_d)
    weights = {"recon": 1, "kl": 1, "off_diagonal": lambda_od, "diagonal": lambda_d}
    groups = as_groups(None, latents)
    return one_player((reconstruction, kl, measure), weights, groups=groups, latents=latents, **architecture)
