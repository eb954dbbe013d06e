"""Finding the groups: with groups fixed from the start the PC objective has local optima that few runs leave.

The cure uses no labels (spec 000, section 8). Each run is trained several times at once, from its own seeds: first with
every latent a group of its own, then the latents are put together by the smallest PC of the aggregated posterior, and
training goes on with the groups. The restart with the lowest objective on the data is the run's result.
"""

import logging
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from partita.distributions import Groups
from partita.kernels.mixture import log_mixture
from partita.measures.regrouping import regroup
from partita.recipes import Recipe
from partita.recipes.recipe import value_at
from partita.training.checkpoint import Checkpoints
from partita.training.draws import seed_of
from partita.training.ensemble import Ensemble
from partita.training.fit import fit
from partita.training.history import History
from partita.training.model import Model

log = logging.getLogger("partita")

ROWS_LOOKED_AT = 2000


@dataclass(frozen=True)
class Trained:
    """What training gives for each run: parameters, the log, and when it stopped being finite, if it did."""

    models: list[dict[str, Tensor]]
    history: History
    step: int

    def diverged(self, run: int) -> int | None:
        return self.history.diverged(run)


def train_models(
    recipes: Sequence[Recipe],
    seeds: Sequence[int],
    make: Callable[[list[Recipe], list[int]], Ensemble],
    steps: int,
    *,
    checkpoints: Checkpoints | None = None,
    on_begin: Callable[[History], None] | None = None,
    on_log: Callable[[int, History], None] | None = None,
    **loop,
) -> Trained:
    """Trains runs of one structure, with restarts where the recipe asks for them; `make` builds an ensemble of them.

    `on_begin(history)` and `on_log(step, history)` see one column a run; of restarts, the first, until one is chosen.
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
    ensemble = make(repeated, members)
    history = None
    if restarts > 1 and not (checkpoints is not None and checkpoints.exist()):
        warm = make([_warm(recipe) for recipe in repeated], members)
        history = fit(warm, steps // 2, checkpoints=checkpoints.warm if checkpoints is not None else None, **loop)
        regroup_latents(warm, ensemble)
    history = fit(ensemble, steps, checkpoints=checkpoints, history=history, **loop)
    chosen = shown
    if restarts > 1:
        each = [list(range(first, first + restarts)) for first in shown]
        chosen = [best_restart(ensemble, some, _beta(recipe)) for some, recipe in zip(each, recipes)]
    return Trained([ensemble.model(position) for position in chosen], history.only(chosen), ensemble.step)


def restart_seeds(seed: int, restarts: int) -> list[int]:
    """The first restart is the run itself; the others are far from every seed a person would choose."""
    return [seed] + [seed_of(seed, "restart", number) for number in range(1, restarts)]


def regroup_latents(warm: Ensemble, onward: Ensemble) -> None:
    """Puts the state of `warm` into `onward`, each model's latents in an order that makes its groups the best ones."""
    target = onward.recipe.groups
    state = {name: tensor.clone() for name, tensor in warm.state().items()}
    for position in range(len(warm.seeds)):
        order = _order(warm, position, target)
        if order != list(range(len(order))):
            for name, tensor in state.items():
                if name != "total" and tensor.dim():  # neither the log's sums nor Adam's count of steps
                    _reorder(name, tensor[position], order, warm.recipe)
    state["total"] = torch.zeros_like(onward.total)
    onward.load_state(state, warm.step)


def objective_on_data(ensemble: Ensemble, position: int, beta: float) -> float:
    """recon + KL + beta * PC with the exact PC of at most 2000 rows: what the restarts are judged by."""
    model, x = _model(ensemble, position), _rows(ensemble)
    recon, kl = model.bound(x)
    z, mean, log_variance = _posterior(model, x, ensemble.device)
    own = torch.arange(len(z), device=z.device)
    blocks = [tuple(range(z.shape[1])), *ensemble.recipe.groups]
    logs = log_mixture(z, mean, log_variance, blocks, own=own)
    pc = float((logs[:, 0] - logs[:, 1:].sum(1)).mean())
    value = float((recon + kl).mean()) + beta * pc
    return value if np.isfinite(value) else np.inf


def best_restart(ensemble: Ensemble, positions: Sequence[int], beta: float) -> int:
    """The position with the lowest objective; every value is logged, so that nothing chosen is hidden."""
    values = [objective_on_data(ensemble, position, beta) for position in positions]
    log.info("objective of each restart: %s", ", ".join(f"{value:.4f}" for value in values))
    return positions[int(np.argmin(values))]


def _warm(recipe: Recipe) -> Recipe:
    if recipe.warm is None:
        raise ValueError("restarts need a recipe for the warm start")
    return recipe.warm


def _beta(recipe: Recipe) -> float:
    return value_at(recipe.players[0].weights["pc"], sys.maxsize)


def _order(ensemble: Ensemble, position: int, target: Groups) -> list[int]:
    """order[k] is the latent that becomes latent k."""
    z, mean, log_variance = _posterior(_model(ensemble, position), _rows(ensemble), ensemble.device)
    if not bool(torch.isfinite(z).all()):
        return list(range(z.shape[1]))
    found = regroup(z, mean, log_variance, [len(group) for group in target])
    order = [0] * z.shape[1]
    for place, group in zip(target, found):
        for new, old in zip(place, group):
            order[new] = old
    return order


def _reorder(name: str, tensor: Tensor, order: list[int], recipe: Recipe) -> None:
    """Permutes in place what belongs to a latent: rows of the encoder's last layer, columns of the decoder's first."""
    latents = len(order)
    if name.endswith(_last_layer(recipe, "encoder", "weight")) or name.endswith(_last_layer(recipe, "encoder", "bias")):
        both = order + [latents + k for k in order]  # means, then log-variances
        tensor.copy_(tensor[both].clone())
    elif name.endswith(_first_layer(recipe, "decoder")):
        tensor.copy_(tensor[:, order].clone())


def _last_layer(recipe: Recipe, network: str, kind: str) -> str:
    return f"/{network}.{[name for name in _body(recipe, network) if name.endswith(kind)][-1]}"


def _first_layer(recipe: Recipe, network: str) -> str:
    return f"/{network}.{next(name for name in _body(recipe, network) if name.endswith('weight'))}"


def _body(recipe: Recipe, network: str) -> list[str]:
    """Parameters of the layers between an observation and its code, in order."""
    return [name for name, _ in recipe.networks[network]().named_parameters() if name.startswith("body")]


def _model(ensemble: Ensemble, position: int) -> Model:
    return Model(ensemble.recipe, ensemble.model(position), ensemble.x_scale, ensemble.device)


def _rows(ensemble: Ensemble) -> np.ndarray:
    size = len(ensemble.x)
    rows = np.sort(np.random.default_rng(0).permutation(size)[:ROWS_LOOKED_AT])
    return ensemble.x[torch.as_tensor(rows, device=ensemble.x.device)].cpu().numpy()


def _posterior(model: Model, x: np.ndarray, device: torch.device) -> tuple[Tensor, Tensor, Tensor]:
    """z drawn once from each posterior, with the posteriors' means and log-variances, in float64."""
    mean, log_variance = (torch.as_tensor(part, dtype=torch.float64, device=device) for part in model.posterior(x))
    noise = torch.randn(mean.shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64).to(device)
    return mean + torch.exp(0.5 * log_variance) * noise, mean, log_variance
