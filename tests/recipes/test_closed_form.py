"""Baselines in closed form: against scikit-learn, and against what gradient descent finds."""

import logging

import numpy as np
import pytest
import torch
from sklearn.decomposition import PCA
from torch import nn

from partita.data import load
from partita.estimator import Disentangler
from partita.measures._ica import independent_coordinates, unmixing
from partita.recipes import RECIPES, build
from partita.structure import align, unmixed
from partita.training import Ensemble, Model

CPU = torch.device("cpu")


def solved(method, x, latents, steps=1, seed=0, **options):
    program = build(method, latents=latents, shape=x.shape[1:], **options)
    recipe, settings = program.recipe, {"finish": program.candidates[0].finish, "device": CPU}
    ensemble = Ensemble([recipe], [seed], x, batch_size=min(128, len(x)), **settings)
    ensemble.advance(steps)
    return ensemble, Model(recipe, ensemble.model(0), dtype=torch.float64)


@pytest.fixture(scope="module")
def x():
    return np.array(load("groups", size=500).x)


@pytest.fixture(scope="module")
def sources():
    data = load("independent")
    return np.array(data.x), data.truth


def test_pca_is_scikit_learns(x):
    _, model = solved("pca", x, 6)
    theirs = PCA(6).fit(x)
    mean, log_variance = model.posterior(x)
    np.testing.assert_allclose(abs(np.corrcoef(mean.T, theirs.transform(x).T)[:6, 6:]), np.eye(6), atol=1e-4)
    spectrum = theirs.explained_variance_ * (len(x) - 1) / len(x)
    noise = theirs.noise_variance_ * (len(x) - 1) / len(x)
    np.testing.assert_allclose(np.exp(log_variance[0]), noise / spectrum, rtol=1e-4)
    np.testing.assert_allclose(mean.var(0), 1 - noise / spectrum, rtol=1e-3)  # of the model's N(0, 1) the posterior's


def test_the_elbo_of_pca_is_the_log_likelihood(x):
    """The posterior is exact, so recon + KL is -log p(x) with expectation over z; here averaged over many draws."""
    _, model = solved("pca", x, 6)
    elbos = [-np.add(*model.bound(x, seed)).mean() for seed in range(40)]
    assert np.mean(elbos) == pytest.approx(PCA(6).fit(x).score(x), abs=0.02)


def test_pca_is_what_a_linear_vae_learns(x):
    """Gradient descent on the ELBO comes close to the closed form and never above it."""
    best = -np.add(*solved("pca", x, 2)[1].bound(x)).mean()
    _, trained = solved("vae", x, 2, steps=1500, network="linear", likelihood="gaussian", learning_rate=1e-2)
    learned = -np.add(*trained.bound(x)).mean()
    assert best - 0.5 < learned < best + 0.05


def test_ica_finds_independent_sources_and_pca_does_not(sources):
    x, truth = sources
    recovered = {}
    for method in ("ica", "pca"):
        codes = solved(method, x, 3)[1].posterior(x)[0]
        recovered[method] = abs(np.corrcoef(codes.T, truth.T)[:3, 3:])
    assert recovered["ica"].max(0).min() > 0.97
    assert recovered["pca"].max(0).min() < 0.9


def test_ica_codes_are_white_and_decode_like_pca(x):
    _, ica = solved("ica", x, 6)
    codes = ica.posterior(x)[0]
    np.testing.assert_allclose(np.cov(codes.T, bias=True), np.eye(6), atol=1e-4)
    plane = PCA(6).fit(x)
    np.testing.assert_allclose(ica.decode(codes), plane.inverse_transform(plane.transform(x)), atol=1e-4)


def test_autoencoder_codes_are_untangled_without_touching_reconstructions(sources):
    x, truth = sources
    ensemble, model = solved("ae_ica", x, 3, steps=800, network="mlp", hidden=(32,), learning_rate=5e-3)
    raw = {name: p.detach()[0] for name, p in ensemble.parameters.items()}
    before = Model(ensemble.recipe, raw, dtype=torch.float64)
    np.testing.assert_allclose(model.reconstruct(x), before.reconstruct(x), atol=1e-4)
    codes = model.posterior(x)[0]
    np.testing.assert_allclose(np.cov(codes.T), np.eye(3), atol=1e-4)
    tangled, untangled = (abs(np.corrcoef(m.posterior(x)[0].T, truth.T)[:3, 3:]).max(0).min() for m in (before, model))
    assert untangled > 0.9
    assert untangled > tangled + 0.1


def skipping(shape, outputs, inputs):
    class Skipping(nn.Module):
        def __init__(self, inputs, outputs):
            super().__init__()
            self.first, self.last = nn.Linear(inputs, 9), nn.Linear(9 + inputs, outputs)

        def forward(self, h):
            return self.last(torch.cat([self.first(h).relu(), h], -1))

    return Skipping(shape[0], outputs), Skipping(inputs, shape[0])


def test_codes_of_a_users_network_are_untangled_too(sources):
    x, _ = sources
    ensemble, model = solved("ae_ica", x, 3, steps=30, network=skipping)
    before = Model(
        ensemble.recipe, {name: p.detach()[0] for name, p in ensemble.parameters.items()}, dtype=torch.float64
    )
    np.testing.assert_allclose(model.reconstruct(x), before.reconstruct(x), atol=1e-4)
    np.testing.assert_allclose(np.cov(model.posterior(x)[0].T), np.eye(3), atol=1e-4)


def test_a_layer_that_reads_codes_may_have_no_bias():
    """InfoGAN's networks, whose normalisations would take it off."""
    x = np.random.default_rng(0).random((60, 1, 8, 8), dtype=np.float32)
    _, model = solved("ae_ica", x, 2, steps=3, network="infogan")
    assert np.isfinite(model.reconstruct(x)).all()


