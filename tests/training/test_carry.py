"""What a step leaves to the next: a bank of the posteriors of the whole data set, numbers of each model."""

import math
from itertools import combinations

import numpy as np
import pytest
import torch

from partita.distributions import DiagonalNormal
from partita.kernels import log_mixture
from partita.measures.aggregate import aggregate_with_bank
from partita.recipes import RECIPES
from partita.training import Ensemble, Model
from partita.training.carry import Carried

CPU = torch.device("cpu")
BLOCKS = [(0, 1, 2), (0, 2), (1,)]


def posteriors(size: int, latents: int = 3):
    generator = torch.Generator().manual_seed(0)
    mean, log_variance, noise = (torch.randn(size, latents, generator=generator, dtype=torch.float64) for _ in range(3))
    return mean + torch.exp(0.5 * log_variance) * noise, mean, log_variance


def banked(mean, log_variance, rows):
    return torch.cat([mean[rows], log_variance[rows]], -1).mT.contiguous()


def test_a_whole_and_fresh_bank_is_exact():
    z, mean, log_variance = posteriors(20)
    bank = banked(mean, log_variance, list(range(5, 20)))
    q = DiagonalNormal(mean[:5], log_variance[:5])
    found = aggregate_with_bank(q, z[:5], BLOCKS, bank, size=20)
    exact = log_mixture(z, mean, log_variance, BLOCKS, own=torch.arange(20))[:5]
    torch.testing.assert_close(found, exact, atol=1e-12, rtol=1e-12)


def test_a_part_of_the_bank_is_unbiased_for_the_density():
    """The mean of q(z) over all choices of 2 of the 5 others is q(z) with all of them."""
    z, mean, log_variance = posteriors(8)
    q = DiagonalNormal(mean[:3], log_variance[:3])
    some = [
        aggregate_with_bank(q, z[:3], BLOCKS, banked(mean, log_variance, list(rows)), size=8).exp()
        for rows in combinations(range(3, 8), 2)
    ]
    exact = aggregate_with_bank(q, z[:3], BLOCKS, banked(mean, log_variance, list(range(3, 8))), size=8).exp()
    torch.testing.assert_close(torch.stack(some).mean(0), exact, atol=1e-12, rtol=1e-12)


def test_points_never_seen_do_not_count():
    z, mean, log_variance = posteriors(12)
    q = DiagonalNormal(mean[:4], log_variance[:4])
    bank = banked(mean, log_variance, list(range(4, 12)))
    bank[3:, 3:] = math.inf
    short = banked(mean, log_variance, [4, 5, 6])
    expected = aggregate_with_bank(q, z[:4], BLOCKS, short, size=12)
    torch.testing.assert_close(aggregate_with_bank(q, z[:4], BLOCKS, bank, size=12), expected)
    bank[3:] = math.inf
    alone = log_mixture(z[:4], mean[:4], log_variance[:4], BLOCKS, own=torch.arange(4))
    torch.testing.assert_close(aggregate_with_bank(q, z[:4], BLOCKS, bank, size=12), alone, atol=1e-12, rtol=1e-12)


@pytest.mark.parametrize(("size", "asked", "count"), [(100, 20, 28), (100, 1000, 100), (64, 64, 64), (9, 1, 9)])
def test_a_step_looks_at_distinct_points_and_never_twice_at_its_own(size, asked, count):
    recipe = RECIPES["pdisvae"](groups=(2, 1), latents=3, by=f"bank:{asked}", shape=(4,))
    carried = Carried(recipe, 2, size, 8, CPU)
    everyone = torch.arange(size, dtype=torch.float32).expand(2, size)
    carried.values["bank"][:, 0], carried.values["bank"][:, 3:] = everyone, 0.0
    index = torch.stack([torch.randperm(size)[:8] for _ in range(2)])
    shown = carried.shown(index)["bank"]
    assert shown.shape == (2, 6, count)
    for rows, own in zip(shown, index):
        seen = rows[0, rows[3] == 0].long().tolist()
        assert len(set(seen)) == len(seen) >= count - 8
        assert not set(seen) & set(own.tolist())


