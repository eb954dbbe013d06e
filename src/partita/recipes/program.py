"""How a run is trained over time, as data: a recipe says what is minimised, a program when, how often and what is kept.

A program knows no method by name and no ensemble: `training.program` carries any of them out. What happens between two
phases and who judges are functions of `Replica`s, so that a new strategy is one file beside this one.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from torch import Tensor, nn

from partita.distributions import Groups
from partita.recipes.hold_out import NOTHING, HoldOut
from partita.recipes.recipe import Recipe


@dataclass(frozen=True)
class Codes:
    """What a model makes of some rows, float64, (n, K) each: a draw of z from each posterior, means, log-variances."""

    z: Tensor
    mean: Tensor
    log_variance: Tensor


@dataclass(frozen=True)
class Replica:
    """One of the models trained for a run, as strategies see it: the recipe it follows, its `number` among those of its
    candidate, its seed, the step at which its phase `began`, and what was logged of it at which `steps`, an array a
    quantity; held-out ones are called "held_out_loss" and so on. `codes(most)` are those of at most so many rows: of
    the rows held out for judging, where there are some."""

    recipe: Recipe
    number: int
    seed: int
    began: int
    steps: np.ndarray
    quantities: Mapping[str, np.ndarray]
    codes: Callable[[int], Codes]


@dataclass(frozen=True)
class LatentMap:
    """New latents (z - centre) @ transform; `order` where they are the old ones in another order and nothing else."""

    centre: np.ndarray
    transform: np.ndarray
    order: tuple[int, ...] | None = None

    @staticmethod
    def reordering(order: Sequence[int]) -> "LatentMap":
        """order[k] is the latent that becomes latent k."""
        return LatentMap(np.zeros(len(order)), np.eye(len(order))[:, list(order)], tuple(order))


@dataclass(frozen=True)
class Passage:
    """From one phase to the next: each replica's latents as they go on, and the groups where they were found, with
    what speaks for them."""

    maps: Sequence[LatentMap]
    groups: Groups | None = None
    evidence: tuple[dict[str, Any], ...] = ()


@dataclass(frozen=True)
class Started:
    """Where a run starts: which of its candidates is trained, the groups of its latents where they were found, and
    `write(networks, rows)`, which puts weights into its networks from rows, "x" and what is known beside it (None: at
    random as ever). `words` say what was found."""

    candidate: int
    groups: Groups | None
    write: Callable[[Mapping[str, nn.Module], Mapping[str, Tensor]], None] | None
    words: str


# What rows (n, ...), as an encoder reads them, and a seed say of where to start.
Start = Callable[[np.ndarray, int], Started]
# The replicas of one run, and the groups of the next phase where they are given.
Between = Callable[[Sequence[Replica], Groups | None], Passage]
# Which of the replicas is kept.
Judge = Callable[[Sequence[Replica]], int]


@dataclass(frozen=True)
class Phase:
    """A recipe for a share of the run's steps. A function of groups where these are found before the phase begins."""

    recipe: Recipe | Callable[[Groups | None], Recipe]
    share: float = 1.0


