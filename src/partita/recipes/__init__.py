"""The methods. RECIPES is the only registry of them: a method is one function and one row."""

from partita.recipes.correlation_family import beta_stcvae, beta_tcvae, hfvae, pdisvae
from partita.recipes.density_ratio import factor_vae, rtc_vae
from partita.recipes.elbo_family import annealed_vae, beta_vae, vae
from partita.recipes.moment_family import dip_vae_i, dip_vae_ii
from partita.recipes.prior_family import ica_vae, isa_vae
from partita.recipes.recipe import Adam, Player, Ramp, Recipe

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
}

__all__ = ["RECIPES", "Adam", "Player", "Ramp", "Recipe"]
