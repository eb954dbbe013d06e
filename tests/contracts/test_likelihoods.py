"""What every likelihood must do, whatever it is; a new row of LIKELIHOODS is tested here without a new line, but for
its density in SciPy."""

import dataclasses

import numpy as np
import pytest
import scipy.stats
import torch

import partita as pt
from partita.data import from_array
from partita.distributions import LIKELIHOODS, Likelihood, as_likelihood
from partita.networks import Architecture, Decoder
from partita.recipes import RECIPES
from partita.studies import Store, plan, train
from partita.training import Ensemble, Model

CPU = torch.device("cpu")
# What a decoder may say of one feature, and values a density may be asked about.
OUTPUTS = torch.linspace(-4, 4, 9, dtype=torch.float64)
COUNTS = torch.arange(2000.0, dtype=torch.float64)
# log p(x) by SciPy, of outputs and parameters.
BY_SCIPY = {
    "bernoulli": lambda x, o: scipy.stats.bernoulli.logpmf(x, 1 / (1 + np.exp(-o))),
    "gaussian": lambda x, o, log_variance: scipy.stats.norm.logpdf(x, o, np.exp(0.5 * log_variance)),
    "gaussian:features": lambda x, o, log_variance: scipy.stats.norm.logpdf(x, o, np.exp(0.5 * log_variance)),
    "poisson": lambda x, o: scipy.stats.poisson.logpmf(x, np.exp(o)),
    "negative_binomial": lambda x, o, log_dispersion: scipy.stats.nbinom.logpmf(
        x, np.exp(-log_dispersion), 1 / (1 + np.exp(o + log_dispersion))
    ),
    "student": lambda x, o, log_scale, beyond: scipy.stats.t.logpdf(x, 1 + np.exp(beyond), o, np.exp(log_scale)),
}
# The distribution functions of the same, for draws.
DISTRIBUTIONS = {
    "bernoulli": lambda o: scipy.stats.bernoulli(1 / (1 + np.exp(-o))),
    "gaussian": lambda o, log_variance: scipy.stats.norm(o, np.exp(0.5 * log_variance)),
    "gaussian:features": lambda o, log_variance: scipy.stats.norm(o, np.exp(0.5 * log_variance)),
    "poisson": lambda o: scipy.stats.poisson(np.exp(o)),
    "negative_binomial": lambda o, log_dispersion: scipy.stats.nbinom(
        np.exp(-log_dispersion), 1 / (1 + np.exp(o + log_dispersion))
    ),
    "student": lambda o, log_scale, beyond: scipy.stats.t(1 + np.exp(beyond), o, np.exp(log_scale)),
}

# Two numbers a feature: a mean and a log-variance that both depend on z.
UNEVEN = dataclasses.replace(
    LIKELIHOODS["gaussian"],
    name="uneven",
    mean=lambda mean, log_variance: mean,
    outputs=2,
    parameters=lambda shape: {},
)
EVERY = {**LIKELIHOODS, "gaussian:0.25": as_likelihood("gaussian:0.25"), "uneven": UNEVEN}
families = pytest.mark.parametrize("family", EVERY.values(), ids=list(EVERY))
# whose features are each by itself; a class is one of several features
SINGLE = {name: family for name, family in EVERY.items() if name != "categorical"}


def parameters_of(family: Likelihood, shape=(1,), shift=0.3) -> dict[str, torch.Tensor]:
    """Not where they start, where mistakes may cancel."""
    return {name: value.detach().double() + shift for name, value in family.parameters(shape).items()}


def support(family: Likelihood) -> tuple[torch.Tensor, bool]:
    """A grid of the values it takes, and whether they are whole numbers."""
    real = torch.linspace(-18, 18, 120001, dtype=torch.float64).sinh()  # long tails, too
    if family.suits is None:
        return real, False
    whole = COUNTS[torch.as_tensor(family.suits(COUNTS.numpy()))]
    return whole, True


def observed(family: Likelihood, rows=60, shape=(8,)) -> np.ndarray:
    """Data that suit it and hang together: whole numbers where it takes only some."""
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (rows, 2)) @ rng.normal(size=(2, int(np.prod(shape)))) + 0.1 * rng.normal(size=(rows, 1))
    x = x.reshape(rows, *shape)
    if family.name == "categorical":
        return (x == x.max(1, keepdims=True)).astype(np.float32)
    if family.suits is not None:
        x = np.round(np.exp(x)) if family.suits(np.array(7.0)) else x > 0
    return x.astype(np.float32)


def at_each(family: Likelihood, values: torch.Tensor, output: torch.Tensor) -> torch.Tensor:
    """log p of values (n,), one feature, where the decoder says `output` (and 0.4 in its other numbers)."""
    said = torch.full((len(values), family.outputs), 0.4, dtype=torch.float64)
    said[:, 0] = output
    return family.at(said, parameters_of(family)).log_prob(values[:, None])


