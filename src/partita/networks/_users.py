"""Networks that a person brings: a function `(shape, outputs, inputs) -> (encoder, decoder)` of plain modules.

Each gets a linear layer of its own, the identity to begin with: one after the encoder, which makes the code, and one
before the decoder, which reads it. Latents are mapped there, whatever lies between.
"""

import logging
from collections.abc import Callable
from functools import lru_cache
from inspect import signature
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parameter import UninitializedParameter

from partita.networks._adapted import adapted
from partita.networks._building import Seeded
from partita.networks._trial import check_module

log = logging.getLogger("partita")
Shape = tuple[int, ...]
# (shape, outputs, inputs) -> (encoder, decoder); it may take a keyword `beside` too, the numbers beside x.
NetworkFunction = Callable[..., tuple[nn.Module, nn.Module]]


class UsersEncoder(nn.Sequential):
    """(x, beside) -> numbers of the code: a user's encoder, then the layer that makes the code. Where the encoder takes
    `beside` and there is nothing beside x, it gets (B, 0)."""

    def __init__(self, encoder: nn.Module, outputs: int):
        super().__init__(encoder, _identity(outputs))
        self.takes_beside = takes_beside(encoder.forward)

    def forward(self, x: Tensor, beside: Tensor | None = None) -> Tensor:
        if not self.takes_beside:
            return self[1](self[0](x))
        return self[1](self[0](x, beside=x.new_zeros(x.shape[0], 0) if beside is None else beside))


def bodies_of(network: NetworkFunction, shape: Shape, outputs: int, inputs: int, beside: int) -> tuple[Any, Any]:
    """The user's two modules, each with its own linear layer."""
    check_network(network, shape, outputs, inputs, beside)
    encoder, decoder = _called(network, shape, outputs, inputs, beside)
    return UsersEncoder(encoder, outputs), nn.Sequential(_identity(inputs), decoder)


@lru_cache(maxsize=64)
def check_network(network: NetworkFunction, shape: Shape, outputs: int, inputs: int, beside: int = 0) -> None:
    """ValueError where a user's network is not what it must be; by a batch of two rows, once."""
    name = name_of(network)
    with Seeded(0), torch.inference_mode(False), torch.device("cpu"):
        encoder, decoder = _called(network, shape, outputs, inputs, beside)
    own = beside if takes_beside(encoder.forward) else None
    if beside and own is None:
        log.warning("the encoder of network %s takes no `beside`: it sees x, and no labels or covariates", name)
    check_module(f"the encoder of network {name}", encoder, shape, (outputs,), "outputs", own)
    check_module(f"the decoder of network {name}", decoder, (inputs,), shape, "*shape")


def name_of(network: NetworkFunction) -> str:
    return getattr(network, "__qualname__", None) or repr(network)


def takes_beside(function: Callable) -> bool:
    return "beside" in signature(function).parameters


def _called(network: NetworkFunction, shape: Shape, outputs: int, inputs: int, beside: int) -> list[nn.Module]:
    extra = {"beside": beside} if takes_beside(network) else {}
    name = name_of(network)
    try:
        found = network(shape, outputs, inputs, **extra)
    except ValueError:
        raise
    except Exception as error:
        raise ValueError(f"network {name} failed: {type(error).__name__}: {error}") from error
    if not isinstance(found, tuple | list) or len(found) != 2 or not all(isinstance(m, nn.Module) for m in found):
        raise ValueError(
            f"network {name} must return two modules, (encoder, decoder), for (shape, outputs, inputs); got {found!r}"
        )
    encoder, decoder = found
    for module in found:
        names = [path for path, p in module.named_parameters() if isinstance(p, UninitializedParameter)]
        if names:
            raise ValueError(f"network {name} has a lazy layer, {names[0]}: give its size, which shape and inputs tell")
        if len(list(module.parameters())) != len(list(module.named_parameters(remove_duplicate=False))):
            raise ValueError(f"network {name} has one parameter in two places: call one layer twice instead")
    shared = {id(p) for p in encoder.parameters()} & {id(p) for p in decoder.parameters()}
    if shared:
        raise ValueError(f"encoder and decoder of network {name} share parameters; each needs its own")
    return [adapted(encoder), adapted(decoder)]


def _identity(width: int) -> nn.Linear:
    layer = nn.Linear(width, width)
    nn.init.eye_(layer.weight)
    nn.init.zeros_(layer.bias)
    return layer
