"""What is left to do once the steps are over: closed forms, and the statistics batch normalisation goes on with."""

from collections.abc import Callable, Mapping, Sequence
from inspect import signature
from math import prod

import numpy as np
import torch
from torch import Tensor, nn

from partita.data._some_rows import some_rows
from partita.networks._building import built, own_parameters
from partita.networks.normalise import BatchNorm
from partita.recipes import Recipe
from partita.recipes.recipe import value_at
from partita.trace import Batch
from partita.training.draws import seed_of

# Changes the networks of one model in place: networks, observations, seed; one that knows weights has them as `weight`.
Finish = Callable[..., None]
ROWS_LOOKED_AT = 20000
NUMBERS_LOOKED_AT = 1 << 27
ROWS_NORMALISED = 2000


def rows_to_look_at(shape: Sequence[int]) -> np.ndarray:
    """All rows of data of this shape, or a fixed random choice in their order, as many as memory bears."""
    size, features = shape[0], prod(shape[1:])
    most = max(2, min(ROWS_LOOKED_AT, NUMBERS_LOOKED_AT // features))
    return some_rows(size, most)


def needs_finishing(finish: Finish | None, modules: Mapping[str, nn.Module]) -> bool:
    return finish is not None or bool(_normalisations(modules))


def takes_weights(finish: Finish | None) -> bool:
    """Whether it weighs rows itself; others see rows drawn in proportion."""
    return finish is not None and "weight" in signature(finish).parameters


def constants(modules: Mapping[str, nn.Module]) -> dict[str, Tensor]:
    """What networks hold and nobody trains, by name: a user's may have some."""
    states = {f"{name}.{key}": p for name, module in modules.items() for key, p in module.state_dict().items()}
    trained = {f"{name}.{key}" for name, module in modules.items() for key, _ in module.named_parameters()}
    return {name: p.detach().clone() for name, p in states.items() if name not in trained}


def finished(
    recipe: Recipe,
    finish: Finish | None,
    parameters: Mapping[str, Tensor],
    rows: Mapping[str, Tensor],
    seed: int,
    weight: Tensor | None = None,
) -> dict[str, Tensor]:
    """The parameters of one model after `finish`, with statistics for its batch normalisations."""
    modules = {name: each.to(rows["x"].device) for name, each in built(recipe.networks).items()}
    for name, module in modules.items():
        module.load_state_dict(own_parameters(name, parameters), strict=False)
    with torch.no_grad():
        if finish is not None:
            finish(modules, rows["x"], seed, **({} if weight is None else {"weight": weight}))
        _normalise(recipe, modules, rows, seed)
    return {f"{name}.{key}": p.detach() for name, module in modules.items() for key, p in module.state_dict().items()}


def _normalise(recipe: Recipe, modules: Mapping[str, nn.Module], rows: Mapping[str, Tensor], seed: int) -> None:
    """One pass of the recipe over many rows at once; its statistics are kept, so that a row's code is its own."""
    layers = _normalisations(modules)
    if not layers:
        return
    rows = {name: values[:ROWS_NORMALISED] for name, values in rows.items()}
    x = rows["x"]
    generator = torch.Generator().manual_seed(seed_of(seed, "normalise"))
    noise = {
        name: torch.randn(len(x), n, generator=generator, dtype=torch.float32).to(x) for name, n in recipe.noise.items()
    }
    knobs = {name: torch.tensor(value_at(value, 0), dtype=x.dtype).to(x) for name, value in recipe.knobs.items()}
    for layer in layers:
        layer.keeping = True
    trace = recipe.trace(modules, Batch(size=len(x), carry={}, **rows), noise, knobs)
    if "x" not in trace.drawn:
        trace.px  # noqa: B018  decodes, so that the decoder's layers see data too
    for layer in layers:
        layer.keeping = False


def _normalisations(modules: Mapping[str, nn.Module]) -> list[BatchNorm]:
    return [layer for module in modules.values() for layer in module.modules() if isinstance(layer, BatchNorm)]
