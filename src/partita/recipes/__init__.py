"""The methods. RECIPES is the only registry of them: a method is one function and one row."""

from partita.recipes.adversarial import infogan
from partita.recipes.closed_form import ae_ica, ica, pca
from partita.recipes.correlation_family import beta_stcvae, beta_tcvae, hfvae, pdisvae
from partita.recipes.density_ratio import factor_vae, rtc_vae
from partita.recipes.elbo_family import annealed_vae, beta_vae, vae
from partita.recipes.identifiable import full_vae, idvae, ivae, ss_idvae, ss_ivae
from partita.recipes.moment_family import dip_vae_i, dip_vae_ii
from partita.recipes.prior_family import ica_vae, isa_vae
from partita.recipes.recipe import Adam, Player, Ramp, Recipe, with_disintegration

RECIPES = {
    "vae": vae,
    "beta_vae": beta_vae,
    "annealed_vae": annealed_vae,
    "beta_tcvae": beta_tcvae,
    "hfvae": hfvae,
    "pdisvae": pdisvae,
    "beta_stcvae": beta_stcvae,
    "factor_vae": factor_vae,
    "rtc_vae": rtc_vae,
    "dip_vae_i": dip_vae_i,
    "dip_vae_ii": dip_vae_ii,
    "ica_vae": ica_vae,
    "isa_vae": isa_vae,
    "full_vae": full_vae,
    "ivae": ivae,
    "idvae": idvae,
    "ss_ivae": ss_ivae,
    "ss_idvae": ss_idvae,
    "infogan": infogan,
    "pca": pca,
    "ica": ica,
    "ae_ica": ae_ica,
}


def build(method: str, *, disintegration: float = 0.0, **options) -> Recipe:
    """The recipe of a method of RECIPES, with what may be added to any of them."""
    return with_disintegration(RECIPES[method](**options), disintegration)


__all__ = ["RECIPES", "Adam", "Player", "Ramp", "Recipe", "build", "with_disintegration"]
