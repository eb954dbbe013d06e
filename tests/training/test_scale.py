import numpy as np
import pytest
import scipy.stats
import torch

from partita.distributions import LIKELIHOODS, as_likelihood
from partita.recipes import RECIPES
from partita.training import Ensemble, Model
from partita.training.defaults import choose_units
from partita.training.scale import UNSCALED, Scale, choose_scale, measure_scale

CPU, RNG = torch.device("cpu"), np.random.default_rng(0)
PLAIN = RNG.normal(size=(300, 6))
GAUSSIAN, COUNTS = LIKELIHOODS["gaussian"], LIKELIHOODS["negative_binomial"]


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (PLAIN, "none"),
        (3 * PLAIN + 2, "none"),
        (PLAIN * 1e4, "one"),
        (PLAIN * 0.01, "one"),
        (PLAIN + 1e8, "one"),
        (PLAIN * [1, 1, 1, 1, 1, 1e4], "standard"),
        (PLAIN * [0.1, 0.2, 300, 1, 5, 2], "standard"),
        (PLAIN.reshape(300, 1, 2, 3) * 400, "one"),
        (np.ones((20, 3)), "none"),
    ],
)
def test_auto_leaves_alone_what_networks_can_work_with(rows, expected):
    name, why = choose_scale("auto", GAUSSIAN, rows)
    assert name == expected
    assert why


def test_a_few_features_that_hardly_vary_do_not_decide():
    """A dead pixel beside hundreds of others is no unit of its own."""
    rows = RNG.normal(size=(200, 300)) * 500
    rows[:, 7] *= 1e-6
    assert choose_scale("auto", GAUSSIAN, rows)[0] == "one"


@pytest.mark.parametrize("name", ["bernoulli", "categorical"])
def test_what_has_no_units_is_not_scaled(name):
    family = LIKELIHOODS[name]
    assert choose_scale("auto", family, np.eye(6))[0] == "none"
    with pytest.raises(ValueError, match="which have no scale: leave scale='one' out"):
        choose_scale("one", family, np.eye(6))


def test_a_variance_that_was_given_is_in_the_units_of_the_data():
    assert choose_units(PLAIN * 1e4, 1.0, "gaussian:0.25", "auto").scale.name == "none"
    assert choose_units(PLAIN * 1e4, 1.0, "student:4", "auto").scale.name == "one"


def test_unknown_scales_are_refused_with_the_nearest_name():
    with pytest.raises(ValueError, match="unknown scale 'standrad'.*standard"):
        choose_scale("standrad", GAUSSIAN, PLAIN)


@pytest.mark.parametrize("shape", [(300, 6), (300, 1, 2, 3)])
@pytest.mark.parametrize("name", ["standard", "one"])
def test_scaled_rows_are_those_of_scikit_learn_and_come_back(name, shape):
    rows = (PLAIN * [1, 2, 3, 4, 5, 6] + [0, 10, 20, 30, 40, 50]).reshape(shape)
    scale = measure_scale(name, GAUSSIAN, rows)
    seen = scale.of(rows)
    np.testing.assert_allclose(scale.back(seen), rows, rtol=1e-12)
    flat = seen.reshape(300, -1)
    if name == "standard":
        np.testing.assert_allclose([flat.mean(0), flat.std(0)], [np.zeros(6), np.ones(6)], atol=1e-12)
    else:
        assert np.square(flat.std(0)).mean() == pytest.approx(1)
        assert seen.mean() == pytest.approx(0, abs=1e-12)


def test_constant_features_stay_finite():
    rows = PLAIN.copy()
    rows[:, 2] = 1e8
    scale = measure_scale("standard", GAUSSIAN, rows)
    assert np.array_equal(scale.of(rows)[:, 2], np.zeros(300))
    assert np.isfinite(scale.log_jacobian((6,)))


def test_the_jacobian_is_that_of_the_change_of_variables():
    """log p(x) of a Gaussian, by way of its standardised self."""
    mean, deviation = np.array([1.0, -5.0, 100.0]), np.array([0.1, 3.0, 50.0])
    scale = Scale("standard", torch.as_tensor(mean), torch.as_tensor(deviation))
    x = mean + deviation * RNG.normal(size=(5, 3))
    by_scale = scipy.stats.norm.logpdf(scale.of(x)).sum(1) + scale.log_jacobian((3,))
    np.testing.assert_allclose(by_scale, scipy.stats.norm.logpdf(x, mean, deviation).sum(1), rtol=1e-12)
    observed = np.array([[1, 0, 1], [0, 0, 0], [1, 1, 1], [0, 1, 0], [1, 0, 0]], bool)
    expected = -(observed * np.log(deviation)).sum(1)
    np.testing.assert_allclose(scale.log_jacobian((3,), observed), expected, rtol=1e-12)


