"""One ensemble of a study from its first step to files; where memory does not suffice, in halves."""

import gc
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from partita.data import Dataset
from partita.recipes import Candidate, Program, Recipe
from partita.studies._leases import Claim, LeaseLost, Leases
from partita.studies._seen import beside_of, scale_of
from partita.studies.run import Run
from partita.studies.source import labels_of
from partita.studies.store import Store
from partita.training import Ensemble, History
from partita.training.callbacks import call
from partita.training.device import worth_compiling
from partita.training.fit import NOTHING, Watched
from partita.training.labels import required_labels
from partita.training.program import Make, steps_of_training
from partita.training.ranks import Ranks
from partita.training.steps import Steps

log = logging.getLogger("partita")

LOG_POINTS = 100

# Told at every log point: the runs of the ensemble, their history, steps done, steps in all.
Watch = Callable[[Sequence[Run], History, int, int], None]
# Told at every log point of each run: the run, the step, and what was logged.
StudyCallback = Callable[[Run, int, dict[str, float]], Any]


@dataclass(frozen=True)
class EnsembleTrainer:
    """What the ensembles of a study share while they train. `x` is the data where they lie: on the device, on disk, or
    in memory and read from there."""

    dataset: Dataset
    x: Any
    store: Store
    device: torch.device
    stop: Callable[[], bool]
    watch: Watch | None
    checkpoint_seconds: float
    watched: Watched
    ranks: Ranks
    callbacks: Sequence[StudyCallback] = ()
    leases: Leases | None = None
    on_hang: Callable[[], None] | None = None

    def train(self, runs: list[Run], held: Claim | None = None) -> Steps[None]:
        """Trains runs of one structure and files them, unless somebody else has claimed them, or has ended one since
        this was called. `held` are leases that the caller has on them already."""
        waiting = [run for run in runs if not self.store.has_ended(run.id)]
        return self._in_halves(runs, held) if self.leases is None else self._claimed(self.leases, runs, waiting)

    def _claimed(self, leases: Leases, runs: list[Run], waiting: list[Run]) -> Steps[None]:
        claim = leases.claim([run.id for run in runs])
        if claim is None:
            return
        with claim.kept(self.on_hang):
            if any(self.store.has_ended(run.id) for run in waiting):
                return
            try:
                yield from self._in_halves(runs, claim)
            except LeaseLost as error:
                log.warning("%s: this process was taken for dead, and leaves them to it", error)

    def _in_halves(self, runs: list[Run], claim: Claim | None) -> Steps[None]:
        """Out of memory, each half goes on by itself from the last checkpoint."""
        try:
            yield from self._train(runs, claim)
            return
        except torch.OutOfMemoryError:
            if len(runs) == 1 or self.ranks.size > 1:
                whom = runs[0].id if len(runs) == 1 else f"{len(runs)} runs like {runs[0].id} at once"
                raise ValueError(
                    f"the memory of {self.device} is too small for {whom}: use a smaller batch or network, fewer "
                    "restarts, or another device"
                ) from None
        gc.collect()  # the ensemble that did not fit
        if self.device.type == "cuda":
            torch.cuda.empty_cache()
        middle = (len(runs) + 1) // 2
        log.warning("%d models at once are too many for the memory of %s: going on in halves", len(runs), self.device)
        halves = [runs[:middle], runs[middle:]]
        self.store.checkpoints(runs).divide([(self.store.checkpoints(half), len(half)) for half in halves])
        for half in halves:
            yield from self._in_halves(half, claim)

    def _train(self, runs: list[Run], claim: Claim | None) -> Steps[None]:
        steps, first = runs[0].steps, self.ranks.first
        checkpoints = self.store.checkpoints(runs)
        # An ensemble that was killed while it was being filed is here as a whole; what it has filed stays as it is.
        to_file = [(place, run) for place, run in enumerate(runs) if first and self.store.result(run) is None]

        def stop() -> bool:
            if claim is not None:
                claim.step()
            return self.stop()

        def begin(history: History) -> None:
            for position, run in to_file:
                self.store.begin(run, history, position)

        def on_log(step: int, history: History) -> None:
            for position, run in to_file:
                self.store.log(run, history, position)
            if self.watch is not None and first:
                self.watch(runs, history, step, steps)
            if self.callbacks and first:
                for run, values in zip(runs, history.row(-1).T.tolist()):
                    call(self.callbacks, run, step, quantities=dict(zip(history.names, values)))

        trained = yield from steps_of_training(
            [run.program for run in runs],
            [run.seed for run in runs],
            self._maker(runs[0]),
            steps,
            log_every=max(1, steps // LOG_POINTS),
            checkpoints=checkpoints,
            on_begin=begin,
            on_log=on_log,
            stop=self.ranks.agreed(stop),
            watched=self.watched if first else NOTHING,
            seconds_between_checkpoints=self.checkpoint_seconds,
        )
        if not first:
            return
        if claim is not None:
            claim.check()
        for position, run in to_file:
            result = trained[position]
            if self.store.has_ended(run.id):
                continue
            if claim is not None:
                claim.step()
            if result.diverged is not None:
                log.warning("%s: the loss was no longer finite at step %d; the run was ended", run.id, result.diverged)
            self.store.finish(run, result, scale_of(run, self.dataset))
        checkpoints.clear()

    def _maker(self, run: Run) -> Make:
        dataset = self.dataset
        labels = required_labels(run.recipe, run.method, labels_of(dataset), dataset.size, dataset.labelled)
        scale, beside = scale_of(run, dataset), beside_of(run, dataset)

        def make(recipes: list[Recipe], seeds: list[int], program: Program, candidate: Candidate) -> Ensemble:
            return Ensemble(
                recipes,
                seeds,
                self.x,
                x_scale=dataset.x_scale,
                u=None if labels is None else labels.u,
                labelled=None if labels is None else labels.labelled,
                scale=scale,
                beside=beside,
                batch_size=run.batch_size,
                device=self.device,
                compiled=worth_compiling(run.steps, self.device),
                ranks=self.ranks,
                hold_out=program.hold_out,
                finish=candidate.finish,
            )

        return make