@pytest.mark.parametrize("family", SINGLE.values(), ids=list(SINGLE))
@pytest.mark.parametrize("output", OUTPUTS.tolist())
def test_densities_are_densities_and_means_are_means(family, output):
    """Sums and integrals over all values; grey values between 0 and 1 count as probabilities, so that Bernoulli's
    is none on those."""
    values, whole = support(family)
    log_p = at_each(family, values, torch.tensor(output))
    place = values.asinh()  # in equal steps
    add = torch.sum if whole else lambda y: torch.trapezoid(y * place.cosh(), place)
    said = torch.full((1, family.outputs), 0.4, dtype=torch.float64)
    said[:, 0] = output
    mean = family.at(said, parameters_of(family)).mean
    assert add(log_p.exp()).item() == pytest.approx(1, abs=1e-9)
    assert mean.item() == pytest.approx(add(log_p.exp() * values).item(), rel=1e-7)


@pytest.mark.parametrize("name", BY_SCIPY)
def test_log_densities_are_scipys(name):
    family = LIKELIHOODS[name]
    values = support(family)[0][:40]
    for output in OUTPUTS:
        found = at_each(family, values, output)
        own = {key: value.item() for key, value in parameters_of(family).items()}
        np.testing.assert_allclose(found, BY_SCIPY[name](values.numpy(), output.item(), **own), rtol=1e-10, atol=1e-12)


def test_every_likelihood_has_its_oracle():
    assert BY_SCIPY.keys() == DISTRIBUTIONS.keys() == LIKELIHOODS.keys() - {"categorical"}


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_draws_are_scipys(name):
    """By Kolmogorov and Smirnov; whole numbers by Pearson's chi squared, with rare ones together."""
    family, draws = LIKELIHOODS[name], 20000
    for output in (-1.0, 1.5):
        said = torch.full((draws, family.outputs), output, dtype=torch.float64)
        drawn = family.at(said, parameters_of(family)).sample(np.random.default_rng(0))[:, 0]
        own = {key: value.item() for key, value in parameters_of(family).items()}
        expected = DISTRIBUTIONS[name](output, **own)
        if family.suits is None:
            assert scipy.stats.kstest(drawn, expected.cdf).pvalue > 0.01
            continue
        top = int(expected.ppf(0.995)) + 1
        shares = np.append(expected.pmf(np.arange(top)), expected.sf(top - 1))
        counts = np.bincount(np.minimum(drawn, top).astype(int), minlength=top + 1)
        there = shares > 0
        assert not counts[~there].any()
        assert scipy.stats.chisquare(counts[there], draws * shares[there]).pvalue > 0.01


@pytest.mark.parametrize("name", ["categorical:3,4,2", "categorical"])
def test_classes_are_those_of_multinomials(name):
    family = as_likelihood(name)
    sizes = [3, 4, 2] if ":" in name else [9]
    logits = np.random.default_rng(1).normal(size=(1, 9))
    blocks = np.split(logits[0], np.cumsum(sizes)[:-1])
    shares = [np.exp(block) / np.exp(block).sum() for block in blocks]
    said = torch.as_tensor(np.repeat(logits, 8000, 0))
    px = family.at(said)
    np.testing.assert_allclose(px.mean[0], np.concatenate(shares), rtol=1e-12)
    drawn = px.sample(np.random.default_rng(0))
    assert family.suits(drawn).all()
    expected = sum(
        scipy.stats.multinomial(1, share).logpmf(part)
        for share, part in zip(shares, np.split(drawn, np.cumsum(sizes)[:-1], 1))
    )
    np.testing.assert_allclose(px.log_prob(torch.as_tensor(drawn)), expected, rtol=1e-10)
    for share, part in zip(shares, np.split(drawn, np.cumsum(sizes)[:-1], 1)):
        assert scipy.stats.chisquare(part.sum(0), 8000 * share).pvalue > 0.01


def test_a_likelihood_that_cannot_be_drawn_from_says_so():
    with pytest.raises(ValueError, match="'uneven' does not say how to draw"):
        dataclasses.replace(UNEVEN, draw=None).at(torch.zeros(1, 2)).sample(np.random.default_rng(0))


@families
def test_slopes_are_those_of_differences_in_float32_too(family):
    values = torch.as_tensor(observed(family))
    decoder = Decoder(Architecture((8,), 3, "linear", family))
    z = torch.randn(60, 3, generator=torch.Generator().manual_seed(0))
    decoder(z).log_prob(values).sum().backward()
    for parameter in decoder.parameters():
        assert torch.isfinite(parameter.grad).all()
    said = torch.randn(4, 8 * family.outputs, dtype=torch.float64, requires_grad=True)
    own = {name: value.requires_grad_() for name, value in parameters_of(family, (8,)).items()}
    names, tensors = list(own), list(own.values())
    torch.autograd.gradcheck(
        lambda said, *own: family.at(said, dict(zip(names, own))).log_prob(values[:4].double()), (said, *tensors)
    )


