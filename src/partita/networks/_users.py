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

from partita.networks._building import Seeded

log = logging.getLogger("partita")
Shape = tuple[int, ...]
# (shape, outputs, inputs) -> (encoder, decoder); it may take a keyword `beside` too, the numbers beside x.
NetworkFunction = Callable[..., tuple[nn.Module, nn.Module]]
ROWS = 2


class UsersEncoder(nn.Sequential):
    """(x, beside) -> numbers of the code: a user's encoder, then the layer that makes the code. Where the encoder takes
    `beside` and there is nothing beside x, it gets (B, 0)."""

    def __init__(self, encoder: nn.Module, outputs: int):
        super().__init__(encoder, _identity(outputs))
        self.takes_beside = takes_beside(encoder.forward)

    def forward(self, x: Tensor, beside: Tensor | None = None) -> Tensor:
        if not self.takes_beside:
            return self[1](self[0](x))
        return self[1](self[0](x, beside=x.new_zeros(len(x), 0) if beside is None else beside))


def bodies_of(network: NetworkFunction, shape: Shape, outputs: int, inputs: int, beside: int) -> tuple[Any, Any]:
    """The user's two modules, each with its own linear layer."""
    check_network(network, shape, outputs, inputs, beside)
    encoder, decoder = _called(network, shape, outputs, inputs, beside)
    return UsersEncoder(encoder, outputs), nn.Sequential(_identity(inputs), decoder)


@lru_cache(maxsize=64)
def check_network(network: NetworkFunction, shape: Shape, outputs: int, inputs: int, beside: int = 0) -> None:
    """ValueError where a user's network is not what it must be; by a batch of two rows, once."""
    name = name_of(network)
    with Seeded(0), torch.inference_mode(False), torch.no_grad(), torch.device("cpu"):
        encoder, decoder = _called(network, shape, outputs, inputs, beside)
        x, z = torch.zeros(ROWS, *shape, dtype=torch.float32), torch.zeros(ROWS, inputs, dtype=torch.float32)
        own = {"beside": torch.zeros(ROWS, beside, dtype=torch.float32)} if takes_beside(encoder.forward) else {}
        if beside and not own:
            log.warning("the encoder of network %s takes no `beside`: it sees x, and no labels or covariates", name)
        _check_output(f"the encoder of network {name}", encoder, x, own, (outputs,), "outputs")
        _check_output(f"the decoder of network {name}", decoder, z, {}, shape, "*shape")


def name_of(network: NetworkFunction) -> str:
    return getattr(network, "__qualname__", None) or repr(network)


def takes_beside(function: Callable) -> bool:
    return "beside" in signature(function).parameters


def _called(network: NetworkFunction, shape: Shape, outputs: int, inputs: int, beside: int) -> list[nn.Module]:
    extra = {"beside": beside} if takes_beside(network) else {}
    found, name = network(shape, outputs, inputs, **extra), name_of(network)
    if not isinstance(found, tuple | list) or len(found) != 2 or not all(isinstance(m, nn.Module) for m in found):
        raise ValueError(
            f"network {name} must return two modules, (encoder, decoder), for (shape, outputs, inputs); got {found!r}"
        )
    encoder, decoder = found
    for module in found:
        names = [path for path, p in module.named_parameters() if isinstance(p, UninitializedParameter)]
        if names:
            raise ValueError(f"network {name} has a lazy layer, {names[0]}: give its size, which shape and inputs tell")
    shared = {id(p) for p in encoder.parameters()} & {id(p) for p in decoder.parameters()}
    if shared:
        raise ValueError(f"encoder and decoder of network {name} share parameters; each needs its own")
    return [encoder, decoder]


def _check_output(who: str, module: nn.Module, given: Tensor, own: dict, expected: Shape, word: str) -> None:
    module.eval()
    try:
        made = module(given, **own)
    except Exception as error:  # anything may go wrong in somebody's own code
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise ValueError(f"{who} cannot take a batch of shape {tuple(given.shape)}: {reason}") from error
    if not isinstance(made, Tensor):
        raise ValueError(f"{who} must return one tensor, got {type(made).__name__}")
    if made.shape != (len(given), *expected):
        raise ValueError(
            f"{who} makes {tuple(made.shape)} of a batch of shape {tuple(given.shape)}: it must make "
            f"{(len(given), *expected)}, that is (batch, {word})"
        )


def _identity(width: int) -> nn.Linear:
    layer = nn.Linear(width, width)
    nn.init.eye_(layer.weight)
    nn.init.zeros_(layer.bias)
    return layer
