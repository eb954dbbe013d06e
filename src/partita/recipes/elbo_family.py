"""Methods that weigh the ELBO's KL as a whole."""

from partita.distributions import as_groups
from partita.measures.elbo import capacity_gap, kl, reconstruction
from partita.recipes.recipe import Ramp, Recipe, nonnegative, one_player, positive


def vae(*, prior: str = "normal", latents: int = 6, **architecture) -> Recipe:
    """VAE (Kingma and Welling 2014): the ELBO.

    `prior` is "normal", with the KL in closed form, or "logistic", "laplace", "student" or "student:3", with the KL
    from the sample. Every method with one player takes it.
    """
    return beta_vae(beta=1, prior=prior, latents=latents, **architecture)


def beta_vae(*, beta: float = 4.0, prior: str = "normal", latents: int = 6, **architecture) -> Recipe:
    """beta-VAE (Higgins et al. 2017): the whole KL has weight beta, mutual information included.

    `beta` is a total weight: 1 is the VAE. KL in closed form for the normal `prior`, else from the sample.
    """
    nonnegative(beta=beta)
    weights, groups = {"recon": 1, "kl": beta}, as_groups(None, latents)
    return one_player((reconstruction, kl), weights, groups=groups, latents=latents, prior=prior, **architecture)


def annealed_vae(
    *, gamma: float = 100.0, capacity: float = 25.0, anneal: int = 10000, latents: int = 6, **architecture
) -> Recipe:
    """AnnealedVAE (Burgess et al. 2018): |KL - C| with weight gamma, where C rises from 0 to `capacity` nats over
    the first `anneal` steps. KL in closed form."""
    nonnegative(gamma=gamma, capacity=capacity)
    positive(anneal=anneal)
    return one_player(
        (reconstruction, capacity_gap),
        {"recon": 1, "capacity_gap": gamma},
        knobs={"capacity": Ramp(0.0, capacity, anneal)},
        groups=as_groups(None, latents),
        latents=latents,
        **architecture,
    )
