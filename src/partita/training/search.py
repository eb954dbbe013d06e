"""Finding the groups: with groups fixed from the start the PC objective has local optima that few runs leave.

The cure uses no labels (spec 000, section 8). Each run is trained several times at once, from its own seeds: first with
every latent a group of its own, then the latents are put together by the smallest PC of the aggregated posterior, and
training goes on with the groups. Before they are put together, every second restart exchanges its latents for those
combinations of them that linear ICA finds independent: gradients turn latents slowly, and half the steps may not be
enough. (Latents that are correlated given x stay as they are: such a posterior cannot be turned.) The restart with the
lowest loss is the run's result. Where nobody said how many groups there are, and of what sizes, that too is found then
(`training.finding`).
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from partita.distributions import Groups
from partita.measures.regrouping import regroup, regroup_codes
from partita.recipes import Recipe
from partita.recipes.closed_form import independent_coordinates
from partita.training.checkpoint import Checkpoints
from partita.training.device import with_gradients
from partita.training.draws import seed_of
from partita.training.ensemble import Ensemble
from partita.training.finding import Discover, Found, find_groups
from partita.training.fit import fit_in_strides
from partita.training.history import History
from partita.training.latents import Turn, model_of, posterior_of, some_rows, turn_latents
from partita.training.strides import Strides, to_the_end

log = logging.getLogger("partita")

# Of the steps, the share at the end over which restarts are compared.
LATE = 0.2
# Builds an ensemble of these recipes and seeds.
Make = Callable[[list[Recipe], list[int]], Ensemble]


@dataclass(frozen=True)
class Trained:
    """What training gives for each run: parameters, the log, and when it stopped being finite, if it did.

    `recipe` is what the parameters belong to where groups were `found` on the way, which one run alone does at a time.
    """

    models: list[dict[str, Tensor]]
    history: History
    step: int
    recipe: Recipe
    found: Found | None = None

    def diverged(self, run: int) -> int | None:
        return self.history.diverged(run)


def train_models(recipes: Sequence[Recipe], seeds: Sequence[int], make: Make, steps: int, **settings) -> Trained:
    """All strides of `train_in_strides`, one after the other."""
    return to_the_end(train_in_strides(recipes, seeds, make, steps, **settings))


@with_gradients
def train_in_strides(
    recipes: Sequence[Recipe],
    seeds: Sequence[int],
    make: Make,
    steps: int,
    *,
    checkpoints: Checkpoints | None = None,
    discover: Discover | None = None,
    on_begin: Callable[[History], None] | None = None,
    on_log: Callable[[int, History], None] | None = None,
    **loop,
) -> Strides[Trained]:
    """Trains runs of one structure, with restarts where the recipe asks for them; `make` builds an ensemble of them.

    `on_begin(history)` and `on_log(step, history)` see one column a run; of restarts, the first, until one is chosen.
    `discover` proposes groups of codes to a recipe that has to find its own.
    """
    restarts = recipes[0].restarts
    shown = list(range(0, len(seeds) * restarts, restarts))

    def begin(history: History) -> None:
        if on_begin is not None:
            on_begin(history.only(shown))

    def logged(ensemble: Ensemble, history: History) -> None:
        if on_log is not None:
            on_log(ensemble.step, history.only(shown))

    loop |= {"on_begin": begin, "on_log": logged}
    members = [seed for first in seeds for seed in restart_seeds(first, restarts)]
    repeated = [recipe for recipe in recipes for _ in range(restarts)]
    before = {"checkpoints": checkpoints.warm if checkpoints is not None else None, **loop}
    history, found = None, None
    # Where a first half was done already, fitting only puts its ensemble where it ended.
    if recipes[0].grouped is not None:
        warm = make(repeated, members)
        history = yield from fit_in_strides(warm, steps // 2, **before)
        found, turns = find_groups(warm, _given(discover))
        ensemble = make([_grouped(recipe, found.groups) for recipe in repeated], members)
        turn_latents(warm, ensemble, turns)
    else:
        ensemble = make(repeated, members)
        if restarts > 1 and (checkpoints is None or not checkpoints.usable(ensemble, steps)):
            warm = make([_warm(recipe) for recipe in repeated], members)
            history = yield from fit_in_strides(warm, steps // 2, **before)
            regroup_latents(warm, ensemble, restarts)
    history = yield from fit_in_strides(ensemble, steps, checkpoints=checkpoints, history=history, **loop)
    chosen = shown if restarts == 1 else [first + best_restart(history, first, restarts) for first in shown]
    models = [ensemble.model(position) for position in chosen]
    return Trained(models, history.only(chosen), ensemble.step, ensemble.recipe, found)


def restart_seeds(seed: int, restarts: int) -> list[int]:
    """The first restart is the run itself; the others are far from every seed a person would choose."""
    return [seed] + [seed_of(seed, "restart", number) for number in range(1, restarts)]


def regroup_latents(warm: Ensemble, onward: Ensemble, restarts: int = 1) -> None:
    """Puts the state of `warm` into `onward`, each model's latents in an order that makes its groups the best ones.

    Of a run's `restarts`, the second, the fourth and so on are unmixed first.
    """
    turns = [
        _turn(warm, position, onward.recipe.groups, unmix=position % restarts % 2 == 1)
        for position in range(len(warm.seeds))
    ]
    turn_latents(warm, onward, turns)


def best_restart(history: History, first: int, restarts: int) -> int:
    """Which of these has the lowest loss; all are logged, so that nothing chosen is hidden."""
    losses = late_loss(history)[first : first + restarts]
    log.info("loss of each restart: %s", ", ".join(f"{loss:.4f}" for loss in losses))
    return int(losses.argmin())


def late_loss(history: History) -> np.ndarray:
    """What the restarts are judged by: the loss they were trained with, mean over the last fifth of the steps, at the
    weights it had then.

    A single look at the end, exact as it may be, is at the mercy of the last few steps: with a network that can bend,
    right and wrong groups differ by less than two looks at one model.
    """
    late = np.array(history.steps) > (1 - LATE) * history.steps[-1]
    losses = history.values()[late, history.names.index("loss")].mean(0)
    return np.where(np.isfinite(losses), losses, np.inf)


def _warm(recipe: Recipe) -> Recipe:
    if recipe.warm is None:
        raise ValueError("restarts need a recipe for the warm start")
    return recipe.warm


def _grouped(recipe: Recipe, groups: Groups) -> Recipe:
    if recipe.grouped is None:
        raise ValueError("this recipe cannot be given groups")
    return recipe.grouped(groups)


def _given(discover: Discover | None) -> Discover:
    if discover is None:
        raise ValueError('groups="auto" needs a function that proposes groups of codes')
    return discover


def _turn(ensemble: Ensemble, position: int, target: Groups, *, unmix: bool) -> Turn:
    z, mean, log_variance = posterior_of(model_of(ensemble, position), some_rows(ensemble), ensemble.device)
    sizes = [len(group) for group in target]
    if not bool(torch.isfinite(z).all()):
        return Turn.reordering(range(z.shape[1]))
    if unmix and ensemble.recipe.architecture.posterior == "diagonal":
        codes = z.cpu().numpy()
        centre, transform = independent_coordinates(codes, ensemble.seeds[position], logging.DEBUG)
        found = regroup_codes(torch.as_tensor((codes - centre) @ transform, device=z.device), sizes)
        return Turn(centre, transform[:, _order(target, found)])
    return Turn.reordering(_order(target, regroup(z, mean, log_variance, sizes)))


def _order(target: Groups, found: Groups) -> list[int]:
    """order[k] is the latent that becomes latent k."""
    order = [0] * sum(map(len, target))
    for place, group in zip(target, found):
        for new, old in zip(place, group):
            order[new] = old
    return order
