"""How much memory an ensemble will take, said before any of it is allocated; and how many models fit.

One model's step is traced on tensors without storage, and what autograd keeps for the backward pass is added up.
"""

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.autograd.graph import saved_tensors_hooks

from partita.distributions import as_likelihood
from partita.networks._building import built
from partita.recipes import Recipe
from partita.training.carry import carried_by, rows_shown
from partita.training.draws import POINTS_A_SHUFFLE_BLOCK, STEPS_A_NOISE_BLOCK
from partita.training.objective import noise_columns, objective, values_at

# A parameter, its gradient, and Adam's two means.
COPIES_OF_A_PARAMETER = 4
# Of what the backward pass reads: gradients of activations come and go beside it. Measured, see docs/performance.md.
BACKWARD = 2.0
# The device's libraries and workspaces, whatever is trained.
FIXED = 400 << 20
# Of the free memory this much may be planned for: the allocator's pieces do not fill it.
USABLE = 0.8


def bytes_a_model(recipe: Recipe, size: int, batch_size: int, device: torch.device) -> int:
    """Predicted peak of one more model in an ensemble: parameters, activations, draws, and what steps leave behind."""
    if not recipe.players:
        return 0
    with FakeTensorMode(), device:
        modules = built(recipe.networks)
        columns = noise_columns(recipe, modules)
        parameters = {f"{name}.{key}": p for name, module in modules.items() for key, p in module.named_parameters()}
        rows, carry = _rows(recipe, batch_size), _carry(recipe, batch_size, size)
        noise, values = _floats(batch_size, columns), torch.tensor(values_at(recipe, 0), dtype=torch.float32)
        kept = [
            _kept(lambda turn=turn: objective(recipe, turn, modules, size, parameters, carry, rows, noise, values))
            for turn in range(len(recipe.players))
        ]
    numbers = sum(p.numel() for p in parameters.values())
    draws = 4 * STEPS_A_NOISE_BLOCK * batch_size * columns + 8 * max(size, POINTS_A_SHUFFLE_BLOCK)
    carried = sum(4 * len(one.start) * (size if one.rows else 1) for one in carried_by(recipe).values())
    seen = [*rows.values(), *carry.values()]
    observed = sum(tensor.numel() * tensor.element_size() for tensor in seen)
    return round(4 * COPIES_OF_A_PARAMETER * numbers + BACKWARD * max(kept) + 2 * observed + 2 * draws + carried)


def models_that_fit(recipe: Recipe, size: int, batch_size: int, device: torch.device, limit: int) -> int:
    """How many models the free memory bears, at most `limit`; ValueError where not even one."""
    free = free_bytes(device)
    if free is None:
        return limit
    each, room = bytes_a_model(recipe, size, batch_size, device), USABLE * free - FIXED
    if each > room:
        raise ValueError(
            f"one model of this kind needs about {in_words(each + FIXED)}, and {in_words(free)} are free on {device}: "
            "use a smaller batch or network, or another device"
        )
    return min(limit, int(room // max(1, each)))


def free_bytes(device: torch.device) -> int | None:
    """What is free on a GPU; a CPU's memory is the operating system's business."""
    return torch.cuda.mem_get_info(device)[0] if device.type == "cuda" else None


def in_words(count: float) -> str:
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{count / 1e6:.0f} MB"


def _floats(*shape: int) -> Tensor:
    return torch.empty(shape, dtype=torch.float32)


def _rows(recipe: Recipe, batch_size: int) -> dict[str, Tensor]:
    house = recipe.architecture
    rows = {"x": _floats(batch_size, *house.shape)}
    if house.labels:
        rows |= {"u": _floats(batch_size, house.labels)}
        rows |= {"labelled": _floats(batch_size)}
    if house.covariates:
        rows |= {"covariates": _floats(batch_size, house.covariates)}
    if as_likelihood(house.likelihood).counts:  # told what to expect, or not
        rows |= {"exposure": _floats(batch_size, *house.shape)}
    return rows


def _carry(recipe: Recipe, batch_size: int, size: int) -> dict[str, Tensor]:
    shapes = {
        name: (len(carry.start), rows_shown(carry, size, batch_size)) if carry.rows else (len(carry.start),)
        for name, carry in carried_by(recipe).items()
    }
    return {name: _floats(*shape) for name, shape in shapes.items()}


def _kept(compute) -> int:
    """Bytes of the distinct tensors that autograd keeps of a computation."""
    seen: dict[int, tuple[Tensor, int]] = {}

    def keep(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        seen[storage._cdata] = (tensor, storage.nbytes())
        return tensor

    with saved_tensors_hooks(keep, lambda tensor: tensor):
        compute()
    return sum(count for _, count in seen.values())