def runs(seeds, by="bank:40", learning_rate=1e-2):
    x = np.random.default_rng(0).standard_normal((64, 5)).astype(np.float32)
    options = {"groups": (2, 1), "latents": 3, "shape": (5,), "network": "linear", "likelihood": "gaussian:0.5"}
    recipe = RECIPES["pdisvae"](by=by, learning_rate=learning_rate, **options)
    return Ensemble([recipe] * len(seeds), seeds, x, batch_size=16, device=CPU), x


def test_after_one_epoch_of_a_model_that_stands_still_the_estimate_is_exact():
    ensemble, x = runs([0], by="bank:64", learning_rate=1e-30)
    ensemble.advance(4)
    ensemble.read_quantities(4)
    index, noise = ensemble.draws.index(4, 1)[0, 0], ensemble.draws.noise(4, 1)[0, 0]
    ensemble.advance(1)
    estimate = dict(zip(ensemble.quantity_names, ensemble.read_quantities(1)[:, 0]))["pc"]
    model = Model(ensemble.recipe, ensemble.model(0), dtype=torch.float64)
    mean, log_variance = map(torch.as_tensor, model.posterior(x))
    z = mean[index] + torch.exp(0.5 * log_variance[index]) * noise
    logs = log_mixture(z, mean, log_variance, [(0, 1, 2), (0, 1), (2,)], own=index)
    assert estimate == pytest.approx(float((logs[:, 0] - logs[:, 1:].sum(1)).mean()), abs=1e-5)


def test_together_as_alone_and_from_a_saved_state_as_without_a_break():
    together, alone, resumed = runs([3, 7])[0], runs([7])[0], runs([7])[0]
    together.advance(30)
    alone.advance(12)
    resumed.load_state({name: tensor.clone() for name, tensor in alone.state().items()}, alone.step)
    alone.advance(18)
    resumed.advance(18)
    for name, value in alone.model(0).items():
        torch.testing.assert_close(together.model(1)[name], value, atol=1e-5, rtol=1e-4)
        assert torch.equal(resumed.model(0)[name], value)


def test_the_whole_graph_compiles():
    ensemble = runs([0, 1])[0]
    ensemble.advance(2)
    index, noise = ensemble.draws.index(2, 1)[0], ensemble.draws.noise(2, 1)[0]
    carry = ensemble.carried.shown(index)
    arguments = (ensemble.parameters, carry, ensemble._observe(index), noise, ensemble.values(2, 1)[0])
    traced = torch.compile(ensemble._batched(0), fullgraph=True, dynamic=False, backend="aot_eager")
    torch.testing.assert_close(traced(*arguments)[0], ensemble._batched(0)(*arguments)[0])


@pytest.mark.parametrize("by", ["bank:0", "bank:many", "bank:-3", "bank:"])
def test_odd_banks_are_refused(by):
    with pytest.raises(ValueError, match="whole number"):
        RECIPES["beta_tcvae"](by=by, shape=(4,))


def test_a_bank_is_of_diagonal_posteriors():
    with pytest.raises(ValueError, match="diagonal"):
        RECIPES["pdisvae"](by="bank", posterior="full", shape=(4,))


def test_networks_that_normalise_by_the_batch_have_a_bank_too():
    x = np.random.default_rng(0).random((20, 1, 28, 28), dtype=np.float32)
    house = {"shape": (1, 28, 28), "latents": 3, "network": "infogan", "likelihood": "bernoulli"}
    recipe = RECIPES["beta_tcvae"](by="bank:10", **house)
    ensemble = Ensemble([recipe], [0], x, batch_size=8, device=CPU)
    ensemble.advance(2)
    before = ensemble.carried.values["bank"].clone()
    mean, _ = Model(recipe, ensemble.model(0)).posterior(x)
    assert np.isfinite(mean).all()
    assert torch.equal(ensemble.carried.values["bank"], before)


def test_an_estimator_is_named():
    with pytest.raises(ValueError, match="name of an estimator"):
        RECIPES["pdisvae"](by=None, shape=(4,))
    with pytest.raises(ValueError, match="naive, bank"):
        RECIPES["pdisvae"](by="banks", shape=(4,))
