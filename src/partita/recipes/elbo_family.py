"""Methods that weigh the ELBO's KL as a whole."""

from partita.distributions import as_groups
from partita.measures.elbo import capacity_gap, kl, reconstruction
from partita.recipes.recipe import Ramp, Recipe, nonnegative, one_player, positive


def vae(*, latents: int = 6, **architecture) -> Recipe:
    """VAE (Kingma and Welling 2014): the ELBO. KL in closed form."""
    groups = as_groups(None, latents)
    return one_player((reconstruction, kl), {"recon": 1, "kl": 1}, groups=groups, latents=latents, **architecture)


def beta_vae(*, beta: float = 4.0, latents: int = 6, **architecture) -> Recipe:
    """beta-VAE (Higgins et al. 2017): the whole KL has weight beta, mutual information included.

    `beta` is a total weight: 1 is the VAE. KL in closed form.
    """
    nonnegative(beta=beta)
    groups = as_groups(None, latents)
    return one_player((reconstruction, kl), {"recon": 1, "kl": beta}, groups=groups, latents=latents, **architecture)


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
