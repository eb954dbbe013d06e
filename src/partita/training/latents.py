"""The latents of an ensemble's models, looked at while training, and exchanged for combinations of themselves."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from partita.data._some_rows import ROWS_LOOKED_AT
from partita.networks._building import built
from partita.recipes import LatentMap, Passage, Recipe
from partita.recipes.program import Codes
from partita.training.ensemble import Ensemble
from partita.training.model import Model


def map_latents(before: Ensemble, onward: Ensemble, passages: Sequence[Passage]) -> None:
    """Puts the state of `before` into `onward`, each model with its new latents. Every model decodes as before."""
    state = {name: tensor.clone() for name, tensor in before.state().items()}
    for position, wanted in enumerate(each for passage in passages for each in passage.maps):
        if wanted.order is None:
            _combine(state, position, wanted, before)
        elif wanted.order != tuple(range(len(wanted.order))):
            for name, tensor in state.items():
                if name != "total" and tensor.dim():  # neither the log's sums nor Adam's count of steps
                    _reorder(name, tensor[position], list(wanted.order), before.recipe)
    state["total"] = torch.zeros_like(onward.total)
    onward.load_state(state, before.step)
    onward.carried.forget(rows_only=True)  # what was carried of rows are latents that are no more


def model_of(ensemble: Ensemble, position: int, *, best: bool = False) -> Model:
    return Model(ensemble.recipe, ensemble.model(position, best=best), ensemble.x_scale, ensemble.device)


def some_rows(ensemble: Ensemble, most: int = ROWS_LOOKED_AT) -> np.ndarray:
    """Of the rows held out for judging where there are some, else of those trained on."""
    split = ensemble.split
    rows = split.judging if len(split.judging) else split.training
    rows = rows[np.sort(np.random.default_rng(0).permutation(len(rows))[:most])]
    return ensemble.x[torch.as_tensor(rows, device=ensemble.x.device)].cpu().numpy()


def codes_of(model: Model, x: np.ndarray, device: torch.device) -> Codes:
    """One draw from each posterior of x, and the posteriors' means and log-variances."""
    mean, log_variance = (torch.as_tensor(part, dtype=torch.float64, device=device) for part in model.posterior(x))
    noise = torch.randn(mean.shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64).to(device)
    return Codes(mean + torch.exp(0.5 * log_variance) * noise, mean, log_variance)


def _reorder(name: str, tensor: Tensor, order: list[int], recipe: Recipe) -> None:
    """Permutes in place what belongs to a latent: rows of the encoder's last layer, columns of the decoder's first."""
    latents = len(order)
    if name.endswith(_last_layer(recipe)):
        both = order + [latents + k for k in order]  # means, then log-variances
        tensor.copy_(tensor[both].clone())
    elif name.endswith(_first_layer(recipe)[0]):
        tensor.copy_(tensor[:, order].clone())


def _combine(state: dict[str, Tensor], position: int, wanted: LatentMap, warm: Ensemble) -> None:
    """The same two layers for combinations of latents; their Adam moments start again.

    The mean of a combination's posterior is exact. Its variance is the mean over rows: what of it depends on x is
    learned anew.
    """
    names = (*_last_layer(warm.recipe), *_first_layer(warm.recipe))
    weight, bias, entry, *offset = (state[f"parameters{name}"][position] for name in names)
    log_variance = codes_of(model_of(warm, position), some_rows(warm), warm.device).log_variance
    transform, centre = (torch.as_tensor(part, device=warm.device) for part in (wanted.transform, wanted.centre))
    latents = len(centre)
    for constant in offset:
        constant.copy_(constant.double() + entry.double() @ centre)
    entry.copy_(entry.double() @ torch.linalg.inv(transform).T)
    weight[:latents] = (transform.T @ weight[:latents].double()).to(weight)
    weight[latents:] = 0
    bias[:latents] = (transform.T @ (bias[:latents].double() - centre)).to(bias)
    bias[latents:] = torch.log(log_variance.exp().mean(0) @ transform**2).to(bias)
    for name, tensor in state.items():
        if name.startswith("optimiser/") and tensor.dim() and name.endswith(names):
            tensor[position].zero_()


def _last_layer(recipe: Recipe) -> tuple[str, str]:
    """Weight and bias of the encoder's last layer: the ends of their names in a state."""
    names = _body(recipe, "encoder")
    weight, bias = ([name for name in names if name.endswith(kind)][-1] for kind in ("weight", "bias"))
    return f"/encoder.{weight}", f"/encoder.{bias}"


def _first_layer(recipe: Recipe) -> tuple[str, ...]:
    """Weight and bias of the decoder's first; the weight alone where batch normalisation takes constants off."""
    first, second = _body(recipe, "decoder")[:2]
    own_bias = second == first.removesuffix("weight") + "bias"
    return tuple(f"/decoder.{name}" for name in ((first, second) if own_bias else (first,)))


def _body(recipe: Recipe, network: str) -> list[str]:
    """Parameters of the layers between an observation and its code, in order."""
    module = built({network: recipe.networks[network]})[network]
    return [name for name, _ in module.named_parameters() if name.startswith("body")]
