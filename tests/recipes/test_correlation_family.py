import math

import numpy as np
import pytest

from partita.recipes import RECIPES, build
from partita.recipes.recipe import value_at

HOUSE = {"latents": 3, "shape": (7,), "network": "linear", "likelihood": "gaussian:0.5"}


def weights_at(recipe, step: int) -> dict[str, float]:
    return {name: value_at(weight, step) for name, weight in recipe.players[0].weights.items()}


def test_an_annealed_regulariser_starts_with_a_tenth_and_ends_as_the_objective():
    programs = [build("pdisvae", groups=(2, 1), beta=8.0, anneal=anneal, restarts=2, **HOUSE) for anneal in (100, 0)]
    for half, whole in zip(*([phase.recipe for phase in program.candidates[0].phases] for program in programs)):
        assert weights_at(half, 0) == pytest.approx({"recon": 1.0, "kl": 0.1, "pc": 0.8})
        assert weights_at(half, 50) == pytest.approx({"recon": 1.0, "kl": 0.55, "pc": 4.4})
        assert weights_at(half, 100) == weights_at(half, 10**6) == weights_at(whole, 0)
        assert half.structure == whole.structure


def test_groups_to_be_found_are_annealed_before_and_after():
    (candidate,) = build("pdisvae", groups="auto", anneal=100, **HOUSE).candidates
    for half in (candidate.recipe, candidate.last(((0, 1), (2,)))):
        assert weights_at(half, 0) == pytest.approx({"recon": 1.0, "kl": 0.1, "pc": 0.4})


@pytest.mark.parametrize("anneal", [-1, 2.5, "long", None])
def test_anneal_is_a_number_of_steps(anneal):
    with pytest.raises(ValueError, match=f"anneal must be a whole number of at least 0, got {anneal}"):
        RECIPES["pdisvae"](anneal=anneal, **HOUSE)


@pytest.mark.slow
def test_beta_tcvae_separates_independent_sources(trained, mixed, aligned):
    sources = np.random.default_rng(0).uniform(-math.sqrt(3), math.sqrt(3), (3000, 3))
    x = mixed(sources)
    models, losses = trained("beta_tcvae", x, 2500, range(3), latents=3)
    found = aligned(models, x, sources)
    plain = aligned(trained("vae", x, 2500, range(3), latents=3)[0], x, sources)
    assert found[losses.argmin()] > 0.95
    assert found.mean() > plain.mean() + 0.1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "options"),
    [("pdisvae", {"groups": (2, 2)}), ("hfvae", {"groups": (2, 2)}), ("beta_stcvae", {"grouping": 2})],
)
def test_groups_hold_what_depends_on_each_other(trained, mixed, aligned, rings, method, options):
    """Fixed groups have local optima: the lowest counts."""
    x, pairs = mixed(rings), ((0, 1), (2, 3))
    models, losses = trained(method, x, 2500, range(6), latents=4, **options)
    found = aligned(models, x, rings, pairs)
    plain = aligned(trained("vae", x, 2500, range(6), latents=4)[0], x, rings, pairs)
    assert found[losses.argmin()] > 0.95
    assert found.mean() > plain.mean() + 0.1
