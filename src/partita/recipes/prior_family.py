"""Methods that are the plain ELBO with another prior: independence is asked for by the prior's shape alone."""

from dataclasses import dataclass, replace

from partita.distributions import Groups, LpNested, as_groups
from partita.measures.elbo import kl, reconstruction
from partita.networks import Factory
from partita.networks._exponents import Exponents
from partita.recipes.elbo_family import vae
from partita.recipes.recipe import Recipe, one_player, positive
from partita.trace import Knobs, Networks, Wake


def ica_vae(*, prior: str = "logistic", latents: int = 6, **architecture) -> Recipe:
    """ICA as a VAE: the ELBO with independent latents that are not Gaussian, by default the unit-variance logistic
    ("logcosh") prior, so that the axes mean something (the PDisVAE paper's ICA).

    `prior` is "logistic", "laplace", "student" or "student:3"; "normal" is the VAE. **KL from the sample.**

    Use it for sources that are independent and peaked or heavy-tailed, as in linear ICA, with any network. It
    cannot find sources that are nearly Gaussian, or keep dependent ones together.

    Defaults: the logistic prior is the PDisVAE paper's ICA.
    """
    return vae(prior=prior, latents=latents, **architecture)


def isa_vae(
    *,
    groups=None,
    p0: float = 2.0,
    pg: float = 2.1,
    scale: float | None = None,
    exponents: str = "fixed",
    latents: int = 6,
    **architecture,
) -> Recipe:
    """ISA-VAE (Stuehmer et al. 2020): the ELBO with an Lp-nested prior, prod_g exp(-||z_g||_pg^p0 / s) / Z_g, whose
    groups are independent of each other.

    `scale` is s; unless given, every latent has variance 1. `exponents="learned"` learns p0 and one pg a group from the
    given start. The defaults are those of the public code, and nearly Gaussian: p0=1, pg=2 is a prior with a will.
    p0 = pg = 2 is the VAE. **KL from the sample.**

    Use it when groups should be rotation-free inside and independent outside, by the prior alone. It cannot
    insist: a prior is one voice against the likelihood, and its default exponents are nearly Gaussian.

    Defaults: p0 2 and pg 2.1 are those of the public code.
    """
    positive(p0=p0, pg=pg)
    if scale is not None:
        positive(scale=scale)
    if exponents not in ("fixed", "learned"):
        raise ValueError(f"exponents must be 'fixed' or 'learned', got {exponents!r}")
    if "prior" in architecture:
        raise ValueError("isa_vae has its own prior; use vae or ica_vae with prior=...")
    groups = as_groups(groups, latents)
    knobs = {"p0": p0, "pg": pg} | ({} if scale is None else {"scale": scale})
    weights = {"recon": 1, "kl": 1}
    recipe = one_player((reconstruction, kl), weights, groups=groups, knobs=knobs, latents=latents, **architecture)
    if exponents == "fixed":
        return replace(recipe, trace=Wake(Nested(groups)))
    learned = Factory(Exponents, recipe.architecture, (("groups", len(groups)),))
    (player,) = recipe.players
    return replace(
        recipe,
        networks={**recipe.networks, "prior": learned},
        players=(replace(player, owns=(*player.owns, "prior")),),
        trace=Wake(Nested(groups)),
    )


@dataclass(frozen=True)
class Nested:
    """The Lp-nested prior of the knobs p0, pg and scale; where there is a network `prior`, it multiplies p0 and pg."""

    groups: Groups

    def __call__(self, networks: Networks, knobs: Knobs) -> LpNested:
        p0, pg = knobs["p0"], knobs["pg"]
        if "prior" in networks:
            outer, inner = networks["prior"]()
            p0, pg = p0 * outer, pg * inner
        return LpNested(self.groups, p0, pg, knobs.get("scale"))
