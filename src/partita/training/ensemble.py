"""E models of one structure, trained as one: every parameter is a leaf with a leading model axis."""

import logging
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import vmap

from partita.networks._building import built
from partita.recipes import HoldOut, Player, Recipe
from partita.recipes.hold_out import NOTHING
from partita.training.beside import rows_beside
from partita.training.capture import Captured
from partita.training.carry import Carried
from partita.training.device import check_precision, reproducibly
from partita.training.device import compiled as by_compiler
from partita.training.disk import STEPS_AHEAD, OnDisk, readable
from partita.training.draws import Draws, seed_of
from partita.training.finish import Finish, constants, finished, needs_finishing, rows_to_look_at, takes_weights
from partita.training.held_out import HeldOut
from partita.training.objective import moves, noise_columns, objective, values_at
from partita.training.ranks import ALONE, Ranks
from partita.training.row_parallel import check_row_parallel
from partita.training.scale import UNSCALED, Scale
from partita.training.weighted import in_proportion

log = logging.getLogger("partita")


def initial_parameters(recipe: Recipe, seed: int) -> dict[str, Tensor]:
    """One flat dict; the first segment of a name is the network. The same on every device."""
    modules = built(recipe.networks, seed_of(seed, "initial"))
    return {f"{name}.{key}": p.detach() for name, module in modules.items() for key, p in module.named_parameters()}


