import threading

import numpy as np
import pytest
import torch
from torch import nn

from partita.networks import BODIES
from partita.networks._building import Seeded, built
from partita.recipes import RECIPES, build
from partita.training.draws import seed_of
from partita.training.ensemble import initial_parameters


class Odd(nn.Module):
    """A user's own: every way of drawing that a constructor may choose."""

    def __init__(self):
        super().__init__()
        self.linear, self.recurrent, self.table = nn.Linear(3, 4), nn.GRU(3, 4), nn.Embedding(5, 2)
        self.attention = nn.MultiheadAttention(4, 2)
        self.plain = nn.Parameter(torch.randn(3, 2))
        self.whole, self.order = torch.randint(0, 100, (8,)), torch.randperm(9)
        self.coins = torch.bernoulli(torch.full((20,), 0.5))
        self.like, self.between = torch.rand_like(torch.zeros(3)), torch.normal(0.0, 1.0, (3,))
        self.chosen = torch.multinomial(torch.ones(6), 3)
        self.waits = torch.empty(4).exponential_()
        for fill in (nn.init.orthogonal_, nn.init.trunc_normal_, nn.init.xavier_normal_, nn.init.kaiming_normal_):
            setattr(self, fill.__name__, fill(torch.empty(4, 4)))
        nn.init.sparse_(self.linear.weight, 0.5)
        self.counts, self.half, self.of_numpy = torch.tensor([1, 2]), torch.tensor(0.1), torch.tensor(np.float64(0.1))
        self.sized, self.filled = torch.zeros(np.int64(3)), torch.full((2,), np.float64(0.1))


def tensors(module: nn.Module) -> dict[str, torch.Tensor]:
    return {**dict(module.named_parameters()), **{k: v for k, v in vars(module).items() if isinstance(v, torch.Tensor)}}


def by_the_global_generator(factories, seed: int) -> dict[str, nn.Module]:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return {name: make() for name, make in factories.items()}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_what_is_drawn_is_what_a_seeded_process_draws(dtype):
    expected = tensors(by_the_global_generator({"a": Odd}, 3)["a"])
    before = torch.get_rng_state()
    torch.set_default_dtype(dtype)
    try:
        found = tensors(built({"a": Odd}, 3)["a"])
    finally:
        torch.set_default_dtype(torch.float32)
    assert torch.equal(torch.get_rng_state(), before)
    assert {name: value.dtype for name, value in found.items()} == {n: v.dtype for n, v in expected.items()}
    assert [name for name, value in expected.items() if not torch.equal(found[name], value)] == []


@pytest.mark.parametrize("network", BODIES)
@pytest.mark.parametrize("method", RECIPES)
def test_every_method_begins_where_a_seeded_process_does(method, network):
    side = 28 if network == "infogan" else 32
    recipe = build(method, latents=4, shape=(1, side, side), network=network, likelihood="gaussian", labels=2).recipe
    modules = by_the_global_generator(recipe.networks, seed_of(7, "initial"))
    expected = {f"{name}.{key}": p for name, module in modules.items() for key, p in module.named_parameters()}
    found = initial_parameters(recipe, 7)
    assert found.keys() == expected.keys()
    assert all(torch.equal(found[name], value) for name, value in expected.items())


def test_a_mode_belongs_to_its_thread():
    inside, done = threading.Event(), threading.Event()

    def elsewhere():
        with Seeded(0):
            inside.set()
            done.wait(10)

    thread = threading.Thread(target=elsewhere)
    thread.start()
    inside.wait(10)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        first = torch.rand(2)
        torch.manual_seed(1)
        assert torch.equal(torch.rand(2), first)
    done.set()
    thread.join()


def test_what_cannot_be_told_a_generator_is_refused():
    with pytest.raises(ValueError, match="calls dropout while it is made"):
        built({"a": lambda: nn.Sequential(nn.Dropout())(torch.ones(3))})
