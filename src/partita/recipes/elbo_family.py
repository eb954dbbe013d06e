"""Methods that weigh the ELBO's KL as a whole."""

from partita.distributions import as_groups
from partita.measures.elbo import capacity_gap, kl, reconstruction
from partita.recipes.recipe import Ramp, Recipe, nonnegative, one_player, positive


def vae(*, prior: str = "normal", latents: int = 6, **architecture) -> Recipe:
    """VAE (Kingma and Welling 2014): the ELBO.

    `prior` is "normal", with the KL in closed form, or "logistic", "laplace", "student" or "student:3", with the KL
    from the sample. Every method with one player takes it.

    Use it as the reference: the other methods are to be compared with it at the same settings. It cannot single
    out axes: with a normal prior every rotation of the latents fits as well.

    Defaults: none to choose; latents 6 as in the PDisVAE paper's synthetic study.
    """
    return beta_vae(beta=1, prior=prior, latents=latents, **architecture)


def beta_vae(*, beta: float = 4.0, prior: str = "normal", latents: int = 6, **architecture) -> Recipe:
    """beta-VAE (Higgins et al. 2017): the whole KL has weight beta, mutual information included.

    `beta` is a total weight: 1 is the VAE. KL in closed form for the normal `prior`, else from the sample.

    Use it to see how far a narrower channel alone goes, at the price of reconstruction. It cannot tell
    dependence from information: a larger beta also pays for dropping what x says.

    Defaults: beta 4, the usual first choice of its paper.
    """
    nonnegative(beta=beta)
    weights, groups = {"recon": 1, "kl": beta}, as_groups(None, latents)
    return one_player((reconstruction, kl), weights, groups=groups, latents=latents, prior=prior, **architecture)


def annealed_vae(
    *, gamma: float = 100.0, capacity: float = 25.0, anneal: int = 10000, latents: int = 6, **architecture
) -> Recipe:
    """AnnealedVAE (Burgess et al. 2018): |KL - C| with weight gamma, where C rises from 0 to `capacity` nats over
    the first `anneal` steps. KL in closed form.

    Use it to control how many nats the code may carry and to watch latents join one by one. It cannot keep
    latents independent; it only rations them.

    Defaults: capacity 25 nats is Burgess et al.'s for dSprites; gamma and the ramp are ours.
    """
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
