"""Latents exchanged for combinations of themselves: every model decodes as before."""

import numpy as np
import pytest
import torch
from torch import nn

from partita.measures._ica import independent_coordinates
from partita.recipes import RECIPES, LatentMap, Passage
from partita.recipes.restarts import put_together
from partita.training import Model
from partita.training.latents import codes_of, map_latents
from partita.training.program import passed

CPU = torch.device("cpu")


class Skipping(nn.Module):
    """z is read at both ends."""

    def __init__(self, inputs: int, outputs: int):
        super().__init__()
        self.first, self.last = nn.Linear(inputs, 9), nn.Linear(9 + inputs, outputs)

    def forward(self, z):
        return self.last(torch.cat([self.first(z).relu(), z], -1))


def residual(shape, outputs, inputs):
    return Skipping(shape[0], outputs), Skipping(inputs, shape[0])


NETWORKS = pytest.mark.parametrize("network", ["linear", "mlp", residual])
HOUSE = {"latents": 6, "shape": (20,), "network": "linear", "likelihood": "gaussian:0.25", "learning_rate": 3e-3}


@NETWORKS
def test_a_model_with_mapped_latents_decodes_as_before(data, network, make):
    recipe = RECIPES["pdisvae"](**HOUSE | {"network": network, "hidden": (9,)})
    warm, onward = (make([recipe] * 2, [0, 1]) for _ in range(2))
    warm.advance(30)
    rng = np.random.default_rng(0)
    wanted = LatentMap(rng.standard_normal(6), rng.standard_normal((6, 6)) + 2 * np.eye(6))
    map_latents(warm, onward, [Passage([wanted, LatentMap.reordering(range(6))])])
    before, after = (Model(recipe, e.model(0), dtype=torch.float64) for e in (warm, onward))
    means, log_variances = before.posterior(data.x)
    mapped, widths = after.posterior(data.x)
    np.testing.assert_allclose(mapped, (means - wanted.centre) @ wanted.transform, atol=1e-4)
    np.testing.assert_allclose(after.decode(mapped), before.decode(means), atol=1e-3)
    expected = np.exp(log_variances).mean(0) @ wanted.transform**2
    np.testing.assert_allclose(np.exp(widths), np.tile(expected, (300, 1)), rtol=1e-4)
    untouched = (e.model(1) for e in (warm, onward))
    assert all(torch.equal(a, b) for a, b in zip(*(model.values() for model in untouched)))


@NETWORKS
def test_regrouping_renames_latents_and_changes_nothing_else(data, network, make):
    """Every model decodes as before, and its codes are those before in another order, optimiser state included."""
    house = HOUSE | {"network": network, "hidden": (9,)}
    groups = ((0, 3), (1, 4), (2, 5))
    single, grouped = RECIPES["pdisvae"](**house), RECIPES["pdisvae"](groups=groups, **house)
    warm, onward = (make([recipe] * 2, [0, 1]) for recipe in (single, grouped))
    warm.advance(60)
    map_latents(warm, onward, passed(warm, put_together, [groups] * 2))
    assert onward.step == 60
    moved = False
    for position in range(2):
        before = Model(single, warm.model(position)).posterior(data.x)
        after = Model(grouped, onward.model(position)).posterior(data.x)
        order = [int(np.abs(before[0] - after[0][:, [k]]).sum(0).argmin()) for k in range(6)]
        assert sorted(order) == list(range(6))
        moved |= order != list(range(6))
        for a, b in zip(before, after):
            np.testing.assert_allclose(a[:, order], b, atol=1e-6)
        np.testing.assert_allclose(
            Model(single, warm.model(position)).decode(before[0]),
            Model(grouped, onward.model(position)).decode(after[0]),
            atol=1e-5,
        )
        bias = warm.modules["encoder"].makes_code.bias
        last = next(f"encoder.{name}" for name, p in warm.modules["encoder"].named_parameters() if p is bias)
        moments = [e.optimisers[0].state[e.parameters[last]]["exp_avg"][position] for e in (warm, onward)]
        torch.testing.assert_close(moments[0][order + [6 + k for k in order]], moments[1])
    assert moved


@NETWORKS
def test_every_second_restart_is_unmixed_and_decodes_as_before(data, network, make):
    house = HOUSE | {"network": network, "hidden": (9,)}
    single, grouped = RECIPES["pdisvae"](**house), RECIPES["pdisvae"](groups=(3, 2, 1), **house)
    warm, onward = (make([recipe] * 4, [0, 1, 2, 3]) for recipe in (single, grouped))
    warm.advance(60)
    map_latents(warm, onward, passed(warm, put_together, [grouped.groups] * 2, 2))
    for position in range(4):
        before, after = Model(single, warm.model(position)), Model(grouped, onward.model(position))
        old, new = before.posterior(data.x)[0], after.posterior(data.x)[0]
        np.testing.assert_allclose(after.decode(new), before.decode(old), atol=1e-4)
        if position % 2:
            drawn = codes_of(before, data.x, CPU).z.numpy()
            centre, transform = independent_coordinates(drawn, position)
            np.testing.assert_allclose(np.cov(((drawn - centre) @ transform).T), np.eye(6), atol=1e-6)
            old = (old - centre) @ transform
        order = [int(np.abs(old - new[:, [k]]).max(0).argmin()) for k in range(6)]
        assert sorted(order) == list(range(6))
        np.testing.assert_allclose(new, old[:, order], atol=1e-4)
