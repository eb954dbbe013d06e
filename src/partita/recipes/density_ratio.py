"""Methods with a second player, the discriminator, who learns the log density ratio that the first one lowers.

The discriminator has `depth` hidden layers of `width` and learns at the model's own rate, as in both papers, with Adam
(0.5, 0.9). With `groups`, whole groups are permuted, and what it learns is PC between them.
"""

from dataclasses import replace

from partita.distributions import as_groups
from partita.measures.density_ratio import DensityRatio, Discrimination
from partita.measures.elbo import kl, reconstruction
from partita.measures.moments import posterior_variance
from partita.networks import Factory
from partita.networks.discriminator import Discriminator
from partita.recipes.recipe import Adam, Player, Recipe, nonnegative, one_player, whole


def factor_vae(
    *, groups=None, gamma: float = 10.0, width: int = 1000, depth: int = 6, latents: int = 6, **architecture
) -> Recipe:
    """FactorVAE (Kim and Mnih 2018): ELBO - gamma * TC, with TC from a discriminator of `depth` hidden layers of
    `width`; with groups, PC between them.

    `gamma` is the **extra** weight: 0 is the VAE, with the discriminator as an onlooker that estimates TC. KL in closed
    form, TC from samples alone: any posterior will do.

    Use it where minibatch weights are not to be trusted, or with a posterior that has no density of its own. It
    cannot give a TC that is better than its discriminator, which lags behind the codes and sees them in samples.

    Defaults: gamma 10, width 1000, depth 6 are the paper's; the learning rate is the model's.
    """
    nonnegative(gamma=gamma)
    return _with_discriminator({"ratio": gamma}, (), groups, width, depth, latents, architecture)


def rtc_vae(
    *,
    groups=None,
    beta: float = 10.0,
    eta: float | None = None,
    width: int = 1000,
    depth: int = 6,
    latents: int = 6,
    **architecture,
) -> Recipe:
    """RTC-VAE (eq. 4): ELBO - beta * TC - eta * sum_k E_n[var(z_k|n)], TC by a discriminator as in FactorVAE.

    `beta` is the **extra** weight on TC; `eta` is max(10, beta) unless given. With beta = 0 no posterior variance ends
    above 1 / (1 + 2 eta); with a TC penalty that holds roughly. A latent costs log(1 + 2 eta) / 2 nats whether it is
    used or not, so none shuts down. eta = 0 is FactorVAE.

    Use it when codes will be taken as posterior means: it narrows the gap between their TC and that of the
    samples. It cannot shut latents down: all of them stay in use, needed or not.

    Defaults: beta 10 is ours, eta max(10, beta) the paper's; width 1000 and depth 6 as in FactorVAE.
    """
    nonnegative(beta=beta)
    eta = max(10.0, beta) if eta is None else eta
    nonnegative(eta=eta)
    weights = {"ratio": beta, "posterior_variance": eta}
    return _with_discriminator(weights, (posterior_variance,), groups, width, depth, latents, architecture)


def _with_discriminator(weights, measures, groups, width, depth, latents, architecture) -> Recipe:
    """The weights on the ELBO minus a penalty, `ratio` standing for the discriminator's estimate."""
    whole(least=1, width=width, depth=depth)
    groups = as_groups(groups, latents)
    ratio = DensityRatio(groups)
    penalties = {ratio.quantity if name == "ratio" else name: weight for name, weight in weights.items()}
    recipe = one_player(
        (reconstruction, kl, ratio, *measures),
        {"recon": 1, "kl": 1, **penalties},
        groups=groups,
        latents=latents,
        **architecture,
    )
    rate = recipe.players[0].optimiser.learning_rate
    judge = Player(("discriminator",), (Discrimination(groups),), {"cross_entropy": 1}, Adam(rate, (0.5, 0.9)))
    options = (("width", width), ("depth", depth))
    return replace(
        recipe,
        networks={**recipe.networks, "discriminator": Factory(Discriminator, recipe.architecture, options)},
        players=(*recipe.players, judge),
        noise={**recipe.noise, "permutation": len(groups)},
    )
