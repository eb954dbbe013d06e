"""A user's module tried on two rows, alone and as two models at once, before anything is trained."""

from math import prod
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call, vmap

from partita.networks._dropout import keyed

ROWS = MODELS = 2
# What PyTorch says where a step cannot be made of a module, and what to do about it.
ADVICE = {
    "randomness": "it draws numbers while it computes; use nn.Dropout as a layer, whose noise the run draws",
    "data-dependent": "it looks at values to decide what to do; use torch.where",
    "not yet support": "PyTorch cannot compute one of its layers for several models at once; use another",
    "running": "it keeps running statistics; use nn.BatchNorm1d, 2d or 3d, or a normalisation without them",
}


def check_module(
    who: str, module: nn.Module, given: tuple[int, ...], wanted: tuple[int, ...], word: str, beside: int | None = None
) -> None:
    """ValueError, in words about `who`, unless the module makes (B, *wanted) of (B, *given), and of `beside` numbers
    beside it where it takes them, and can be trained in an ensemble."""
    # modes that are on are for making modules, not for calling them
    with torch._C.DisableTorchFunction(), torch.inference_mode(False), torch.enable_grad():
        inputs = {"x": _rows(*given)} | ({} if beside is None else {"beside": _rows(beside)})
        shape = (ROWS, *given)
        made = _tried(f"{who} cannot take a batch of shape {shape}", _called, module.eval(), {}, inputs)
        if not isinstance(made, Tensor):
            raise ValueError(f"{who} must return one tensor, got {type(made).__name__}")
        if made.shape != (ROWS, *wanted):
            raise ValueError(
                f"{who} makes {tuple(made.shape)} of a batch of shape {shape}: it must make {(ROWS, *wanted)}, that is "
                f"(batch, {word})"
            )
        if any(each._version for each in inputs.values()):
            raise ValueError(f"{who} writes into its input, which others need: use inplace=False in its first layer")
        _check_together(who, module.train(), inputs)


def _check_together(who: str, module: nn.Module, inputs: dict[str, Tensor]) -> None:
    """As in a step: two models, and gradients."""

    def one(parameters: dict[str, Tensor], key: Tensor, rows: dict[str, Tensor]) -> Tensor:
        return _called(module, {**parameters, **keyed(module, key)}, rows)

    before = [buffer._version for buffer in module.buffers()]
    names = [name for name, _ in module.named_parameters()]
    stacked = [torch.stack([p.detach()] * MODELS).requires_grad_() for p in module.parameters()]
    rows = {name: torch.stack([each] * MODELS) for name, each in inputs.items()}
    failed = f"{who} cannot be trained in an ensemble"
    made = _tried(failed, vmap(one), dict(zip(names, stacked)), _rows(), rows)
    if [buffer._version for buffer in module.buffers()] != before:
        raise ValueError(f"{failed}: it writes into a buffer, and a step may leave nothing behind")
    reached = [None] * len(names)
    if made.requires_grad:
        reached = _tried(failed, lambda: torch.autograd.grad(made.sum(), stacked, allow_unused=True))
    idle = [name for name, gradient in zip(names, reached) if gradient is None]
    if idle:
        raise ValueError(f"{who} has parameters without a part in what it makes ({', '.join(idle)}): leave them out")


def _tried(words: str, function: Any, *arguments: Any) -> Any:
    try:
        return function(*arguments)
    except Exception as error:  # anything may go wrong in somebody's own code
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        reason = next((advice for word, advice in ADVICE.items() if word in reason), reason)
        raise ValueError(f"{words}: {reason}") from error


def _called(module: nn.Module, parameters: dict[str, Tensor], inputs: dict[str, Tensor]) -> Any:
    beside = {name: value for name, value in inputs.items() if name != "x"}
    return functional_call(module, parameters, (inputs["x"],), beside)


def _rows(*shape: int) -> Tensor:
    return torch.linspace(-1, 1, ROWS * prod(shape), dtype=torch.float32, device="cpu").view(ROWS, *shape)