@dataclass(frozen=True)
class Candidate:
    """One way to train a run: phases, what happens to the latents between them, and how many replicas, each from a seed
    of its own. `finish(networks, x, seed)` changes the networks once the steps are over: a method in closed form has it
    and nobody to take steps."""

    phases: tuple[Phase, ...]
    between: tuple[Between, ...] = ()
    replicas: int = 1
    finish: Callable[[Mapping[str, nn.Module], Tensor, int], None] | None = None

    def __post_init__(self):
        if len(self.between) != len(self.phases) - 1:
            raise ValueError(
                f"{len(self.phases)} phases have {len(self.phases) - 1} places between, not {len(self.between)}"
            )
        known = [phase.recipe for phase in self.phases if isinstance(phase.recipe, Recipe)]
        for recipe in known[1:]:
            check_goes_on(known[0], recipe)

    @property
    def recipe(self) -> Recipe:
        """That of the first phase; with every latent alone, where its groups are found at the start."""
        recipe = self.phases[0].recipe
        return recipe if isinstance(recipe, Recipe) else recipe(None)

    @property
    def finds_groups(self) -> bool:
        return not all(isinstance(phase.recipe, Recipe) for phase in self.phases)

    def ends(self, steps: int) -> list[int]:
        """The step at which each phase is over."""
        total = sum(phase.share for phase in self.phases)
        shares = np.cumsum([phase.share / total for phase in self.phases])
        return [*(int(steps * share) for share in shares[:-1]), steps]

    def last(self, groups: Groups | None = None) -> Recipe:
        """The recipe of the last phase, with the groups that were found, where it had to find them."""
        recipe = self.phases[-1].recipe
        if isinstance(recipe, Recipe):
            return recipe
        if groups is None:
            raise ValueError("the groups of this run were found in training, and nobody says which they are")
        return recipe(groups)

    @property
    def structure(self):
        """All that runs trained together must share. Runs that find groups train alone: theirs may differ."""
        recipes = tuple(p.recipe.structure if isinstance(p.recipe, Recipe) else "found" for p in self.phases)
        return recipes, tuple(p.share for p in self.phases), self.between, self.replicas, self.finish


@dataclass(frozen=True)
class Program:
    """The ways to train a run, who judges between all their replicas, the rows that nobody is trained on, and after how
    many log points without a better held-out loss a model stops (None: never). With a `start`, that says which of the
    candidates is trained, and from where."""

    candidates: tuple[Candidate, ...]
    judge: Judge | None = None  # nobody, where there is one replica alone
    hold_out: HoldOut = NOTHING
    patience: int | None = None
    start: Start | None = None

    def __post_init__(self):
        if self.start is None and not all(isinstance(c.phases[0].recipe, Recipe) for c in self.candidates):
            raise ValueError("the first phase has nobody to find groups before it: give it a recipe, or a start")
        if self.replicas > 1 and self.judge is None:
            raise ValueError(f"somebody must judge which of {self.replicas} replicas is kept")

    @staticmethod
    def of(method: "Recipe | Program") -> "Program":
        """A plain run by this recipe: one model, one phase."""
        return method if isinstance(method, Program) else Program((Candidate((Phase(method),)),))

    @property
    def recipe(self) -> Recipe:
        """What is known of the method before training: its first recipe."""
        return self.candidates[0].recipe

    @property
    def finds_groups(self) -> bool:
        return any(candidate.finds_groups for candidate in self.candidates)

    @property
    def alone(self) -> bool:
        """Whether runs train one by one: where groups, or where to start, are found, they may differ."""
        return self.finds_groups or self.start is not None

    @property
    def replicas(self) -> int:
        """Models trained for one run, in all."""
        counts = [candidate.replicas for candidate in self.candidates]
        return sum(counts) if self.start is None else max(counts)

    @property
    def at_once(self) -> int:
        """Models of one run that train at once: candidates take turns."""
        return max(candidate.replicas for candidate in self.candidates)

    @property
    def structure(self):
        return tuple(c.structure for c in self.candidates), self.judge, self.hold_out, self.patience, self.start

    def changed(self, change: Callable[[Recipe], Recipe]) -> "Program":
        """The program with every recipe changed."""

        def phase(old: Phase) -> Phase:
            made = old.recipe
            return replace(
                old, recipe=change(made) if isinstance(made, Recipe) else lambda groups: change(made(groups))
            )

        candidates = tuple(replace(c, phases=tuple(map(phase, c.phases))) for c in self.candidates)
        return replace(self, candidates=candidates)


def check_goes_on(before: Recipe, after: Recipe) -> None:
    """ValueError where a model trained by one recipe cannot go on by the other."""
    players = [tuple((p.owns, tuple(p.weights)) for p in recipe.players) for recipe in (before, after)]
    if before.networks != after.networks or players[0] != players[1]:
        raise ValueError("this method changes with its groups on the way: its groups must be given, and restarts be 1")
