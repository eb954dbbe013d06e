"""The identities between methods (docs/glossary.md, Identities) as equalities of losses on the same draws."""

import pytest
import torch

from partita.recipes import RECIPES
from partita.training import Ensemble

HOUSE = {"latents": 6, "shape": (7,), "network": "linear", "likelihood": "gaussian:0.5"}


def loss_and_gradient(method: str, **options):
    """The loss of one batch and its gradient, in float64, from seed 3."""
    x = torch.randn(40, 7, generator=torch.Generator().manual_seed(5))
    recipe = RECIPES[method](**options, **HOUSE)
    ensemble = Ensemble([recipe], [3], x, batch_size=16, device=torch.device("cpu"))
    parameters = {name: p.detach().double().requires_grad_() for name, p in ensemble.parameters.items()}
    index, noise = ensemble.draws.index(0, 1)[0], ensemble.draws.noise(0, 1)[0].double()
    ensemble.modules = {name: module.double() for name, module in ensemble.modules.items()}
    loss, *_ = ensemble._batched(0)(parameters, {}, {"x": x[index].double()}, noise, ensemble.values(0, 1)[0].double())
    return loss.item(), torch.autograd.grad(loss.sum(), list(parameters.values()))


def assert_same(one, other):
    assert one[0] == pytest.approx(other[0], rel=1e-12)
    for a, b in zip(one[1], other[1]):
        torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-11)


VAE = ("vae", {})


@pytest.mark.parametrize("beta", [0.0, 1.0, 7.5])
def test_x1_one_group_is_the_vae_for_every_beta(beta):
    assert_same(loss_and_gradient("pdisvae", groups=(6,), beta=beta), loss_and_gradient("vae"))


@pytest.mark.parametrize("by", ["importance", "mss", "mws", "naive", "mss_published"])
def test_x2_single_latents_are_beta_tcvae(by):
    extra = loss_and_gradient("pdisvae", groups=None, beta=3.0, by=by)
    assert_same(extra, loss_and_gradient("beta_tcvae", beta=4.0, by=by))


def test_x6_grouping_one_is_beta_tcvae():
    assert_same(loss_and_gradient("beta_stcvae", grouping=1, beta=4.0), loss_and_gradient("beta_tcvae", beta=4.0))


def test_x7_grouping_all_is_not_the_vae():
    assert abs(loss_and_gradient("beta_stcvae", grouping=6, beta=4.0)[0] - loss_and_gradient("vae")[0]) > 1e-3


@pytest.mark.parametrize(
    ("hfvae", "method", "options"),
    [
        ({"gamma": 0.0, "beta": 5.0}, "beta_stcvae", {"grouping": 2, "beta": 5.0}),
        ({"gamma": 1.0, "beta": 5.0}, "pdisvae", {"groups": (2, 2, 2), "beta": 4.0}),
        ({"gamma": 5.0, "beta": 5.0}, "beta_tcvae", {"beta": 5.0}),
        ({"gamma": 1.0, "beta": 1.0}, "vae", {}),
    ],
)
def test_x8_hfvae_contains_the_others(hfvae, method, options):
    assert_same(loss_and_gradient("hfvae", groups=(2, 2, 2), **hfvae), loss_and_gradient(method, **options))


@pytest.mark.parametrize(
    ("method", "options"),
    [("beta_tcvae", {"beta": 1.0}), ("pdisvae", {"groups": (3, 3), "beta": 0.0}), ("beta_vae", {"beta": 1.0})],
)
def test_x9_without_a_penalty_all_are_the_vae(method, options):
    assert_same(loss_and_gradient(method, **options), loss_and_gradient("vae"))


def test_x9_beta_stcvae_is_not():
    assert abs(loss_and_gradient("beta_stcvae", grouping=2, beta=1.0)[0] - loss_and_gradient("vae")[0]) > 1e-3


def test_groups_may_be_any_partition():
    """Renaming latents renames groups: the loss of permuted groups on permuted codes is the same."""
    a = loss_and_gradient("pdisvae", groups=((0, 3), (1,), (2, 4, 5)))[0]
    b = loss_and_gradient("pdisvae", groups=((2, 5, 4), (3, 0), (1,)))[0]
    assert a == pytest.approx(b, rel=1e-12)
