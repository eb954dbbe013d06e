"""The run that `fit` trains."""

from collections.abc import Mapping
from typing import Any

from partita.recipes import Candidate, Program, Recipe
from partita.recipes._own_methods import method_name
from partita.training import Ensemble, History
from partita.training.beside import Beside
from partita.training.callbacks import call, check_callbacks
from partita.training.device import choose_device
from partita.training.program import Make, Trained, train_models
from partita.training.progress import bar

LOG_POINTS = 100


def ensembles_of(rows: Mapping[str, Any], beside: Beside, batch_size: int, device: Any, weight: Any = None) -> Make:
    """Ensembles of these rows, `x` with its scales, what is known beside them, and how much each counts."""
    device, size = choose_device(device), len(rows["x"])

    def make(recipes: list[Recipe], seeds: list[int], program: Program, candidate: Candidate) -> Ensemble:
        return Ensemble(
            recipes,
            seeds,
            **rows,
            beside=beside,
            batch_size=min(int(batch_size), size),
            device=device,
            hold_out=program.hold_out,
            finish=candidate.finish,
            weight=weight,
        )

    return make


def train(
    estimator: Any, program: Program, rows: Mapping[str, Any], beside: Beside, weight: Any = None, began: int = 0
) -> Trained:
    """One run by the estimator's settings, from step `began` on; ValueError where one is below its least value."""
    for name, least in (("steps", 1), ("batch_size", 1), ("seed", 0)):
        if int(getattr(estimator, name)) < least:
            raise ValueError(f"{name} must be at least {least}, got {getattr(estimator, name)}")
    make = ensembles_of(rows, beside, estimator.batch_size, estimator.device, weight)
    steps = int(estimator.steps)
    log_every, last = max(1, steps // LOG_POINTS), began + steps
    with bar(method_name(estimator.method), began, last) as show:

        def on_log(step: int, history: History) -> bool:
            quantities = dict(zip(history.names, history.row(-1)[:, 0].tolist()))
            if estimator.verbose and quantities and len(history.steps) % (LOG_POINTS // 10) == 0:
                values = "  ".join(f"{name} {v:.4g}" for name, v in quantities.items())
                print(f"step {step} of {last}: {values}")
            if show is not None:
                show(step, quantities)
            return call(check_callbacks(estimator.callbacks), step, quantities=quantities)

        (trained,) = train_models([program], [int(estimator.seed)], make, last, log_every=log_every, on_log=on_log)
    if estimator.verbose and (trained.step, trained.kept_step) != (last, last) and program.recipe.players:
        print(f"ended at step {trained.step} of {last}, with the weights of step {trained.kept_step}")
    return trained
