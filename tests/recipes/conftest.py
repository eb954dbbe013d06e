import numpy as np
import pytest
import torch

from partita.recipes import RECIPES, build
from partita.training import Ensemble, Model

HOUSE = {"latents": 6, "shape": (7,), "network": "linear", "likelihood": "gaussian:0.5"}


@pytest.fixture
def first_loss():
    """(method, **options) -> the first player's loss, quantities and gradients on one batch, in float64, seed 3.

    Gradients by name of parameter, those of networks it does not own left out.
    """

    def compute(method: str, **options):
        x = torch.randn(40, 7, generator=torch.Generator().manual_seed(5))
        ensemble = Ensemble([RECIPES[method](**options, **HOUSE)], [3], x, batch_size=16, device=torch.device("cpu"))
        owned = ensemble.owned(ensemble.recipe.players[0])
        parameters = {name: p.detach().double().requires_grad_() for name, p in ensemble.parameters.items()}
        index, noise = ensemble.draws.index(0, 1)[0], ensemble.draws.noise(0, 1)[0].double()
        shared = torch.randn(1, 16, 20, generator=torch.Generator().manual_seed(6), dtype=torch.float64)
        noise = shared[..., : noise.shape[-1]]  # methods differ in how much noise they take: the first columns are z's
        ensemble.modules = {name: module.double() for name, module in ensemble.modules.items()}
        values = ensemble.values(0, 1)[0].double()
        loss, quantities, _ = ensemble._batched(0)(parameters, {}, {"x": x[index].double()}, noise, values)
        gradients = torch.autograd.grad(loss.sum(), [parameters[name] for name in owned])
        return loss.item(), {name: q.item() for name, q in quantities.items()}, dict(zip(owned, gradients))

    return compute


@pytest.fixture
def trained():
    """(method, x, steps, seeds, **options) -> linear models, and each one's mean objective over the last 200 steps.

    `each` are options in which the models differ: they are trained as one ensemble, in little more time than one.
    """

    def train(method: str, x: np.ndarray, steps: int, seeds=(0,), learning_rate=5e-3, each=(), **options):
        house = {"shape": x.shape[1:], "network": "linear", "likelihood": "gaussian:0.09"} | options
        programs = [build(method, learning_rate=learning_rate, **house | own) for own in each or [{}] * len(seeds)]
        recipes, seeds = [program.recipe for program in programs], list(seeds) if not each else [0] * len(each)
        settings = {"batch_size": 256, "finish": programs[0].candidates[0].finish}
        runs = Ensemble(recipes, seeds, x, device=torch.device("cpu"), **settings)
        runs.advance(steps - 200)
        runs.read_quantities(1)
        runs.advance(200)
        losses = runs.read_quantities(200)[0]
        return [Model(recipe, runs.model(e)) for e, recipe in enumerate(recipes)], losses

    return train


@pytest.fixture
def mixed():
    """Sources mixed into ten noisy features by orthogonal columns of one length: second moments say nothing of axes."""

    def mix(sources: np.ndarray, seed: int = 0) -> np.ndarray:
        rng = np.random.default_rng(seed)
        mixing = 2 * np.linalg.qr(rng.normal(size=(10, sources.shape[1])))[0]
        return (sources @ mixing.T + 0.3 * rng.normal(size=(len(sources), 10))).astype(np.float32)

    return mix


@pytest.fixture
def aligned():
    """(models, x, sources, groups) -> R2 of the sources from each model's codes."""

    def scores(models, x: np.ndarray, sources: np.ndarray, groups=None) -> np.ndarray:
        from partita.structure import align

        return np.array([align(model.posterior(x)[0], sources, groups, groups).r2 for model in models])

    return scores


@pytest.fixture
def rings():
    """Two rings, (3000, 4): each pair of sources depends inside and not on the other."""
    angle = np.random.default_rng(0).uniform(0, 2 * np.pi, (3000, 2))
    return np.sqrt(2) * np.stack([np.cos(angle), np.sin(angle)], -1).reshape(3000, 4)