def test_bounds_are_in_nats_of_x_whatever_the_scale():
    """The same parameters, told of the scale or given scaled rows, differ by the Jacobian and nothing else."""
    rows = (PLAIN * [1, 2, 3, 4, 5, 600]).astype(np.float32)
    recipe = RECIPES["vae"](latents=2, shape=(6,), network="linear", likelihood="gaussian")
    scale = measure_scale("standard", GAUSSIAN, np.asarray(rows, np.float64))
    told = Ensemble([recipe] * 2, [0, 1], rows, scale=scale, batch_size=50, device=CPU)
    given = Ensemble([recipe] * 2, [0, 1], scale.of(rows).astype(np.float32), batch_size=50, device=CPU)
    for each in (told, given):
        each.advance(5)
    for name, value in told.model(1).items():
        torch.testing.assert_close(value, given.model(1)[name], rtol=1e-4, atol=1e-5)
    own = told.model(1)
    seen, plain = Model(recipe, own, dtype=torch.float64, scale=scale), Model(recipe, own, dtype=torch.float64)
    recon, kl = seen.bound(rows)
    in_units, same = plain.bound(scale.of(np.asarray(rows, np.float64)))
    np.testing.assert_allclose(kl, same, rtol=1e-10)
    np.testing.assert_allclose(recon, in_units + np.log(scale.spread.numpy()).sum(), rtol=1e-10)
    z = seen.posterior(rows)[0]
    np.testing.assert_allclose(seen.decode(z), scale.back(plain.decode(z)), rtol=1e-10)
    np.testing.assert_allclose(seen.reconstruct(rows), seen.decode(z), rtol=1e-10)
    np.testing.assert_allclose(seen.sample(4), scale.back(plain.sample(4)), rtol=1e-10)


def test_counts_stay_counts_and_rates_are_relative_to_what_is_expected():
    means = np.array([0.5, 20.0, 1e4])
    rows = RNG.poisson(means, (400, 3)).astype(np.float64)
    exposure = RNG.uniform(0.5, 2, 400)
    assert choose_scale("auto", COUNTS, rows)[0] == "standard"
    scale = measure_scale("standard", COUNTS, rows)
    assert np.array_equal(scale.of(rows), rows)
    np.testing.assert_allclose(scale.spread, rows.mean(0))
    assert scale.log_jacobian((3,)) == 0
    np.testing.assert_allclose(measure_scale("one", COUNTS, rows).spread, rows.mean())
    by_exposure = measure_scale("standard", COUNTS, rows, exposure)
    np.testing.assert_allclose(by_exposure.spread, (rows / exposure[:, None]).mean(0))
    recipe = RECIPES["vae"](latents=1, shape=(3,), network="linear", likelihood="poisson")
    runs = Ensemble([recipe], [0], rows, scale=scale, batch_size=50, device=CPU)
    model = Model(recipe, runs.model(0), dtype=torch.float64, scale=scale)
    raw = Model(recipe, runs.model(0), dtype=torch.float64)
    np.testing.assert_allclose(model.decode(np.ones((2, 1))), raw.decode(np.ones((2, 1))) * rows.mean(0))
    twice = model.decode(np.ones((2, 1)), {"exposure": np.array([1.0, 2.0])})
    np.testing.assert_allclose(twice[1], 2 * twice[0])


def test_features_without_a_count_expect_little_and_nothing_breaks():
    rows = np.zeros((100, 2))
    rows[:, 0] = RNG.poisson(3.0, 100)
    assert measure_scale("standard", COUNTS, rows).spread[1] == pytest.approx(0.005)


def test_no_scale_is_the_identity():
    assert not UNSCALED
    assert UNSCALED.of(PLAIN) is PLAIN
    assert UNSCALED.tensors() == {}
    assert UNSCALED.log_jacobian((6,)) == 0


def test_gaps_are_not_counted():
    rows = PLAIN * 7 + 3
    rows[RNG.random(rows.shape) < 0.3] = np.nan
    scale = measure_scale("standard", as_likelihood("gaussian"), rows)
    np.testing.assert_allclose(scale.offset, np.nanmean(rows, 0))
    np.testing.assert_allclose(scale.spread, np.nanstd(rows, 0))
