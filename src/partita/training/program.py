"""Carrying out a program: candidates one after the other, each phase by phase, all replicas at once; one is kept."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from torch import Tensor

from partita.distributions import Groups
from partita.recipes import Candidate, Passage, Program, Recipe, Replica
from partita.recipes.judges import agreement
from partita.recipes.program import Between, Codes, Started
from partita.training.checkpoint import Checkpoints
from partita.training.device import with_gradients
from partita.training.draws import seed_of
from partita.training.ensemble import Ensemble
from partita.training.fit import steps_of_fit
from partita.training.history import History
from partita.training.latents import codes_of, map_latents, model_of, some_rows
from partita.training.start import find_start, write_start
from partita.training.steps import Steps, to_the_end

# Builds an ensemble of these recipes and seeds, with what the program and the candidate say of rows and finishing.
Make = Callable[[list[Recipe], list[int], Program, Candidate], Ensemble]


@dataclass(frozen=True)
class Trained:
    """What training gives for one run: the recipe its parameters belong to, the candidate they come from, the log, at
    which step training ended and whose weights were kept; the groups where they were found, with the evidence; and how
    far each other restart found the same groups."""

    model: dict[str, Tensor]
    recipe: Recipe
    history: History
    step: int
    kept_step: int
    candidate: int = 0
    groups: Groups | None = None
    evidence: tuple[dict[str, Any], ...] = ()
    restarts: tuple[float, ...] = ()
    words: str = ""  # of where it started, where the rows said so

    @property
    def diverged(self) -> int | None:
        """When it stopped being finite, if it did."""
        return self.history.diverged(0)


@dataclass(frozen=True)
class _Ended:
    """A candidate at its end: the replicas of all runs, one run after the other."""

    ensemble: Ensemble
    history: History
    began: int
    passage: Passage | None


def train_models(
    programs: Sequence[Program], seeds: Sequence[int], make: Make, steps: int, **settings
) -> list[Trained]:
    """All steps of `steps_of_training`, one after the other."""
    return to_the_end(steps_of_training(programs, seeds, make, steps, **settings))


@with_gradients
def steps_of_training(
    programs: Sequence[Program],
    seeds: Sequence[int],
    make: Make,
    steps: int,
    *,
    checkpoints: Checkpoints | None = None,
    on_begin: Callable[[History], None] | None = None,
    on_log: Callable[[int, History], bool | None] | None = None,
    **loop,
) -> Steps[list[Trained]]:
    """Trains runs of one structure, each from its seed; `make` builds an ensemble of them.

    `on_begin(history)` and `on_log(step, history)` see one column a run: the first replica, until one is chosen. Where
    `on_log` returns True nobody takes another step, and what comes after is done with the weights of then.
    """
    program = programs[0]
    if program.alone and len(programs) > 1:
        raise ValueError("runs that find their groups, or where to start, may find different ones: one by one, please")
    started = None
    if program.start is not None:
        started = find_start(program, make([program.recipe], [seeds[0]], program, program.candidates[0]))
    ended: list[_Ended] = []
    enough: list[int] = []  # the step at which `on_log` said so
    for number, candidate in enumerate(program.candidates):
        shown = list(range(0, len(seeds) * candidate.replicas, candidate.replicas))

        def begin(history: History, shown=shown) -> None:
            if on_begin is not None:
                on_begin(history.only(shown))

        def logged(ensemble: Ensemble, history: History, shown=shown) -> bool:
            if on_log is not None and on_log(ensemble.step, history.only(shown)):
                enough.append(ensemble.step)
            return bool(enough)

        if enough:
            break
        if started is not None and started.candidate != number:
            continue
        saved = None if checkpoints is None else checkpoints.candidate(number)
        alike = [each.candidates[number] for each in programs]
        loop |= {"on_begin": begin, "on_log": logged}
        course = _Course(program, alike, seeds, make, steps, saved, loop, enough, started)
        ended.append((yield from course.train()))
    if started is not None:
        return [
            replace(_kept(program, ended, 0), candidate=started.candidate, groups=started.groups, words=started.words)
        ]
    return [_kept(program, ended, run) for run in range(len(seeds))]


def replica_seeds(seed: int, replicas: int) -> list[int]:
    """The first replica is the run itself; the others are far from every seed a person would choose."""
    return [seed] + [seed_of(seed, "restart", number) for number in range(1, replicas)]


def passed(
    before: Ensemble,
    between: Between,
    targets: Sequence[Groups | None],
    replicas: int = 1,
    history: History | None = None,
) -> list[Passage]:
    """How the latents of each run's replicas go on, to the groups of its next phase where they are given."""
    return [between(replicas_of(before, history, run, replicas), target) for run, target in enumerate(targets)]


