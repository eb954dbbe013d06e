"""The methods. RECIPES is the only registry of them: a method is one function and one row."""

from partita.recipes.correlation_family import beta_stcvae, beta_tcvae, hfvae, pdisvae
from partita.recipes.elbo_family import annealed_vae, beta_vae, vae
from partita.recipes.recipe import Adam, Player, Ramp, Recipe

RECIPES = {
    "vae": vae,
    "beta_vae": beta_vae,
    "annealed_vae": annealed_vae,
    "beta_tcvae": beta_tcvae,
    "hfvae": hfvae,
    "pdisvae": pdisvae,
    "beta_stcvae": beta_stcvae,
}

__all__ = ["RECIPES", "Adam", "Player", "Ramp", "Recipe"]
