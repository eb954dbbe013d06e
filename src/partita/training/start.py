"""Where a run starts, where its rows say so: they are looked at before training, and what they say is written down."""

import logging
from collections.abc import Callable

import torch
from torch import Tensor

from partita.networks._building import built
from partita.recipes import Program
from partita.recipes.program import Started
from partita.training.ensemble import Ensemble

log = logging.getLogger("partita")


def find_start(program: Program, ensemble: Ensemble) -> Started:
    """What the rows that an ensemble is trained on say; every rank looks for itself, and finds the same."""
    assert program.start is not None
    x, *expected = (rows.double().cpu().numpy() for rows in _rows(ensemble))
    started = program.start(x, ensemble.seeds[0], *expected)
    log.info(started.words)
    return started


def write_start(ensemble: Ensemble, write: Callable[..., None], step: int = 0) -> None:
    """Puts the weights that `write` gives networks into all models of an ensemble that has not taken a step; it goes on
    from this one."""
    ensemble.step = ensemble.began = step
    modules = {name: each.to(ensemble.device) for name, each in built(ensemble.recipe.networks).items()}
    with torch.no_grad():
        write(modules, *_rows(ensemble))
        for name, module in modules.items():
            for key, value in module.named_parameters():
                ensemble.parameters[f"{name}.{key}"].copy_(value)
        ensemble.ranks.share(list(ensemble.parameters.values()))  # what is taught is alike, not the same, on each


def _rows(ensemble: Ensemble) -> list[Tensor]:
    """Of those that are trained on, as models see them; with counts what is expected of them, where models are told."""
    rows = ensemble.observe(ensemble.rows_to_look_at())
    return [rows[name] for name in ("x", "exposure") if name in rows]
