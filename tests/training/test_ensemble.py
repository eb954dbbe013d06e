import numpy as np
import pytest
import torch

from partita.recipes import RECIPES
from partita.training import Ensemble, fit
from partita.training.ensemble import initial_parameters

CPU = torch.device("cpu")


def test_the_engine_is_a_plain_pytorch_loop(x):
    """The same model trained by autograd and torch.optim as everybody writes it, on the same draws."""
    recipe = RECIPES["vae"](latents=3, shape=(8,), network="mlp", hidden=(16, 12), likelihood="gaussian")
    engine = Ensemble([recipe] * 2, [4, 9], x, batch_size=20, device=CPU)
    encoder, decoder = recipe.networks["encoder"](), recipe.networks["decoder"]()
    start = initial_parameters(recipe, 9)
    encoder.load_state_dict({k.removeprefix("encoder."): v for k, v in start.items() if k.startswith("encoder.")})
    decoder.load_state_dict({k.removeprefix("decoder."): v for k, v in start.items() if k.startswith("decoder.")})
    optimiser = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], 1e-3)
    for step in range(40):
        rows, noise = torch.tensor(x)[engine.draws.index(step, 1)[0, 1]], engine.draws.noise(step, 1)[0, 1]
        engine.advance(1)
        q = encoder(rows)
        px = decoder(q.mean + torch.exp(0.5 * q.log_variance) * noise)
        scale = torch.exp(0.5 * px.parameters["log_variance"])
        recon = -torch.distributions.Normal(px.mean, scale).log_prob(rows).sum(1).mean()
        posterior = torch.distributions.Normal(q.mean, torch.exp(0.5 * q.log_variance))
        kl = torch.distributions.kl_divergence(posterior, torch.distributions.Normal(0.0, 1.0)).sum(1).mean()
        optimiser.zero_grad()
        (recon + kl).backward()
        optimiser.step()
    expected = {f"encoder.{k}": v for k, v in encoder.state_dict().items()}
    expected |= {f"decoder.{k}": v for k, v in decoder.state_dict().items()}
    for name, value in engine.model(1).items():
        torch.testing.assert_close(value, expected[name], rtol=1e-3, atol=1e-4)


def test_one_models_nan_stays_its_own(x):
    recipe = RECIPES["pdisvae"](latents=4, groups=(2, 2), shape=(8,), network="linear")
    sick, well = Ensemble([recipe] * 3, [0, 1, 2], x, batch_size=20, device=CPU), None
    with torch.no_grad():
        next(iter(sick.parameters.values()))[1] = np.nan
    history = fit(sick, 30, log_every=10)
    assert history.diverged(1) == 10
    assert list(history.finite()) == [True, False, True]
    well = Ensemble([recipe] * 3, [0, 1, 2], x, batch_size=20, device=CPU)
    well.advance(30)
    for position in (0, 2):
        for name, value in well.model(position).items():
            torch.testing.assert_close(sick.model(position)[name], value)


def test_training_ends_when_no_model_is_left(x):
    recipe = RECIPES["vae"](latents=2, shape=(8,), network="linear")
    runs = Ensemble([recipe], [0], x, batch_size=20, device=CPU)
    with torch.no_grad():
        next(iter(runs.parameters.values()))[:] = np.nan
    fit(runs, 1000, log_every=10)
    assert runs.step == 10


def test_runs_of_different_structure_are_refused(x):
    recipes = [RECIPES["vae"](latents=k, shape=(8,), network="linear") for k in (2, 3)]
    with pytest.raises(ValueError, match="structure"):
        Ensemble(recipes, [0, 1], x, batch_size=20, device=CPU)


def test_a_schedule_moves_with_the_step(x):
    recipe = RECIPES["annealed_vae"](latents=2, shape=(8,), network="linear", capacity=10.0, anneal=20)
    runs = Ensemble([recipe], [0], x, batch_size=20, device=CPU)
    assert [runs.values(step, 1)[0, 0, -1].item() for step in (0, 10, 20, 99)] == [0.0, 5.0, 10.0, 10.0]


def test_logged_quantities_are_means_over_the_interval(x):
    recipe = RECIPES["vae"](latents=2, shape=(8,), network="linear")
    one, other = (Ensemble([recipe], [0], x, batch_size=20, device=CPU) for _ in range(2))
    one.advance(4)
    each = []
    for _ in range(4):
        other.advance(1)
        each.append(other.read_quantities(1))
    np.testing.assert_allclose(one.read_quantities(4), np.mean(each, 0), rtol=1e-5)


def test_eight_bit_images_are_scaled():
    images = np.random.default_rng(0).integers(0, 255, (30, 1, 32, 32), np.uint8)
    recipe = RECIPES["vae"](latents=2, shape=(1, 32, 32), network="burgess", likelihood="bernoulli")
    bytes_ = Ensemble([recipe], [0], images, x_scale=1 / 255, batch_size=10, device=CPU)
    floats = Ensemble([recipe], [0], (images / 255).astype(np.float32), batch_size=10, device=CPU)
    for runs in (bytes_, floats):
        runs.advance(2)
    np.testing.assert_allclose(bytes_.read_quantities(2), floats.read_quantities(2), rtol=1e-5)
