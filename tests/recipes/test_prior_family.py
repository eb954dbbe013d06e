"""ICA and ISA: the ELBO with another prior."""

import math

import numpy as np
import pytest

from partita.distributions import LpNested
from partita.recipes import RECIPES

PAIRS = ((0, 1), (2, 3))


def test_the_vae_takes_the_same_priors(first_loss):
    for prior in ("logistic", "laplace", "student:4"):
        one, other = first_loss("ica_vae", prior=prior), first_loss("vae", prior=prior)
        assert one[0] == pytest.approx(other[0], rel=1e-12)
        assert first_loss("beta_vae", beta=1.0, prior=prior)[0] == pytest.approx(one[0], rel=1e-12)
    assert first_loss("ica_vae", prior="normal")[0] == pytest.approx(first_loss("vae")[0], rel=1e-12)


def test_other_methods_take_a_prior_too(first_loss):
    plain, heavy = (first_loss("pdisvae", groups=(2, 2, 2), beta=0.0, prior=p) for p in ("normal", "laplace"))
    assert heavy[0] == pytest.approx(first_loss("vae", prior="laplace")[0], rel=1e-12)
    assert heavy[0] != pytest.approx(plain[0], rel=1e-3)


def test_x22_all_exponents_two_is_the_vae_with_its_kl_sampled(first_loss):
    """Without a closed form the loss differs by the sampling error of the KL, its expectation not: same decoder."""
    nested, scaled = first_loss("isa_vae", p0=2.0, pg=2.0), first_loss("isa_vae", p0=2.0, pg=2.0, scale=2.0)
    assert nested[0] == pytest.approx(scaled[0], rel=1e-12)
    plain = first_loss("vae")
    assert nested[1]["recon"] == pytest.approx(plain[1]["recon"], rel=1e-12)
    assert nested[1]["kl"] == pytest.approx(plain[1]["kl"], abs=2.0)
    student = first_loss("vae", prior="student:1e8")  # a standard normal whose KL is sampled as well
    assert nested[1]["kl"] == pytest.approx(student[1]["kl"], rel=1e-6)


def test_learned_exponents_start_at_the_given_ones(first_loss):
    fixed = first_loss("isa_vae", groups=(2, 2, 2), p0=1.3, pg=2.4)
    learned = first_loss("isa_vae", groups=(2, 2, 2), p0=1.3, pg=2.4, exponents="learned")
    assert learned[0] == pytest.approx(fixed[0], rel=1e-12)
    gradient = learned[2]["prior.log_factors"]
    assert gradient.shape == (1, 4)
    assert (gradient != 0).all()


def test_exponents_sweep_inside_one_ensemble():
    house = {"latents": 4, "shape": (5,), "network": "linear", "groups": (2, 2)}
    recipes = [RECIPES["isa_vae"](p0=p0, pg=2.0, **house) for p0 in (1.0, 2.0)]
    assert recipes[0].structure == recipes[1].structure
    assert recipes[0].structure != RECIPES["isa_vae"](scale=1.0, **house).structure
    assert recipes[0].structure != RECIPES["isa_vae"](exponents="learned", **house).structure


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"p0": 0.0}, "p0 must be a finite number above 0"),
        ({"pg": -2.0}, "pg must be a finite number above 0"),
        ({"scale": 0.0}, "scale must be a finite number above 0"),
        ({"scale": math.inf}, "scale must be a finite number above 0"),
        ({"exponents": "free"}, "exponents must be 'fixed' or 'learned'"),
        ({"prior": "laplace"}, "isa_vae has its own prior"),
    ],
)
def test_bad_options_are_named(options, words):
    with pytest.raises(ValueError, match=words):
        RECIPES["isa_vae"](**options, shape=(5,))
    with pytest.raises(ValueError, match="unknown prior"):
        RECIPES["ica_vae"](prior="cauchy", shape=(5,))


def test_a_model_is_sampled_from_its_own_prior(trained, mixed):
    """Learned and swept exponents included; the decoder is linear, so its draws have the prior's tails."""
    x = mixed(np.random.default_rng(0).laplace(size=(300, 4)))
    options = {"latents": 4, "groups": PAIRS, "p0": 0.6, "pg": 2.0, "exponents": "learned"}
    (model,), _ = trained("isa_vae", x, 201, **options)
    prior = model.recipe.trace.prior_of(model.networks, model.knobs)
    assert isinstance(prior, LpNested)
    expected = model.decode(prior.sample(5000, 4, np.random.default_rng(3)))
    np.testing.assert_allclose(model.sample(5000, seed=3), expected)
    (normal,), _ = trained("vae", x, 201, latents=4)
    heavy, plain = (np.mean(m.sample(5000) ** 4) / np.mean(m.sample(5000) ** 2) ** 2 for m in (model, normal))
    assert heavy > 1.5 * plain


def aligned(models, x, sources, groups=None):
    from partita.structure import align

    return np.array([align(model.posterior(x)[0], sources, groups, groups).r2 for model in models])


@pytest.mark.slow
@pytest.mark.parametrize("prior", ["logistic", "laplace", "student"])
def test_heavy_tailed_sources_are_unmixed(trained, mixed, prior):
    sources = np.random.default_rng(0).laplace(0, math.sqrt(0.5), (3000, 3))
    x, seeds = mixed(sources), range(6)
    found = aligned(trained("ica_vae", x, 2500, seeds, latents=3, prior=prior)[0], x, sources)
    plain = aligned(trained("vae", x, 2500, seeds, latents=3)[0], x, sources)
    assert np.median(found) > 0.95
    assert found.mean() > plain.mean() + 0.1


@pytest.mark.slow
@pytest.mark.parametrize("exponents", ["fixed", "learned"])
def test_spherical_groups_are_found(trained, mixed, exponents):
    """Pairs with heavy-tailed radius and no axes inside. Fixed groups have local optima: the lowest objective counts.
    Exponents that are learned find the tails by themselves."""
    sources = LpNested(PAIRS, 1.0, 2.0).sample(3000, 4, np.random.default_rng(0))
    x, seeds = mixed(sources), range(6)
    start = {"p0": 1.0, "pg": 2.0} if exponents == "fixed" else {"p0": 2.0, "pg": 2.1}
    models, losses = trained("isa_vae", x, 3000, seeds, latents=4, groups=PAIRS, exponents=exponents, **start)
    found = aligned(models, x, sources, PAIRS)
    plain = aligned(trained("vae", x, 3000, seeds, latents=4)[0], x, sources, PAIRS)
    assert found[losses.argmin()] > 0.95
    assert found.mean() > plain.mean() + 0.05
    if exponents == "learned":
        p0 = 2.0 * models[losses.argmin()].parameters["prior.log_factors"].exp()[0].item()
        assert 0.8 < p0 < 1.4  # the sources have 1
