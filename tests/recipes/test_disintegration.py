"""The penalty on factors that live in several latents (docs/glossary.md)."""

import numpy as np
import pytest
import torch

from partita.distributions import STANDARD_NORMAL, DiagonalNormal
from partita.measures.labels import disintegration
from partita.recipes import RECIPES, build
from partita.trace import Batch, Trace
from partita.training import Ensemble, Model


def measured(means, labels, labelled=None) -> float:
    mean, u = (torch.as_tensor(values, dtype=torch.float64) for values in (means, labels))
    rows = None if labelled is None else torch.as_tensor(labelled, dtype=torch.float64)
    batch = Batch(x=mean, size=len(mean), u=u, labelled=rows)
    q = DiagonalNormal(mean, torch.zeros_like(mean))
    trace = Trace(batch, noise={}, knobs={}, networks={}, q=q, z=mean, prior=STANDARD_NORMAL)
    return float(disintegration(trace)["disintegration"])


def test_is_the_sum_of_squared_correlations_beyond_the_best():
    rng = np.random.default_rng(0)
    labels = rng.uniform(size=(40, 2))
    means = np.c_[labels @ rng.standard_normal((2, 2)), rng.standard_normal((40, 1))]
    labelled = rng.uniform(size=40) < 0.6
    link = np.corrcoef(means[labelled].T, labels[labelled].T)[:3, 3:] ** 2
    expected = (link.sum(0) - link.max(0)).sum()
    assert measured(means, labels, labelled) == pytest.approx(expected, abs=1e-10)


def test_one_latent_a_factor_costs_nothing_and_a_split_factor_does():
    grid = np.stack([column.ravel() for column in np.indices((5, 5))], 1).astype(float)
    assert measured(3 - 2 * grid[:, ::-1], grid) == pytest.approx(0, abs=1e-12)
    assert measured(np.c_[grid.sum(1), grid[:, 0] - grid[:, 1]], grid) == pytest.approx(1)


def test_no_labels_in_the_batch_is_no_penalty():
    rng = np.random.default_rng(1)
    assert measured(rng.standard_normal((6, 2)), rng.uniform(size=(6, 1)), np.zeros(6)) == 0


def trained_spread(weight: float) -> float:
    """A linear VAE of two independent factors: every rotation of its latents fits as well."""
    rng = np.random.default_rng(2)
    factors = rng.uniform(size=(600, 2)).astype(np.float32)
    x = ((factors - 0.5) @ rng.standard_normal((2, 6)) * 4 + 0.1 * rng.standard_normal((600, 6))).astype(np.float32)
    shown = np.arange(600) % 4 == 0
    options = {"latents": 2, "shape": (6,), "network": "linear", "likelihood": "gaussian:0.05", "labels": 2}
    recipe = build("vae", disintegration=weight, learning_rate=1e-2, **options).recipe
    runs = Ensemble([recipe], [0], x, u=factors, labelled=shown, batch_size=128, device=torch.device("cpu"))
    runs.advance(400)
    return measured(Model(recipe, runs.model(0), 1.0, runs.device).posterior(x)[0], factors)


def test_a_quarter_of_the_labels_turns_the_latents_to_the_factors():
    assert trained_spread(0.0) > 0.3
    assert trained_spread(20.0) < 0.1


TRAINED = [name for name in RECIPES if build(name, shape=(1,)).recipe.players and name != "infogan"]


@pytest.mark.parametrize("name", TRAINED)
def test_any_trained_method_takes_it(name):
    recipe = build(name, disintegration=2.0, shape=(4,), latents=2, labels=1).recipe
    assert recipe.labels in ("some", "all")
    x, u = np.random.default_rng(3).standard_normal((16, 4)).astype(np.float32), np.linspace(0, 1, 16)[:, None]
    runs = Ensemble([recipe], [0], x, u=u.astype(np.float32), batch_size=8, device=torch.device("cpu"))
    runs.advance(2)
    assert "disintegration" in runs.quantity_names
    assert np.isfinite(runs.read_quantities(2)).all()


def test_methods_in_closed_form_and_odd_weights_say_so():
    with pytest.raises(ValueError, match="closed form"):
        build("pca", disintegration=1.0, shape=(4,))
    with pytest.raises(ValueError, match="dreams"):
        build("infogan", disintegration=1.0, shape=(1, 28, 28), network="infogan")
    with pytest.raises(ValueError, match="disintegration must be"):
        build("vae", disintegration=-1.0, shape=(4,))
    assert build("pca", shape=(4,)).recipe.players == ()
