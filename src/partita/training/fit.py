"""The loop: advance, log, save, stop when asked."""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from partita.training.checkpoint import Checkpoints
from partita.training.device import with_gradients
from partita.training.ensemble import Ensemble
from partita.training.history import History
from partita.training.interrupt import Interrupted
from partita.training.steps import Steps, to_the_end

log = logging.getLogger("partita")

# Steps between two looks at the clock and at a wish to stop.
STRIDE = 10
SECONDS_BETWEEN_CHECKPOINTS = 20.0

OnBegin = Callable[[History], None]
OnLog = Callable[[Ensemble, History], bool | None]


@dataclass(frozen=True)
class Watched:
    """Numbers logged beside the quantities of the objective, at every tenth log point and the last.

    `look(ensemble)` is (names, models). They change nothing of the training.
    """

    names: tuple[str, ...]
    look: Callable[[Ensemble], np.ndarray]
    every: int = 10

    def at(self, ensemble: Ensemble, point: int, last: bool) -> np.ndarray:
        if last or point % self.every == 0:
            return self.look(ensemble)
        return np.full((len(self.names), len(ensemble.seeds)), np.nan)


NOTHING = Watched((), lambda ensemble: np.zeros((0, len(ensemble.seeds))))


def fit(ensemble: Ensemble, steps: int, **settings) -> History:
    """All steps of `steps_of_fit`, one after the other."""
    return to_the_end(steps_of_fit(ensemble, steps, **settings))


@with_gradients
def steps_of_fit(
    ensemble: Ensemble,
    steps: int,
    *,
    log_every: int,
    checkpoints: Checkpoints | None = None,
    history: History | None = None,
    watched: Watched = NOTHING,
    keep_best: bool = False,
    patience: int | None = None,
    on_begin: OnBegin | None = None,
    on_log: OnLog | None = None,
    stop: Callable[[], bool] = lambda: False,
    seconds_between_checkpoints: float = SECONDS_BETWEEN_CHECKPOINTS,
) -> Steps[History]:
    """Trains until `steps`, from a checkpoint where there is one, adding to `history` where one is given.

    Rows held out are looked at at every log point; the best parameters there are kept where `keep_best`, and a model
    stops after `patience` of them without better ones. Raises Interrupted, with everything saved, when `stop` says so.
    Ends early when no run goes on, or is finite any more, or `on_log` says that it is enough.
    """
    ensemble.watch_held_out(log_every, keep_best=keep_best, patience=patience)
    held_out = ensemble.held_out
    beside = [*(held_out.names if held_out else ()), *watched.names]
    history = history or History(ensemble.quantity_names, len(ensemble.seeds), beside)
    restored = checkpoints is not None and checkpoints.restore(ensemble, history, steps)
    over = restored and (not history.finite().any() or (held_out is not None and held_out.all_stopped))
    ensemble.agree()
    if on_begin is not None:
        on_begin(history)
    saved_at = time.monotonic()
    while ensemble.step < steps and not over:
        to_log = log_every - ensemble.step % log_every
        ensemble.advance(min(STRIDE, to_log, steps - ensemble.step))
        if ensemble.step % log_every == 0 or ensemble.step == steps:
            since = min((ensemble.step - 1) % log_every + 1, ensemble.step - ensemble.began)
            if history.steps:  # a first half may have ended, and logged, between two log points
                since = min(since, ensemble.step - history.steps[-1])
            quantities = ensemble.read_quantities(since)
            seen = [held_out.look()] if held_out else []
            scores = watched.at(ensemble, len(history.steps) + 1, ensemble.step == steps)
            history.append(ensemble.step, np.concatenate([quantities, *seen, scores]))
            enough = on_log is not None and on_log(ensemble, history)
            over = bool(enough) or not history.finite().any()
        over = over or ensemble.step == steps or (held_out is not None and held_out.all_stopped)
        wish = stop()
        due = time.monotonic() - saved_at > seconds_between_checkpoints or over
        if checkpoints is not None and (wish or due) and ensemble.ranks.first:
            checkpoints.save(ensemble, history)
            saved_at = time.monotonic()
        if wish and not over:
            raise Interrupted(f"stopped at step {ensemble.step} of {steps}")
        yield
    _voice_concern(ensemble, history)
    return history


def _voice_concern(ensemble: Ensemble, history: History) -> None:
    """Warns once of what a player finds worrying in the last logged quantities of its runs."""
    if not history.steps or not ensemble.ranks.first:
        return
    last = history.row(-1)
    for concern in [player.concern for player in ensemble.recipe.players if player.concern is not None]:
        found = [concern(dict(zip(history.names, values))) for values in last.T.tolist()]
        worries = [words for words in found if words]
        if worries:
            log.warning("%s (%d of %d runs)", worries[0], len(worries), len(found))
