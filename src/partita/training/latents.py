"""The latents of an ensemble's models, looked at while training, and exchanged for combinations of themselves."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from partita.data._some_rows import ROWS_LOOKED_AT
from partita.distributions import DiagonalNormal
from partita.recipes import LatentMap, Passage
from partita.recipes.program import Codes
from partita.training.beside import Beside
from partita.training.ensemble import Ensemble
from partita.training.model import Model
from partita.training.weighted import in_proportion


def map_latents(before: Ensemble, onward: Ensemble, passages: Sequence[Passage]) -> None:
    """Puts the state of `before` into `onward`, each model with its new latents. Every model decodes as before.

    What changes are the two linear layers that networks own for this: the rows that make the code, and the columns that
    read it.
    """
    state = {name: tensor.clone() for name, tensor in before.state().items()}
    at = _Places.of(before)
    for position, wanted in enumerate(each for passage in passages for each in passage.maps):
        if wanted.order == tuple(range(at.latents)):
            continue
        _check(wanted, before.recipe.architecture.posterior)
        if wanted.order is None:
            _combine(state, position, wanted, before, at)
        else:
            _reorder(state, position, list(wanted.order), at)
    state["total"] = torch.zeros_like(onward.total)
    onward.load_state(state, before.step)
    onward.carried.forget(rows_only=True)  # what was carried of rows are latents that are no more


def model_of(ensemble: Ensemble, position: int, *, best: bool = False) -> Model:
    parameters = ensemble.model(position, best=best)
    return Model(ensemble.recipe, parameters, ensemble.x_scale, ensemble.device, scale=ensemble.scale)


def some_rows(ensemble: Ensemble, most: int = ROWS_LOOKED_AT) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Of the rows held out for judging where there are some, else of those trained on: x, and what an encoder sees
    beside it."""
    split = ensemble.split
    rows = split.judging if len(split.judging) else split.training
    rows = rows[np.sort(np.random.default_rng(0).permutation(len(rows))[:most])]
    if ensemble.weight is not None:
        rows = rows[in_proportion(ensemble.weight.cpu()[rows], len(rows)).numpy()]
    at = torch.as_tensor(rows, device=ensemble.x.device)
    seen = {name: values for name, values in ensemble.beside.items() if name in ("covariates", "exposure")}
    return ensemble.x[at].cpu().numpy(), {name: values[at].cpu().numpy() for name, values in seen.items()}


def codes_of(model: Model, x: np.ndarray, device: torch.device, beside: Beside | None = None) -> Codes:
    """One draw from each posterior of x, and the posteriors' means and log-variances."""
    found = model.posterior(x, beside=beside)
    mean, log_variance = (torch.as_tensor(part, dtype=torch.float64, device=device) for part in found)
    noise = torch.randn(mean.shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64).to(device)
    return Codes(DiagonalNormal(mean, log_variance).sample(noise), mean, log_variance)


@dataclass(frozen=True)
class _Places:
    """Where latents stand in a state: ends of names. A layer that reads the code may have no bias."""

    makes: tuple[str, str]
    reads: tuple[str, ...]
    latents: int

    @staticmethod
    def of(ensemble: Ensemble) -> "_Places":
        modules: dict[str, Any] = {network: ensemble.modules[network] for network in ("encoder", "decoder")}
        names = {id(p): f"/{network}.{key}" for network in modules for key, p in modules[network].named_parameters()}
        makes, reads = modules["encoder"].makes_code, modules["decoder"].reads_code
        kept = tuple(names[id(p)] for p in (reads.weight, reads.bias) if p is not None)
        return _Places((names[id(makes.weight)], names[id(makes.bias)]), kept, ensemble.recipe.architecture.latents)


def _check(wanted: LatentMap, posterior: str) -> None:
    """ValueError where q(z|x) of this family has no such map."""
    if posterior == "full":
        raise ValueError('latents of posterior="full" cannot be mapped: its triangular factor cannot follow them')
    if posterior != "diagonal" and wanted.order is None:
        raise ValueError(f'latents of posterior="{posterior}" can be reordered, not combined: use posterior="diagonal"')


def _reorder(state: dict[str, Tensor], position: int, order: list[int], at: _Places) -> None:
    """Permutes in place what belongs to a latent, Adam's moments too."""
    both = order + [at.latents + k for k in order]  # means, then log-variances; what stands beside them stays
    for name, tensor in state.items():
        if not tensor.dim():  # Adam's count of steps
            continue
        if name.endswith(at.makes):
            tensor[position, : len(both)] = tensor[position, both].clone()
        elif name.endswith(at.reads[0]):
            tensor[position, :, : at.latents] = tensor[position][:, order].clone()


def _combine(state: dict[str, Tensor], position: int, wanted: LatentMap, warm: Ensemble, at: _Places) -> None:
    """The same two layers for combinations of latents; their Adam moments start again.

    The mean of a combination's posterior is exact. Its variance is the mean over rows: what of it depends on x is
    learned anew.
    """
    names, latents = (*at.makes, *at.reads), at.latents
    weight, bias, entry, *offset = (state[f"parameters{name}"][position] for name in names)
    x, beside = some_rows(warm)
    log_variance = codes_of(model_of(warm, position), x, warm.device, beside).log_variance
    transform, centre = (torch.as_tensor(part, device=warm.device) for part in (wanted.transform, wanted.centre))
    entry, both = entry[:, :latents], slice(latents, 2 * latents)
    for constant in offset:
        constant.copy_(constant.double() + entry.double() @ centre)
    entry.copy_(entry.double() @ torch.linalg.inv(transform).T)
    weight[:latents] = (transform.T @ weight[:latents].double()).to(weight)
    weight[both] = 0
    bias[:latents] = (transform.T @ (bias[:latents].double() - centre)).to(bias)
    bias[both] = torch.log(log_variance.exp().mean(0) @ transform**2).to(bias)
    for name, tensor in state.items():
        if name.startswith("optimiser/") and tensor.dim() and name.endswith(names):
            tensor[position].zero_()
