"""Where a run starts, where its rows say so: they are looked at before training, and what they say is written down."""

import logging
from collections.abc import Callable, Mapping

import torch
from torch import Tensor, nn

from partita.networks._building import built
from partita.recipes import Program
from partita.recipes.program import Started
from partita.recipes.unmixed import as_read
from partita.training.ensemble import Ensemble
from partita.training.finish import rows_to_look_at

log = logging.getLogger("partita")


def find_start(program: Program, ensemble: Ensemble) -> Started:
    """What the rows that an ensemble is trained on say; every rank looks for itself, and finds the same."""
    assert program.start is not None
    encoder = built(ensemble.recipe.networks)["encoder"]
    started = program.start(as_read(encoder, _rows(ensemble)).double().cpu().numpy(), ensemble.seeds[0])
    log.info(started.words)
    return started


def write_start(ensemble: Ensemble, write: Callable[[Mapping[str, nn.Module], Mapping[str, Tensor]], None]) -> None:
    """Puts the weights that `write` gives networks into all models of an ensemble that has not taken a step."""
    modules = {name: each.to(ensemble.device) for name, each in built(ensemble.recipe.networks).items()}
    with torch.no_grad():
        write(modules, _rows(ensemble))
        for name, module in modules.items():
            for key, value in module.named_parameters():
                ensemble.parameters[f"{name}.{key}"].copy_(value)
        ensemble.ranks.share(list(ensemble.parameters.values()))  # what is taught is alike, not the same, on each


def _rows(ensemble: Ensemble) -> dict[str, Tensor]:
    """Of those that are trained on, as many as memory bears."""
    index = torch.as_tensor(rows_to_look_at((ensemble.size, *ensemble.x.shape[1:])), device=ensemble.device)
    return ensemble.observe(index if ensemble.places is None else ensemble.places[index])