@families
@pytest.mark.parametrize("method", ["vae", "infogan"])
def test_an_ensemble_equals_solo_runs(family, method):
    x = observed(family)
    recipe = RECIPES[method](latents=2, shape=(8,), network="mlp", hidden=(16,), likelihood=family)
    together = Ensemble([recipe] * 2, [5, 6], x, batch_size=20, device=CPU)
    together.advance(5)
    for position, seed in enumerate((5, 6)):
        alone = Ensemble([recipe], [seed], x, batch_size=20, device=CPU)
        alone.advance(5)
        for name, value in alone.model(0).items():
            torch.testing.assert_close(together.model(position)[name], value, rtol=2e-4, atol=2e-5)


@families
def test_training_raises_the_bound(family):
    x = observed(family)
    recipe = RECIPES["vae"](latents=2, shape=(8,), network="mlp", hidden=(16,), likelihood=family)
    runs = Ensemble([recipe], [0], x, batch_size=20, device=CPU)
    before = np.add(*Model(recipe, runs.model(0)).bound(x)).mean()
    runs.advance(100)
    model = Model(recipe, runs.model(0))
    assert np.add(*model.bound(x)).mean() < before
    decoded = model.decode(model.posterior(x)[0])
    assert decoded.shape == x.shape
    own = Decoder(recipe.architecture).likelihood
    assert own.suits is None or (decoded >= 0).all()


@families
def test_images_are_decoded_by_convolutions(family):
    decoder = Decoder(Architecture((3, 32, 32), 2, "small", family))
    px = decoder(torch.zeros(2, 2))
    assert px.mean.shape == (2, 3, 32, 32)
    assert px.log_prob(torch.as_tensor(observed(family, 2, (3, 32, 32)))).shape == (2,)


@pytest.mark.parametrize("name", LIKELIHOODS)
def test_the_whole_loss_is_one_graph(name):
    torch._dynamo.reset()
    x = observed(LIKELIHOODS[name])
    recipe = RECIPES["vae"](latents=2, shape=(8,), network="linear", likelihood=name)
    runs = Ensemble([recipe] * 2, [0, 1], x, batch_size=20, device=CPU)
    index, noise = runs.draws.index(0, 1)[0], runs.draws.noise(0, 1)[0]
    given = (runs.parameters, runs.carried.shown(index), runs._observe(index), noise, runs.values(0, 1)[0])
    traced = torch.compile(runs._batched(0), fullgraph=True, dynamic=False, backend="eager")
    torch.testing.assert_close(traced(*given)[0], runs._batched(0)(*given)[0])


@pytest.mark.parametrize("name", LIKELIHOODS)
def test_what_is_saved_comes_back(name, tmp_path):
    x = observed(LIKELIHOODS[name])
    family = LIKELIHOODS[name]  # by its record as by its name
    model = pt.Disentangler("vae", latents=2, steps=3, network="linear", likelihood=family, device="cpu").fit(x)
    model.save(tmp_path / "model.safetensors")
    back = pt.load(tmp_path / "model.safetensors")
    assert np.array_equal(back.inverse_transform(back.transform(x)), model.inverse_transform(model.transform(x)))
    assert back.score(x) == model.score(x)
    assert back.likelihood == name
    dataset, store = from_array(x), Store(tmp_path)
    (run,) = plan(["vae"], dataset, latents=2, likelihood=family, network="linear", steps=2)
    assert run == plan(["vae"], dataset, latents=2, likelihood=name, network="linear", steps=2)[0]
    train([run], dataset, store, device=CPU)
    assert store.model(run).decode(np.zeros((3, 2))).shape == (3, 8)


@pytest.mark.parametrize("name", [name for name, family in LIKELIHOODS.items() if family.suits is not None])
def test_data_that_do_not_suit_are_refused_in_words(name):
    x = observed(LIKELIHOODS[name])
    x[37, 2] = -1.5
    words = f"likelihood '{name}' takes .*hold -1.5"
    with pytest.raises(ValueError, match=words):
        pt.Disentangler("vae", latents=2, likelihood=name).fit(x)
    with pytest.raises(ValueError, match=words):
        plan(["vae"], from_array(x), latents=2, likelihood=name)


@pytest.mark.parametrize("name", LIKELIHOODS)
def test_it_says_what_it_is(name):
    assert LIKELIHOODS[name].name == name
    assert LIKELIHOODS[name].summary
    assert as_likelihood(name) is LIKELIHOODS[name]
