"""InfoGAN: X29, the dream, and codes that mean something."""

import math

import numpy as np
import pytest
import torch
from scipy.stats import kstest, spearmanr
from torch.distributions import MultivariateNormal, Normal

from partita.measures import adversarial
from partita.recipes import RECIPES
from partita.training import Ensemble, Model

CPU = torch.device("cpu")
HOUSE = {"shape": (6,), "latents": 2, "categories": 3, "noise": 4, "network": "mlp", "hidden": (16,)}


def dreamed(rows=64, **options):
    recipe = RECIPES["infogan"](**{**HOUSE, **options})
    torch.manual_seed(0)
    networks = {name: make().double() for name, make in recipe.networks.items()}
    generator = torch.Generator().manual_seed(1)
    noise = {n: torch.randn(rows, k, generator=generator, dtype=torch.float64) for n, k in recipe.noise.items()}
    batch = type("Rows", (), {"x": torch.randn(rows, 6, generator=generator, dtype=torch.float64)})
    return recipe.trace(networks, batch, noise, {})


def test_x29_without_correlation_the_code_loss_is_the_factorised_one():
    trace = dreamed()
    factorised = -Normal(trace.q.mean, torch.exp(0.5 * trace.q.log_variance)).log_prob(trace.z).sum(1).mean()
    assert adversarial.code_nll(trace)["code_nll"].item() == pytest.approx(factorised.item(), rel=1e-12)
    correlated = adversarial.code_nll(dreamed(posterior="correlated", rho=0.0))["code_nll"]
    assert correlated.item() == pytest.approx(factorised.item(), rel=1e-12)


@pytest.mark.parametrize("rho", [0.3, 0.9])
def test_correlated_codes_by_the_formula_for_two(rho):
    """Spec 003, section 2.5: inverse [[1, -rho], [-rho, 1]] / (1 - rho^2), determinant 1 - rho^2."""
    trace = dreamed(posterior="correlated", rho=rho)
    s = torch.exp(0.5 * trace.q.log_variance)
    d = (trace.z - trace.q.mean) / s
    squares = (d[:, 0] ** 2 + d[:, 1] ** 2 - 2 * rho * d[:, 0] * d[:, 1]) / (1 - rho**2)
    by_hand = 0.5 * squares + s.log().sum(1) + 0.5 * np.log(1 - rho**2) + np.log(2 * np.pi)
    found = adversarial.code_nll(trace)["code_nll"].item()
    assert found == pytest.approx(by_hand.mean().item(), rel=1e-12)
    theirs = MultivariateNormal(trace.q.mean, trace.q.covariance).log_prob(trace.z)
    assert found == pytest.approx(-theirs.mean().item(), rel=1e-9)


def test_a_dream_draws_uniform_codes_and_one_category():
    trace = dreamed(rows=4000)
    assert kstest(trace.z.flatten(), "uniform", args=(-1, 2)).pvalue > 1e-3
    category = trace.drawn["category"]
    assert (category.sum(1) == 1).all()
    assert abs(category.mean(0) - 1 / 3).max() < 0.03


def test_the_games_losses():
    trace = dreamed()
    critic, trunk = trace.networks["critic"], trace.networks["trunk"]
    fake = torch.sigmoid(critic(trunk(trace.drawn["x"])))
    real = torch.sigmoid(critic(trunk(trace.batch.x)))
    expected = -(real.log() + (1 - fake).log()).mean()
    assert adversarial.criticism(trace)["criticism"].item() == pytest.approx(expected.item())
    assert adversarial.persuasion(trace)["persuasion"].item() == pytest.approx(-fake.log().mean().item())
    logits, chosen = trace.drawn["category_logits"], trace.drawn["category"].argmax(1)
    expected = torch.nn.functional.cross_entropy(logits, chosen)
    assert adversarial.category_nll(trace)["category_nll"].item() == pytest.approx(expected.item())


def test_what_is_left_out_is_the_first_category_without_noise():
    recipe = RECIPES["infogan"](**HOUSE)
    generator = recipe.networks["decoder"]()
    z = torch.rand(5, 2)
    whole = torch.cat([z, torch.tensor([1.0, 0, 0]).expand(5, 3), torch.zeros(5, 4)], 1)
    torch.testing.assert_close(generator(z).mean, generator(whole).mean)
    torch.testing.assert_close(generator(whole[:, :5]).mean, generator(whole).mean)


