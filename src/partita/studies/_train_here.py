"""Training in this process: what nobody else has taken; what others have taken, once they have ended or died."""

import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass

import torch

from partita.data import Dataset
from partita.studies._arrange import arranged
from partita.studies._ensemble_trainer import EnsembleTrainer, StudyCallback, Watch
from partita.studies._leases import Claim, Leases
from partita.studies._memory_budget import MemoryBudget, data_on, say_peak
from partita.studies._precompile import precompile
from partita.studies._shares import dealt
from partita.studies.run import Run
from partita.studies.store import Store
from partita.training import Interrupted
from partita.training.fit import NOTHING, SECONDS_BETWEEN_CHECKPOINTS, Watched
from partita.training.ranks import ALONE, Ranks
from partita.training.steps import side_by_side

# Between two looks at what others are doing.
SECONDS_BETWEEN_LOOKS = 1.0


@dataclass(frozen=True)
class Manner:
    """How runs are trained, whatever they are: nothing of it changes what they compute."""

    watch: Watch | None = None
    callbacks: Sequence[StudyCallback] = ()
    watched: Watched = NOTHING
    checkpoint_seconds: float = SECONDS_BETWEEN_CHECKPOINTS
    models_at_once: int | None = None
    on_hang: Callable[[], None] | None = None


def train_here(
    runs: Sequence[Run],
    dataset: Dataset,
    store: Store,
    device: torch.device,
    asked: Callable[[], bool],
    leases: Leases,
    manner: Manner,
    *,
    wait: bool = True,
) -> list[str]:
    """Trains until all runs have ended, here or elsewhere. Without `wait` what others have taken is left to them, and
    their runs are returned."""
    x, budget = data_on(dataset, device), MemoryBudget(dataset.size, device, manner.models_at_once)
    while True:
        taken = leases.held()
        mine = arranged(runs, store, budget.models, taken=taken)
        others = [run.id for run in runs if run.id in taken and not store.has_ended(run.id)]
        if mine:
            trainer = _trainer(dataset, x, store, device, asked, manner, leases, ALONE)
            _train(trainer, mine, budget, asked)
        elif not others or not wait:
            return others
        else:
            _pause(asked)


def train_together(
    runs: Sequence[Run],
    dataset: Dataset,
    store: Store,
    device: torch.device,
    asked: Callable[[], bool],
    leases: Leases,
    manner: Manner,
    ranks: Ranks,
    together: Ranks,
) -> None:
    """One of several ranks. The first claims all runs for all of them, and says who trains what."""
    known = {run.id: run for run in runs}
    shares = ranks.size // together.size
    claim = leases.claim(list(known)) if ranks.first else None
    if ranks.first and claim is None:
        raise OSError(f"another process is training in {store.folder}; wait for it or choose another --out")
    with nullcontext() if claim is None else claim.kept():
        x, budget = data_on(dataset, device), MemoryBudget(dataset.size, device, manner.models_at_once)
        hands = dealt(arranged(runs, store, budget.models, shares), shares) if ranks.first else None
        mine = [[known[member] for member in members] for members in ranks.tell(hands)[ranks.rank % shares]]
        trainer = _trainer(dataset, x, store, device, asked, manner, None, together)
        try:
            _train(trainer, mine, budget, asked, claim)
        except Interrupted:
            together.wait()  # until the first rank has saved what all of them trained
            raise
        _wait_for_all(ranks, asked)


def _trainer(dataset, x, store, device, asked, manner: Manner, leases: Leases | None, ranks: Ranks) -> EnsembleTrainer:
    return EnsembleTrainer(
        dataset, x, store, device, asked, manner.watch, manner.checkpoint_seconds, manner.watched, ranks,
        manner.callbacks, leases, manner.on_hang,
    )  # fmt: skip


def _train(
    trainer: EnsembleTrainer,
    mine: list[list[Run]],
    budget: MemoryBudget,
    asked: Callable[[], bool],
    claim: Claim | None = None,
) -> None:
    at_once = budget.ensembles(mine) if trainer.ranks.size == 1 else 1
    if at_once > 1:
        precompile(mine, trainer.dataset.size, trainer.device, asked)
    side_by_side((trainer.train(runs, claim) for runs in mine), trainer.device, at_once)
    say_peak(trainer.device)


def _pause(asked: Callable[[], bool]) -> None:
    if asked():
        raise Interrupted("stopped while other processes train the rest")
    time.sleep(SECONDS_BETWEEN_LOOKS)


def _wait_for_all(ranks: Ranks, asked: Callable[[], bool]) -> None:
    """A rank whose runs are done waits for the others; where they were asked to stop, so was it."""
    try:
        ranks.wait()
    except OSError:
        if asked():
            raise Interrupted("stopped before all processes were done") from None
        raise
