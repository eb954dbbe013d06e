"""What every network must do: those of the registry, and those that a person brings."""

from math import prod

import numpy as np
import pytest
import torch
from torch import nn

from partita.networks import BODIES
from partita.recipes import RECIPES, LatentMap, Passage, build
from partita.trace import Batch
from partita.training import Checkpoints, Ensemble, History, Model, fit
from partita.training.device import unwarned
from partita.training.latents import map_latents
from partita.training.memory import bytes_a_model

CPU = torch.device("cpu")
LATENTS = 3


class Residual(nn.Module):
    """z, or x, is read in several places, and once more at the very end."""

    def __init__(self, inputs: int, outputs: int):
        super().__init__()
        self.first, self.second = nn.Linear(inputs, 16), nn.Linear(16 + inputs, 16)
        self.last, self.skip = nn.Linear(16, outputs), nn.Linear(inputs, outputs, bias=False)

    def forward(self, h):
        h = h.flatten(1)
        once = self.first(h).tanh()
        twice = once + self.second(torch.cat([once, h], -1)).tanh()
        return self.last(twice) + self.skip(h)


def residual(shape, outputs, inputs):
    return Residual(prod(shape), outputs), nn.Sequential(Residual(inputs, prod(shape)), nn.Unflatten(1, shape))


class Block(nn.Module):
    """One dropout layer in two places, a batch normalisation, and a layer that writes into its input."""

    def __init__(self, width: int):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(width, width, bias=False), nn.BatchNorm1d(width, eps=1e-3), nn.ReLU(inplace=True)
        )
        self.drop = nn.Dropout(0.2)

    def forward(self, h):
        return self.drop(h + self.drop(self.layers(h)))


def noisy(shape, outputs, inputs):
    encoder = nn.Sequential(nn.Flatten(), nn.Linear(prod(shape), 16), Block(16), nn.Linear(16, outputs))
    decoder = nn.Sequential(nn.Linear(inputs, 16), Block(16), nn.Linear(16, prod(shape)), nn.Unflatten(1, shape))
    return encoder, decoder