class Ensemble:
    """E runs of the same structure: parameters, optimisers, and the step that moves them all.

    The runs share the data and nothing else: gradients of the summed loss fall apart into each model's own, the
    optimiser works element by element, and each run draws its own noise. So one model's NaN stays its own.

    `x` is an array or tensor, which moves to the device as a whole, or an array on disk, which stays there. `beside`
    are arrays of as many rows, by the names they have in a `Batch`: labels, covariates and the like. Rows of the
    `hold_out` are never drawn: the runs do not know of them. Several `ranks` share the rows of every batch, and all
    hold the same models. `finish` is what a candidate does to the networks once the steps are over. Rows are drawn in
    proportion to `weight` (N,), where it is given.
    """

    def __init__(
        self,
        recipes: Sequence[Recipe],
        seeds: Sequence[int],
        x: Any,
        *,
        x_scale: float = 1.0,
        scale: Scale = UNSCALED,
        u: np.ndarray | None = None,
        labelled: np.ndarray | None = None,
        beside: Mapping[str, np.ndarray] | None = None,
        batch_size: int,
        device: torch.device,
        compiled: bool = False,
        ranks: Ranks = ALONE,
        hold_out: HoldOut = NOTHING,
        finish: Finish | None = None,
        weight: np.ndarray | None = None,
    ):
        if len({recipe.structure for recipe in recipes}) != 1:
            raise ValueError("runs of different structure cannot share an ensemble")
        check_precision(recipes[0].architecture.precision, device)
        self.recipes, self.seeds, self.device = list(recipes), list(seeds), device
        self.recipe, self.ranks, self.finish = self.recipes[0], ranks, finish
        self.x = readable(x, device)
        self.x_scale, self.scale = x_scale, scale.to(device, torch.float32)
        self.beside = rows_beside(self.recipe, {"u": u, "labelled": labelled, **(beside or {})}, device)
        if scale.needs_exposure and "exposure" not in self.beside:
            self.beside["exposure"] = torch.ones(len(self.x), device=device, dtype=torch.float32)
        self.split, self.judged_by = hold_out.rows(len(self.x)), hold_out.by
        self.size = len(self.split.training)
        batch_size = min(batch_size, self.size)
        # where rows are held out, what is drawn are places in this list
        self.places = torch.as_tensor(self.split.training, device=device) if hold_out else None
        self.held_out: HeldOut | None = None
        self.weight = None if weight is None else torch.as_tensor(weight, dtype=torch.float64, device=device)
        each = [initial_parameters(recipe, seed) for recipe, seed in zip(self.recipes, self.seeds)]
        self.parameters = {
            name: torch.stack([own[name] for own in each]).to(device).requires_grad_() for name in each[0]
        }
        self.modules: dict[str, nn.Module] = {n: each.to(device) for n, each in built(self.recipe.networks).items()}
        own = None if self.weight is None else self.weight[torch.as_tensor(self.split.training, device=device)]
        columns = noise_columns(self.recipe, self.modules)
        self.draws = Draws(self.seeds, self.size, batch_size, columns, device, own)
        if ranks.size > 1 and self.recipe.players:
            check_row_parallel(ranks, self.modules, batch_size)
        self.optimisers = [self._optimiser(player) for player in self.recipe.players]
        self.losses = [self._loss(turn, compiled) for turn in range(len(self.recipe.players))]
        self.carried = Carried(self.recipe, len(self.seeds), self.size, batch_size, device)
        self.quantity_names = self._quantity_names()
        self.step = self.began = 0
        # Sum over the steps since the last reading: the log shows means over an interval, not single noisy batches.
        self.total = torch.zeros(len(self.quantity_names), len(self.seeds), device=device, dtype=torch.float32)
        self._captured: dict[int, Captured] = {}
        self._recordable = True
        self._constants = None if any(moves(recipe) for recipe in self.recipes) else self._values(range(1))

    def owned(self, player: Player) -> dict[str, Tensor]:
        return {name: p for name, p in self.parameters.items() if name.split(".")[0] in player.owns}

    def values(self, step: int, count: int) -> Tensor:
        """(count, E, values): the weights and knobs of every run at the steps from `step` on."""
        if self._constants is not None:
            return self._constants.expand(count, -1, -1)
        return self._values(range(step, step + count))

    def take_step(self, index: Tensor, noise: Tensor, values: Tensor) -> None:
        """Each player in turn takes the gradient of its own objective with respect to its own parameters."""
        rows = self._observe(index, index[:, self.ranks.rows(index.shape[1])])
        carry, fresh = self.carried.shown(index), {}
        quantities: list[Tensor] = []
        for player, optimiser, loss in zip(self.recipe.players, self.optimisers, self.losses):
            owned = self.owned(player)
            parameters = {name: p if name in owned else p.detach() for name, p in self.parameters.items()}
            losses, named, carried = loss(parameters, carry, rows, noise, values)
            fresh |= carried
            gradients = torch.autograd.grad(losses.sum(), list(owned.values()))
            for p, gradient in zip(owned.values(), self.ranks.average(gradients)):
                # the fused kernel walks memory, not indices: a transposed gradient would meet the wrong parameters
                p.grad = gradient.contiguous()
            optimiser.step()
            quantities.extend(value.detach() for value in named.values())
        self.carried.keep(index, fresh)
        self.total += torch.stack(quantities)

    def advance(self, count: int) -> None:
        """The next `count` steps; a method in closed form has nobody to take them."""
        if not self.recipe.players:
            self.step += count
            return
        streamed = isinstance(self.x, OnDisk)
        index = self.draws.index(self.step, count + STEPS_AHEAD if streamed else count)
        noise = self.draws.noise(self.step, count)
        values = self.values(self.step, count)
        if isinstance(self.x, OnDisk):
            self.x.expect(self._numbers(index[..., self.ranks.rows(index.shape[-1])]))
        with reproducibly:
            self._advance(index, noise, values, streamed)
        self.step += count

    def _advance(self, index: Tensor, noise: Tensor, values: Tensor, streamed: bool) -> None:
        graph = None
        # a graph cannot wait for a disk, nor for another process
        if self.device.type == "cuda" and not streamed and self.ranks.size == 1:
            graph = self._graph(index, noise, values)
        if graph is not None:
            graph.replay(index, noise, values)
        else:
            for step in zip(index, noise, values):
                self.take_step(*step)

    def _graph(self, index: Tensor, noise: Tensor, values: Tensor) -> Captured | None:
        """The graph of as many steps, made when first asked for; None where the method cannot be recorded."""
        if len(index) not in self._captured and self._recordable:
            try:
                self._captured[len(index)] = Captured(self, index, noise, values)
            except torch.OutOfMemoryError:
                raise
            except RuntimeError as error:
                self._recordable = False
                reason = str(error).strip().splitlines()[0]
                log.warning("steps cannot be recorded as a CUDA graph and run one by one, slower: %s", reason)
        return self._captured.get(len(index))

    def read_quantities(self, count: int) -> np.ndarray:
        """(quantities, E): means over the last `count` steps; starts the next interval."""
        means = (self.total / count).cpu()
        self.ranks.share([means])  # what is decided by them is decided alike
        self.total.zero_()
        return means.numpy()

    def state(self) -> dict[str, Tensor]:
        """All that changes during training, by name."""
        state = {f"parameters/{name}": p.detach() for name, p in self.parameters.items()}
        for turn, (player, optimiser) in enumerate(zip(self.recipe.players, self.optimisers)):
            for name, p in self.owned(player).items():
                for key, value in optimiser.state[p].items():
                    state[f"optimiser/{turn}/{key}/{name}"] = value
        state |= {"total": self.total} | {f"carry/{name}": value for name, value in self.carried.values.items()}
        return state | ({} if self.held_out is None else self.held_out.state())

    def load_state(self, state: dict[str, Tensor], step: int) -> None:
        with torch.no_grad():
            for name, value in self.state().items():
                value.copy_(state[name])
        self.step = step

    def agree(self) -> None:
        """All ranks go on from the first one's state."""
        if self.ranks.tell(self.step) != self.step:
            raise ValueError("no checkpoint of the first process is seen here: all need the same --out folder")
        self.ranks.share(list(self.state().values()))

    @staticmethod
    def part(state: dict[str, Tensor], models: slice | list[int]) -> dict[str, Tensor]:
        """What of `state()` belongs to these models alone. Log values, which stand beside it in files, too."""
        last = {"total", "history"}
        return {
            name: value[..., models] if name in last else value[models] if value.dim() else value
            for name, value in state.items()
        }

    def watch_held_out(self, log_every: int, *, keep_best: bool, patience: int | None) -> None:
        """From now on the rows held out for judging are looked at at log points, where there are some."""
        if len(self.split.judging) and self.recipe.players and self.held_out is None:
            self.held_out = HeldOut(self, log_every, keep_best=keep_best, patience=patience)

    def stopped(self, e: int) -> tuple[int, int]:
        """The step at which run `e` stopped, or stands; and that of the parameters that are kept."""
        if self.held_out is None or not self.held_out.keep_best:
            return self.step, self.step
        at, best = int(self.held_out.stopped_at[e]), int(self.held_out.best_step[e])
        return at or self.step, best if best or self.judged_by == "bound" else self.step

    def model(self, e: int, *, best: bool = False) -> dict[str, Tensor]:
        """The parameters of run `e` alone, after what its method does once training is over; with `best`, those that
        did best on rows held out, where they were kept."""
        kept = self.held_out.best if best and self.held_out is not None else {}
        parameters = {name: p.detach()[e].clone() for name, p in (self.parameters | kept).items()}
        if not needs_finishing(self.finish, self.modules):
            return parameters | constants(self.modules)
        exactly = takes_weights(self.finish)
        rows = self.rows_to_look_at(weighted=not exactly)
        weight = self.weight[rows] if exactly and self.weight is not None else None
        return finished(self.recipes[e], self.finish, parameters, self.observe(rows), self.seeds[e], weight)

    def rows_to_look_at(self, *, weighted: bool = True) -> Tensor:
        """Numbers of rows that are trained on, as many as memory bears; in proportion to their weights."""
        index = torch.as_tensor(rows_to_look_at((self.size, *self.x.shape[1:])), device=self.device)
        own = self.draws.weight
        return self._numbers(index if own is None or not weighted else in_proportion(own, len(index)))

    def _optimiser(self, player: Player) -> torch.optim.Adam:
        settings = player.optimiser
        owned = self.owned(player).values()
        optimiser = torch.optim.Adam(
            owned, settings.learning_rate, settings.betas, fused=True, capturable=self.device.type == "cuda"
        )
        for p in owned:  # made now rather than at the first step, so that state() is complete from the start
            optimiser.state[p] = {
                "step": torch.zeros((), device=self.device, dtype=torch.float32),
                "exp_avg": torch.zeros_like(p),
                "exp_avg_sq": torch.zeros_like(p),
            }
        return optimiser

    def _loss(self, turn: int, compiled: bool):
        batched = self._batched(turn, self.ranks)
        return by_compiler(batched) if compiled else batched

    def _batched(self, turn: int, ranks: Ranks = ALONE):
        return vmap(partial(objective, self.recipe, turn, self.modules, self.size, ranks=ranks))

    def observe(self, rows: Tensor, own: Tensor | None = None) -> dict[str, Tensor]:
        """What is known of these rows of the data; x where there are ranks that share them, of the rows `own`."""
        x = self.x[rows if own is None else own].to(torch.float32)
        x = x if self.x_scale == 1.0 else x * self.x_scale
        known = {name: values[rows].float() for name, values in self.beside.items()}
        if own is None:
            return self.scale.seen({"x": x, **known})
        beside = {name: values[own].float() for name, values in self.beside.items()}
        # of x this rank has its own rows, and sees them so; everything else is there for all rows
        return {**self.scale.seen({**known, "x": x}, x=False), "x": self.scale.seen({"x": x, **beside})["x"]}

    def _observe(self, index: Tensor, own: Tensor | None = None) -> dict[str, Tensor]:
        """The same of rows by what was drawn."""
        return self.observe(self._numbers(index), None if own is None else self._numbers(own))

    def _numbers(self, index: Tensor) -> Tensor:
        return index if self.places is None else self.places[index]

    def _quantity_names(self) -> list[str]:
        """The names that the losses return, found by a pass over two rows."""
        index = torch.zeros(len(self.seeds), 2, dtype=torch.long, device=self.device)
        noise = torch.zeros(len(self.seeds), 2, self.draws.columns, device=self.device, dtype=torch.float32)
        with torch.no_grad():
            carry = self.carried.shown(index)
            arguments = (self.parameters, carry, self._observe(index), noise, self._values(range(1))[0])
            turns = range(len(self.recipe.players))
            return [name for turn in turns for name in self._batched(turn)(*arguments)[1]]

    def _values(self, steps: range) -> Tensor:
        """In one transfer, which does not wait for the device."""
        numbers = [[values_at(recipe, step) for recipe in self.recipes] for step in steps]
        values = torch.tensor(numbers, dtype=torch.float32)
        if self.device.type == "cuda":
            values = values.pin_memory()
        return values.to(self.device, non_blocking=True)