@dataclass(frozen=True)
class _Course:
    """One candidate of runs that train together: its ensembles, where they are kept, and the way through its phases."""

    program: Program
    alike: Sequence[Candidate]
    seeds: Sequence[int]
    make: Make
    steps: int
    checkpoints: Checkpoints | None
    loop: dict[str, Any]
    enough: list[int]
    started: Started | None = None

    def train(self) -> Steps[_Ended]:
        first = self._first()
        ends = self.alike[0].ends(self.steps)
        ensemble, history, passage, began = None, None, None, ends[first - 1] if first else 0
        for i in range(first, len(ends)):
            recipes, before = self._recipes(i), ensemble
            if before is None:
                ensemble = self._ensemble(recipes, None if self.started is None else self.started.groups)
                if i == 0 and self.started is not None and self.started.write is not None:
                    write_start(ensemble, self.started.write, self.started.step)
            else:
                began, targets, replicas = before.step, [_groups(recipe) for recipe in recipes], self.alike[0].replicas
                passages = passed(before, self.alike[0].between[i - 1], targets, replicas, history)
                passage = passages[0]
                ensemble = self._ensemble(recipes, passage.groups)
                map_latents(before, ensemble, passages)
            settings = self._settings(i) | {"checkpoints": self._saved(i), "history": history}
            history = yield from steps_of_fit(ensemble, min([ends[i], *self.enough]), **settings, **self.loop)
        assert ensemble is not None
        assert history is not None
        return _Ended(ensemble, history, began, passage)

    def _first(self) -> int:
        """The last phase that was begun already. Where groups are found on the way, the first of all: what was trained
        of it is only put where it ended, and the groups are found again."""
        candidate = self.alike[0]
        for i in reversed(range(len(candidate.phases) if not candidate.finds_groups else 0)):
            saved = self._saved(i)
            if saved is None or not saved.exist():
                continue
            ensemble = self._ensemble(self._recipes(i))
            ensemble.watch_held_out(self.loop["log_every"], **self._settings(i))
            if saved.usable(ensemble, candidate.ends(self.steps)[i]):
                return i
        return 0

    def _recipes(self, i: int) -> list[Any]:
        return [candidate.phases[i].recipe for candidate in self.alike]

    def _ensemble(self, recipes: Sequence[Any], groups: Groups | None = None) -> Ensemble:
        candidate, members = self.alike[0], []
        for seed in self.seeds:
            members += replica_seeds(seed, candidate.replicas)
        made = [recipe if isinstance(recipe, Recipe) else recipe(_given(groups)) for recipe in recipes]
        repeated = [recipe for recipe in made for _ in range(candidate.replicas)]
        return self.make(repeated, members, self.program, candidate)

    def _saved(self, i: int) -> Checkpoints | None:
        return None if self.checkpoints is None else self.checkpoints.phase(i, len(self.alike[0].phases))

    def _settings(self, i: int) -> dict[str, Any]:
        """Only at the end are the best parameters kept, and is stopped early: phases end for all runs at once."""
        last = i == len(self.alike[0].phases) - 1
        return {"keep_best": last, "patience": self.program.patience if last else None}


def _kept(program: Program, ended: Sequence[_Ended], run: int) -> Trained:
    """The replica of a run that the judge prefers."""
    counts = [candidate.replicas for candidate in program.candidates]
    replicas = [
        replica
        for each, count in zip(ended, counts)
        for replica in replicas_of(each.ensemble, each.history, run, count, began=each.began, best=True)
    ]
    chosen = 0 if program.judge is None else program.judge(replicas)
    agreed = agreement(replicas, chosen)
    number = 0
    while chosen >= counts[number]:
        chosen, number = chosen - counts[number], number + 1
    end, position = ended[number], run * counts[number] + chosen
    step, kept = end.ensemble.stopped(position)
    passage = end.passage or Passage(())
    return Trained(
        end.ensemble.model(position, best=True),
        end.ensemble.recipes[position],
        end.history.only([position]).until(step),
        step,
        kept,
        number,
        passage.groups,
        passage.evidence,
        agreed,
    )


def replicas_of(
    ensemble: Ensemble, history: History | None, run: int, count: int, *, began: int = 0, best: bool = False
) -> list[Replica]:
    """The `count` models of one run in an ensemble of several, as strategies see them."""
    positions = range(run * count, (run + 1) * count)
    replicas = []
    for number, position in enumerate(positions):
        logged = {} if history is None else history.of(position)
        steps = logged.pop("step", np.zeros(0))
        codes = partial(_codes, ensemble, position, best)
        replicas.append(Replica(ensemble.recipe, number, ensemble.seeds[position], began, steps, logged, codes))
    return replicas


def _codes(ensemble: Ensemble, position: int, best: bool, most: int) -> Codes:
    """The first rank's, so that all ranks decide alike."""
    x, beside = some_rows(ensemble, most)
    codes = codes_of(model_of(ensemble, position, best=best), x, ensemble.device, beside)
    ensemble.ranks.share([codes.z, codes.mean, codes.log_variance])
    return codes


def _groups(recipe: Any) -> Groups | None:
    return recipe.groups if isinstance(recipe, Recipe) else None


def _given(groups: Groups | None) -> Groups:
    if groups is None:
        raise ValueError("a phase waits for groups, and nothing before it finds them")
    return groups
