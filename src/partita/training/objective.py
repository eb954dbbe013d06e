"""From a player's measures to a loss: the pure function at the heart of the step."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn
from torch.func import functional_call

from partita.networks._building import own_parameters
from partita.networks._dropout import dropping, keyed
from partita.recipes import Ramp, Recipe
from partita.recipes.recipe import value_at
from partita.trace import Batch, Networks
from partita.training.ranks import ALONE, Ranks


def value_names(recipe: Recipe) -> list[str]:
    """The numbers of a recipe that may sweep or move with the step: each player's weights, then the knobs."""
    weights = [f"{i}.{name}" for i, player in enumerate(recipe.players) for name in player.weights]
    return weights + [f"knob.{name}" for name in recipe.knobs]


def moves(recipe: Recipe) -> bool:
    """Whether any of those numbers changes with the step."""
    values = [*recipe.knobs.values(), *(w for player in recipe.players for w in player.weights.values())]
    return any(isinstance(value, Ramp) for value in values)


def values_at(recipe: Recipe, step: float) -> list[float]:
    weights = [value_at(w, step) for player in recipe.players for w in player.weights.values()]
    return weights + [value_at(v, step) for v in recipe.knobs.values()]


def noise_columns(recipe: Recipe, modules: Mapping[str, nn.Module]) -> int:
    """Numbers drawn a row and step: the recipe's noises, then one for each network with dropout."""
    return sum(recipe.noise.values()) + len(dropping(modules))


def objective(
    recipe: Recipe,
    turn: int,
    modules: Mapping[str, nn.Module],
    size: int,
    parameters: Mapping[str, Tensor],
    carry: Mapping[str, Tensor],
    rows: Mapping[str, Tensor],
    noise: Tensor,
    values: Tensor,
    ranks: Ranks = ALONE,
) -> tuple[Tensor, dict[str, Tensor], dict[str, Tensor]]:
    """The loss and quantities of the player whose turn it is, and what its measures carry on, for one model; under
    vmap, for E models.

    `carry` is what earlier steps left (`trace.Carry`); `rows` holds x, and u and labelled where there are labels;
    `noise` the recipe's noises side by side, then a column a network with dropout (without it, nothing is dropped);
    `values` the numbers of `value_names`. Several `ranks` have their own rows
    of x each, and all rows of everything else.
    """
    own = sum(recipe.noise.values())
    noise, keys = noise[..., :own], noise[..., own:]
    networks, x = taken_on(bound(modules, parameters, keys), rows["x"], ranks)
    named = dict(zip(value_names(recipe), values.unbind(-1)))
    knobs = {name: named[f"knob.{name}"] for name in recipe.knobs}
    pieces = dict(zip(recipe.noise, noise.split(list(recipe.noise.values()), -1)))
    trace = recipe.trace(networks, Batch(size=size, carry=carry, **{**rows, "x": x}), pieces, knobs)
    quantities: dict[str, Tensor] = {}
    carried: dict[str, Tensor] = {}
    player = recipe.players[turn]
    for measure in player.measures:
        found = measure(trace)
        if getattr(measure, "carries", None):
            found, fresh = found
            carried.update(fresh)
        quantities.update(found)
    loss = sum((named[f"{turn}.{name}"] * quantities[name] for name in player.weights), noise.new_zeros(()))
    prefix = "" if turn == 0 else f"{player.owns[0]}_"
    return loss, {f"{prefix}loss": loss, **quantities}, carried


def taken_on(networks: Networks, x: Tensor, ranks: Ranks) -> tuple[Networks, Any]:
    """The networks and observations with which a trace holds the whole batch, wherever its rows are (`spread`)."""
    if ranks.size == 1:
        return networks, x
    from partita.training.row_parallel import Own, RowParallel

    return {name: RowParallel(network, ranks) for name, network in networks.items()}, Own(x)


def bound(modules: Mapping[str, nn.Module], parameters: Mapping[str, Tensor], keys: Tensor) -> "dict[str, Bound]":
    """The networks with these parameters. `keys` (M, columns) of noise: a column a network with dropout, or none."""
    key = dict(zip(dropping(modules), keys[0].unbind(-1))) if keys.shape[-1] else {}
    return {name: Bound(module, own_parameters(name, parameters), key.get(name)) for name, module in modules.items()}


@dataclass(frozen=True, eq=False)  # compared by identity: the compiler hashes what it calls
class Bound:
    """A network with the parameters of one model: called like a module, and open to measures of the parameters. With a
    `key`, it drops what the key says."""

    module: nn.Module
    parameters: Mapping[str, Tensor]
    key: Tensor | None = None

    def __call__(self, *inputs: Tensor):
        drop = {} if self.key is None else keyed(self.module, self.key)
        return functional_call(self.module, {**self.parameters, **drop}, inputs)