def test_a_dead_code_does_not_hurt():
    """A code of no variance at all stays where it is; the others are untangled."""
    rng = np.random.default_rng(0)
    x = np.hstack([rng.uniform(-1, 1, (400, 2)), np.zeros((400, 2))]).astype(np.float32)
    ensemble, _ = solved("ae_ica", x, 3, steps=1, network="linear")
    with torch.no_grad():
        ensemble.parameters["encoder.body.1.weight"][0, 2] = 0
    model = Model(ensemble.recipe, ensemble.model(0))
    assert np.isfinite(model.posterior(x)[0]).all()
    assert np.isfinite(model.reconstruct(x)).all()


@pytest.mark.parametrize("likelihood", ["bernoulli", "gaussian"])
def test_widths_are_the_curvature_of_the_decoder(likelihood):
    """Fisher information by automatic differentiation: sum p (1 - p) J^2, or sum J^2 / variance."""
    x = (np.array(load("pdsprites").x[:60]) > 0).astype(np.float32)
    house = {"network": "mlp", "hidden": (12,), "likelihood": likelihood}
    _, model = solved("ae_ica", x, 2, steps=30, **house)
    z = torch.as_tensor(model.posterior(x)[0])
    decoder = model.networks["decoder"]
    outputs = torch.func.vmap(torch.func.jacrev(lambda one: decoder.body(one[None])[0]))(z).flatten(1, -2)
    p = decoder(z).mean.flatten(1)
    weight = p * (1 - p) if likelihood == "bernoulli" else torch.exp(-decoder.log_variance) * torch.ones_like(p)
    fisher = (weight.unsqueeze(-1) * outputs.square()).sum(1).mean(0)
    np.testing.assert_allclose(np.exp(model.posterior(x)[1][0]), 1 / (1 + fisher.numpy()), rtol=1e-3)


def test_images_and_bytes():
    images = (np.array(load("pdsprites").x[:200]) * 255).astype(np.uint8)
    program = RECIPES["pca"](latents=4, shape=(1, 32, 32), network="burgess", likelihood="bernoulli")
    settings = {"x_scale": 1 / 255, "batch_size": 64, "finish": program.candidates[0].finish}
    ensemble = Ensemble([program.recipe], [0], images, device=CPU, **settings)
    model = Model(program.recipe, ensemble.model(0), 1 / 255)
    assert model.reconstruct(images).shape == images.shape
    assert model.sample(5).shape == (5, 1, 32, 32)


@pytest.mark.parametrize("method", ["pca", "ica"])
def test_more_latents_than_there_are(method):
    x = np.random.default_rng(0).normal(size=(30, 3)).astype(np.float32)
    with pytest.raises(ValueError, match=r"4 latents are more .* 3 feature\(s\)"):
        solved(method, x, 4)
    _, full = solved(method, x, 3)  # nothing left over for noise
    np.testing.assert_allclose(full.reconstruct(x), x, atol=1e-2)


@pytest.mark.parametrize("method", ["pca", "ica", "ae_ica"])
def test_their_posterior_is_diagonal(method):
    with pytest.raises(ValueError, match=f"{method} has a diagonal posterior"):
        RECIPES[method](shape=(4,), posterior="full")


def test_gaussian_data_are_no_reason_to_fail():
    white = np.random.default_rng(0).normal(size=(300, 4))
    rotation = unmixing(white, 0)
    np.testing.assert_allclose(rotation @ rotation.T, np.eye(4), atol=1e-6)
    assert unmixing(white[:, :1], 0).tolist() == [[1.0]]


def test_unmixing_leaves_directions_without_variance_as_they_are():
    codes = np.random.default_rng(0).laplace(size=(5, 8))
    centre, transform = independent_coordinates(codes, 0, logging.DEBUG)
    lengths = np.linalg.svd(transform, compute_uv=False)
    flat = np.linalg.matrix_rank(codes - centre)
    assert flat == 4
    np.testing.assert_allclose(np.cov(((codes - centre) @ transform).T)[:4, :4], np.eye(4), atol=1e-8)
    assert (np.abs(lengths - 1) < 1e-8).sum() >= 4
    np.testing.assert_array_equal(np.abs(independent_coordinates(np.ones((9, 3)), 0)[1]), np.eye(3)[::-1])


@pytest.mark.parametrize("groups", [(2, 2, 2), "auto", ((0, 3), (1, 4), (2, 5))])
def test_ica_with_groups_finds_them_and_trains_nothing(groups):
    data = load("groups", size=2000)
    model = Disentangler("ica", latents=6, groups=groups).fit(data.x)
    expected = ((0, 1), (2, 3), (4, 5)) if groups != ((0, 3), (1, 4), (2, 5)) else groups
    assert model.groups_ == expected
    assert align(model.transform(data.x), data.truth, model.groups_, data.truth_groups).r2 > 0.97
    found = unmixed(data.x, 6, (2, 2, 2), bends=False)
    correlation = np.corrcoef(model.transform(data.x).T, found.codes(data.x).T)[:6, 6:]
    np.testing.assert_allclose(np.sort(np.abs(correlation), 1)[:, -1], 1.0, atol=2e-3)
    noise = model.parameters_["decoder.log_variance"].exp()
    np.testing.assert_allclose(noise.numpy(), found.principal.noise, rtol=1e-4)
    assert set(model.history_) == {"step"}


def test_ica_without_groups_is_what_it_was_and_says_what_it_is(x, capsys):
    Disentangler("ica", latents=2, verbose=True).fit(x)
    said = capsys.readouterr().out
    assert "network linear: in closed form" in said
    assert "step" not in said