def test_images_all_the_way():
    """The published network: a few steps, then codes, reconstructions and samples; a row's code is its own."""
    images = np.random.default_rng(0).integers(0, 255, (40, 1, 28, 28), np.uint8)
    recipe = RECIPES["infogan"](shape=(1, 28, 28), network="infogan", likelihood="bernoulli", posterior="correlated")
    ensemble = Ensemble([recipe], [0], images, x_scale=1 / 255, batch_size=16, device=CPU)
    ensemble.advance(2)
    model = Model(recipe, ensemble.model(0), 1 / 255, dtype=torch.float64)
    codes, _ = model.posterior(images)
    assert codes.shape == (40, 2)
    np.testing.assert_allclose(model.posterior(images[3:4])[0], codes[3:4], rtol=1e-9)
    assert model.reconstruct(images).shape == model.sample(40).shape == images.shape
    assert 0 <= model.sample(3).min() <= model.sample(3).max() <= 1
    assert not np.allclose(model.sample(2)[0], model.sample(2)[1])
    assert not model.has_bound


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"categories": 1}, "categories must be 0 or at least 2"),
        ({"noise": -1}, "noise at least 0"),
        ({"lambda_code": -1.0}, "lambda_code"),
        ({"network": "infogan"}, "sides a multiple of 4"),
        ({"network": "infogan", "shape": (1, 30, 30)}, "sides a multiple of 4"),
    ],
)
def test_bad_options_are_named(options, words):
    with pytest.raises(ValueError, match=words):
        RECIPES["infogan"](**{**HOUSE, **options})


@pytest.mark.slow
def test_codes_mean_something_only_when_the_generator_is_asked_to_show_them():
    """Three clusters that vary along one direction. A generator with the reader's terms in its objective shows the code
    and the category in what it makes: I(z;x) >= H(z) + E log Q(z|x) is large; nearly without them it hides both. The
    code, read off data, follows the direction."""
    rng = np.random.default_rng(0)
    cluster, along = rng.integers(0, 3, 2000), rng.uniform(-1, 1, 2000)
    x = 3 * np.eye(6)[cluster] + 0.8 * along[:, None] * np.array([0, 0, 0, 1, 1, -1])
    x = (x + 0.1 * rng.normal(size=x.shape)).astype(np.float32)
    house = {"shape": (6,), "latents": 1, "categories": 3, "noise": 2, "hidden": (64, 64), "learning_rate": 1e-3}
    information = {}
    for asked in (1.0, 1e-3):  # Adam does not care for the scale: the reader itself learns either way
        recipe = RECIPES["infogan"](**house, lambda_code=0.3 * asked, lambda_category=asked)
        runs = Ensemble([recipe] * 4, [0, 1, 2, 3], x, batch_size=100, device=CPU)
        runs.advance(1000)
        runs.read_quantities(1000)
        runs.advance(200)
        last = dict(zip(runs.quantity_names, runs.read_quantities(200)))
        information[asked] = np.log(2) - last["code_nll"], np.log(3) - last["category_nll"]
        if asked == 1.0:
            codes = [Model(recipe, runs.model(e)).posterior(x)[0][:, 0] for e in range(4)]
    assert min(information[1.0][0]) > 1.0
    assert min(information[1.0][1]) > 1.0
    assert np.mean(information[1e-3][0]) < 0.5
    assert np.mean(information[1e-3][1]) < 0.6  # a generator may show its category for reasons of its own
    tied = [abs(spearmanr(own[cluster == c], along[cluster == c])[0]) for own in codes for c in range(3)]
    assert np.mean(tied) > 0.6


def test_a_critic_that_never_errs_is_a_concern():
    concern = RECIPES["infogan"](shape=(4,)).players[0].concern
    assert concern is not None
    assert concern({"criticism": 2 * math.log(2)}) is None
    assert "critic won" in (concern({"criticism": 0.001}) or "")