def images(shape, outputs, inputs):
    """Normalised convolutions with dropout of channels, a constant, and a layer that is not trained."""
    fixed = nn.Conv2d(shape[0], 4, 3, padding=1).requires_grad_(False)
    encoder = nn.Sequential(
        fixed, nn.Conv2d(4, 8, 4, 4, bias=False), nn.BatchNorm2d(8), nn.ELU(), nn.Dropout2d(0.2), nn.Flatten(),
        nn.Linear(8 * (shape[1] // 4) * (shape[2] // 4), outputs),
    )  # fmt: skip
    return encoder, residual(shape, outputs, inputs)[1]


NETWORKS = {name: name for name in BODIES} | {own.__name__: own for own in (residual, noisy, images)}
networks = pytest.mark.parametrize("network", NETWORKS)
IMAGES = (1, 32, 32)
ODD = (2, 17, 20)


def recipe(network, method="vae", **options):
    shape = (1, 8, 8) if network not in BODIES or network in ("linear", "mlp", "infogan") else IMAGES
    shape = ODD if network == "conv" else shape
    house = {"latents": LATENTS, "shape": shape, "hidden": (16,), "likelihood": "gaussian:0.25"}
    return build(method, network=NETWORKS[network], **house, **options).recipe


def observations(chosen):
    rng = np.random.default_rng(0)
    shape = chosen.architecture.shape
    return (rng.normal(size=(40, 2)) @ rng.normal(size=(2, prod(shape)))).astype(np.float32).reshape(40, *shape)


def ensemble(chosen, seeds=(0,), **settings):
    return Ensemble([chosen] * len(seeds), list(seeds), observations(chosen), batch_size=10, device=CPU, **settings)


def maps():
    rng = np.random.default_rng(1)
    combination = LatentMap(rng.standard_normal(LATENTS), rng.standard_normal((LATENTS, LATENTS)) + 2 * np.eye(LATENTS))
    return [LatentMap.reordering((2, 0, 1)), combination, LatentMap.reordering(range(LATENTS))]


@networks
def test_it_says_which_layers_make_the_code_and_read_it(network):
    modules = ensemble(recipe(network)).modules
    makes, reads = modules["encoder"].makes_code, modules["decoder"].reads_code
    assert type(makes) is type(reads) is nn.Linear
    assert (makes.out_features, reads.in_features) == (2 * LATENTS, LATENTS)
    assert makes in modules["encoder"].modules()
    assert reads in modules["decoder"].modules()


@networks
@pytest.mark.parametrize("method", ["vae", "infogan"])
def test_with_mapped_latents_it_decodes_as_before(network, method):
    """Also where more than the latents goes into a decoder: InfoGAN's has a category and noise beside them. In training
    mode, where a normalisation takes the statistics of what it is given."""
    before, after = (ensemble(recipe(network, method), (0, 1, 2)) for _ in range(2))
    before.advance(2)
    map_latents(before, after, [Passage(maps())])
    x = torch.as_tensor(observations(before.recipe))
    more = sum(before.recipe.noise.values()) - LATENTS
    beside = torch.randn(40, more, generator=torch.Generator().manual_seed(0))
    changed = False
    for position, wanted in enumerate(maps()):
        old, new = (_modules(each, position) for each in (before, after))
        with torch.no_grad():
            means, mapped = (before.recipe.trace.encode(each, Batch(x, len(x))).mean for each in (old, new))
            expected = (means.double() - torch.as_tensor(wanted.centre)) @ torch.as_tensor(wanted.transform)
            torch.testing.assert_close(mapped.double(), expected, rtol=1e-4, atol=1e-4)
            decoded = [each["decoder"](torch.cat([z, beside], -1)).mean for each, z in ((old, means), (new, mapped))]
            torch.testing.assert_close(decoded[1], decoded[0], rtol=1e-4, atol=1e-4)
            elsewhere = old["decoder"](torch.cat([mapped, beside], -1)).mean
            changed |= bool((decoded[0] - elsewhere).abs().max() > 1e-3)
    assert changed  # the maps are such that a decoder left as it was would be wrong


def _modules(runs, position):
    own = runs.model(position)
    modules = Model(runs.recipe, own).networks
    return {name: module.train() for name, module in modules.items()}


@pytest.mark.parametrize("posterior", ["correlated", "full"])
def test_a_posterior_that_cannot_be_mapped_is_refused_in_words(posterior):
    before, after = (ensemble(recipe("residual", posterior=posterior), (0, 1, 2)) for _ in range(2))
    with pytest.raises(ValueError, match=f'posterior="{posterior}".*cannot|can be reordered, not combined'):
        map_latents(before, after, [Passage(maps())])


@networks
def test_gradients_reach_every_parameter(network):
    runs = ensemble(recipe(network))
    before = {name: p.detach().clone() for name, p in runs.parameters.items()}
    runs.advance(1)
    assert [name for name, p in runs.parameters.items() if torch.equal(before[name], p)] == []


@networks
def test_an_ensemble_equals_solo_runs(network):
    chosen = recipe(network)
    together = ensemble(chosen, (5, 6))
    together.advance(3)
    for position, seed in enumerate((5, 6)):
        alone = ensemble(chosen, (seed,))
        alone.advance(3)
        for name, value in alone.model(0).items():
            torch.testing.assert_close(together.model(position)[name], value, rtol=2e-4, atol=5e-5)


@pytest.mark.parametrize(
    "network", [name for name in NETWORKS if name not in BODIES or name in ("burgess", "conv", "infogan")]
)
def test_the_loss_is_one_graph(network):
    torch._dynamo.reset()
    runs = ensemble(recipe(network), (0, 1))
    index, noise = runs.draws.index(0, 1)[0], runs.draws.noise(0, 1)[0]
    arguments = (runs.parameters, runs.carried.shown(index), runs._observe(index), noise, runs.values(0, 1)[0])
    traced = torch.compile(runs._batched(0), fullgraph=True, dynamic=False, backend="aot_eager")
    with unwarned():  # what the compiler says of its caches is no failure
        found = traced(*arguments)[0]
    torch.testing.assert_close(found, runs._batched(0)(*arguments)[0])


@networks
def test_half_precision_is_near_the_whole(network):
    losses = []
    for precision in ("float32", "bf16"):
        runs = ensemble(recipe(network, precision=precision))
        runs.advance(1)
        assert all(p.dtype == torch.float32 for p in runs.parameters.values())
        losses.append(runs.read_quantities(1)[0])
    np.testing.assert_allclose(losses[1], losses[0], rtol=0.05)
    assert losses[1] != losses[0]


@networks
def test_its_memory_is_predicted(network):
    chosen = recipe(network)
    parameters = sum(p[0].numel() for p in ensemble(chosen).parameters.values())
    assert bytes_a_model(chosen, 1000, 64, CPU) > bytes_a_model(chosen, 1000, 32, CPU) > 16 * parameters


@networks
def test_it_goes_on_from_a_checkpoint_to_the_last_bit(network, tmp_path):
    chosen = recipe(network)
    whole, first, second = (ensemble(chosen, (0, 1)) for _ in range(3))
    kept = Checkpoints(tmp_path, ("a", "b"))
    fit(first, 2, log_every=2, checkpoints=kept)
    assert kept.restore(second, History(second.quantity_names, 2))
    for runs, steps in ((whole, 4), (second, 2)):
        runs.advance(steps)
    for name, value in whole.model(1).items():
        assert torch.equal(second.model(1)[name], value)


@networks
def test_a_trained_model_gives_every_row_its_own_code(network):
    """Nothing is dropped, and nothing depends on the other rows."""
    runs = ensemble(recipe(network))
    runs.advance(2)
    model, x = Model(runs.recipe, runs.model(0), dtype=torch.float64), observations(runs.recipe)
    mean, _ = model.posterior(x)
    np.testing.assert_allclose(model.posterior(x[7:8])[0], mean[7:8], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(model.decode(mean[7:8]), model.decode(mean)[7:8], rtol=1e-9, atol=1e-12)
    assert model.decode(mean).shape == x.shape


@pytest.mark.parametrize("method", RECIPES)
def test_every_method_takes_a_users_network(method):
    program = build(method, network=noisy, latents=LATENTS, shape=(6,), labels=2, likelihood="gaussian")
    rng = np.random.default_rng(0)
    x, u = rng.normal(size=(40, 6)).astype(np.float32), rng.random((40, 2))
    settings = {"batch_size": 10, "device": CPU, "finish": program.candidates[0].finish, "labelled": np.ones(40)}
    runs = Ensemble([program.recipe] * 2, [0, 1], x, u=u, **settings)
    runs.advance(2)
    model = Model(program.recipe, runs.model(1))
    mean, _ = model.posterior(x)
    assert np.isfinite(model.decode(mean)).all()


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("network", [name for name in NETWORKS if name not in BODIES])
def test_on_a_gpu_captured_steps_are_the_plain_ones(network):
    chosen, device = recipe(network), torch.device("cuda")
    captured, plain = (
        Ensemble([chosen] * 2, [0, 1], observations(chosen), batch_size=10, device=device) for _ in range(2)
    )
    captured.advance(10)
    for step, (index, noise) in enumerate(zip(plain.draws.index(0, 10), plain.draws.noise(0, 10))):
        plain.take_step(index, noise, plain.values(step, 1)[0])
    for name, value in plain.parameters.items():
        torch.testing.assert_close(captured.parameters[name], value, rtol=1e-3, atol=1e-4)
