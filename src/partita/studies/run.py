"""One training run as data: what it is decides its name, so asking twice runs once."""

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

from partita.data._nearest import nearest
from partita.recipes import RECIPES, Adam, Program, Recipe, build
from partita.recipes._equation import keywords
from partita.recipes._own_methods import Method, as_function, method_name
from partita.studies.source import identity
from partita.training.carry import carried_by
from partita.training.covariates import Covariates
from partita.training.own_parts import find
from partita.training.scale import SCALES


@dataclass(frozen=True)
class Run:
    """A method with its options, on described data, for so many steps, from one seed. All of it is JSON.

    `edition` counts the changes of what such a run computes, where it changed: so an id never stands for other weights
    than before. It is 1, and not written, unless `edition_of` its program says otherwise.

    A method, network or likelihood of one's own is here by its name, and `sources` has a digest of its source: with
    another source it is another run.

    `scale` says in which units the model sees the data, `exposure` what rates of counts are proportional to, and
    `covariates` what is seen beside them (`training.covariates`). They are not written where there are none.
    """

    method: str
    options: Mapping[str, Any]
    architecture: Mapping[str, Any]
    data: Mapping[str, Any]
    steps: int
    batch_size: int
    learning_rate: float
    seed: int
    edition: int = 1
    sources: Mapping[str, str] = field(default_factory=dict)
    scale: str = "none"
    exposure: str | None = None
    covariates: Sequence[Mapping[str, Any]] = ()

    def __post_init__(self):
        for name in ("options", "architecture", "data", "sources"):
            if not isinstance(getattr(self, name), Mapping):
                raise ValueError(f"{name} must be an object of names and values, got {getattr(self, name)!r}")
        if self.method not in self.sources:
            method_named(self.method)
        if self.scale not in SCALES[1:]:
            raise ValueError(f"scale must be one of {', '.join(SCALES[1:])}, got {self.scale!r}")
        for name, least in (("steps", 1), ("batch_size", 1), ("seed", 0)):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < least:
                raise ValueError(f"{name.replace('_', ' ')} must be a whole number of at least {least}, got {value}")
        if not isinstance(self.learning_rate, int | float) or isinstance(self.learning_rate, bool):
            raise ValueError(f"learning rate must be a number, got {self.learning_rate}")

    @property
    def recipe(self) -> Recipe:
        """What is known of its method before training."""
        return self.program.recipe

    @property
    def program(self) -> Program:
        options, house, method = dict(self.options), dict(self.architecture), self._part(self.method)
        if "groups" in options:
            options["groups"] = _tuples(options["groups"])
        for name in {"shape", "hidden"} & house.keys():
            house[name] = tuple(house[name])
        for name in {"network", "likelihood"} & house.keys():
            house[name] = self._part(house[name])
        if not isinstance(method, Recipe | Program) or self.learning_rate != Adam().learning_rate:
            house["learning_rate"] = self.learning_rate
        return build(method, **options, **house)

    @property
    def known_covariates(self) -> Covariates | None:
        """What its encoder and decoder see beside the data."""
        return Covariates.from_json(self.covariates) if self.covariates else None

    @property
    def lacks(self) -> str | None:
        """In words, which function of one's own is gone or has changed; None where all are there."""
        try:
            for name in self.sources:
                self._part(name)
        except ValueError as error:
            return str(error)
        return None

    def _part(self, name: str) -> Any:
        """A name of ours as it is; what somebody brought along, found again."""
        if name not in self.sources:
            return name
        part, same = find(name, self.sources[name])
        if not same:
            raise ValueError(f"{name} has changed since: put its source back as it was, or train again")
        return part

    @property
    def function(self) -> Callable[..., Recipe | Program]:
        """That of its method; ValueError where it is gone."""
        return method_named(self._part(self.method))

    @cached_property
    def id(self) -> str:
        """A digest of all that it is, made once: it is asked for again and again."""
        canonical = json.dumps({**self.as_json(), "data": identity(self.data)}, sort_keys=True, allow_nan=False)
        digest = hashlib.blake2b(canonical.encode(), digest_size=5).hexdigest()
        return f"{re.sub('[^0-9A-Za-z_.]+', '-', self.method)}-seed{self.seed}-{digest}"

    @property
    def setting(self) -> str:
        """All but the seed, for people: runs with equal settings are repetitions of each other."""
        parts = [f"{name}={_short(value)}" for name, value in sorted(self.options.items())]
        parts += [f"scale={self.scale}"] if self.scale != "none" else []
        parts += [f"covariates={'+'.join(each['name'] for each in self.covariates)}"] if self.covariates else []
        return f"{self.method}({', '.join(parts)})"

    def as_json(self) -> dict:
        content = asdict(self)
        if self.edition == 1:
            del content["edition"]
        if not self.sources:
            del content["sources"]
        for name, nothing in (("scale", "none"), ("exposure", None), ("covariates", ())):
            if content[name] in (nothing, []):
                del content[name]
        return content

    @classmethod
    def from_json(cls, content: dict) -> "Run":
        try:
            return cls(**content)
        except TypeError as error:
            raise ValueError(f"not the description of a run: {error}") from None


def edition_of(program: Program, *, has_groups: bool = False) -> int:
    """One more where steps remember posteriors of rows: as they were in the step, in edition 1 as they were after it;
    and one more where a method that `has_groups` restarts with single latents, which took one training before."""
    recipes = [candidate.recipe for candidate in program.candidates]
    remembers = any(carry.rows for recipe in recipes for carry in carried_by(recipe).values())
    at_once = all(len(candidate.phases) == 1 for candidate in program.candidates)
    single = at_once and all(len(group) == 1 for recipe in recipes for group in recipe.groups)
    return 1 + remembers + (has_groups and single and program.replicas > 1 and not program.alone)


def method_named(method: Method) -> Callable[..., Recipe | Program]:
    """The function of a method of this name, or of one's own; ValueError, with the nearest name, when there is none."""
    if isinstance(method, str) and method not in RECIPES:
        raise ValueError(f"unknown method {method!r}{nearest(method, RECIPES)}; `partita methods` lists them")
    return as_function(method, RECIPES)


def check_option(method: Method, name: str) -> None:
    known = [key for key in keywords(method_named(method)) if key != "latents"]
    if name not in known:
        raise ValueError(
            f"{method_name(method)} has no option {name!r}{nearest(name, known)}; it takes {', '.join(known) or 'none'}"
        )


def _tuples(groups):
    if groups is None or isinstance(groups, str):
        return groups
    return tuple(tuple(g) if isinstance(g, list | tuple) else g for g in groups)


def _short(value) -> str:
    return json.dumps(value, separators=(",", ":")) if not isinstance(value, str) else value
