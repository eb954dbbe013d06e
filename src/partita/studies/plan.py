"""From what a person asked for to runs, and from runs to ensembles."""

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

from partita.data import Dataset
from partita.distributions import Likelihood, as_likelihood
from partita.distributions.likelihoods import by_name
from partita.networks.architecture import NetworkFunction
from partita.recipes import RECIPES, Program, Recipe
from partita.recipes._equation import keywords, usual_latents
from partita.recipes._own_methods import Method, has_no_groups
from partita.recipes._usual import holds_out_unasked, usual_options
from partita.studies._seen import exposures, learned_covariates
from partita.studies.run import Run, check_option, edition_of, method_named
from partita.studies.source import described, labels_of
from partita.training.beside import sees_beside
from partita.training.covariates import Covariates
from partita.training.defaults import (
    HIDDEN,
    LINEAR_GAUSSIAN,
    check_likelihood,
    choose_network,
    choose_units,
    choose_validation,
    network_asked,
    widths,
    with_noise,
)
from partita.training.labels import required_labels
from partita.training.own_parts import given

STEPS = 5000  # where nobody says how many
# The settings of the papers, where a data set has them (docs/glossary.md); everything else is chosen by shape.
PAPER_SETTINGS: dict[str, dict[str, Any]] = {
    "groups": {"latents": 6, "groups": (2, 2, 2), "network": "linear", "likelihood": "gaussian:0.25"},
    "independent": {"latents": 6, "groups": (2, 2, 2), "network": "linear", "likelihood": "gaussian:0.25"},
    "pdsprites": {"latents": 4, "groups": (2, 2), "network": "burgess", "likelihood": "bernoulli"},
    "dsprites": {"latents": 10},
}


def plan(
    methods: Method | Sequence[Method],
    dataset: Dataset,
    *,
    options: Mapping[str, Sequence[Any]] | None = None,
    latents: int | None = None,
    groups: Sequence | str | None = None,
    network: str | NetworkFunction = "auto",
    likelihood: str | Likelihood = "auto",
    precision: str = "float32",
    hidden: Sequence[int] = HIDDEN,
    seeds: Sequence[int] = (0,),
    steps: int | None = None,
    batch_size: int = 128,
    learning_rate: float = 1e-3,
    scale: str = "auto",
    exposure: str | None = None,
    covariates: Sequence[str] = (),
) -> list[Run]:
    """The cross product of methods, option values and seeds. `options` maps a keyword to the values it takes.

    `groups` goes to the methods that have groups; "auto" is refused by those that cannot find them. A method is a name,
    a function that returns a `Recipe`, or the recipe, which brings its own latents, networks and likelihood; `network`
    and `likelihood` may be one's own too. Runs keep them by name (`module:function`) and a digest of the source.

    Parameters
    ----------
    methods : one, or several.
    dataset : that all of them are trained on.
    options : values that keywords of the methods take; all combinations. `pdisvae` starts and restarts as by the
        estimator where they do not say, but for the papers' data, on which it trains as the papers did.
    latents : how many; None for the paper's, or the method's own.
    groups : sizes or tuples of indices, or "auto".
    network, likelihood : names, "auto" for what suits the data, or one's own.
    precision : "float32", or another that networks compute in.
    hidden : widths of the hidden layers.
    seeds : one run each.
    steps, batch_size, learning_rate : of the training. None are 5000 steps; where these go over images more than 100
        times, a tenth of the rows is held out, and `pdisvae` stops when they gain no more.
    scale : of the observations, "none", "standard", "one", or "auto"; the runs have the one that was chosen.
    exposure : of counts, what rates are proportional to: "total", each row's sum, or a column of numbers by name.
    covariates : columns and factors by name that encoder and decoder see.

    Returns
    -------
    list of Run
        Nothing is written or trained yet.

    Examples
    --------
    >>> from partita.data import load
    >>> runs = plan("beta_vae", load("groups", size=80), options={"beta": [1, 4]}, seeds=[0, 1], steps=10)
    >>> [(run.method, run.options["beta"], run.seed) for run in runs]
    [('beta_vae', 1, 0), ('beta_vae', 1, 1), ('beta_vae', 4, 0), ('beta_vae', 4, 1)]
    """
    if latents is not None and latents < 1:
        raise ValueError(f"latents must be at least 1, got {latents}")
    hidden = widths(hidden)
    network = network_asked(network, hidden)
    architecture = {"network": network, "likelihood": by_name(likelihood), "hidden": list(hidden)}
    if precision != "float32":  # named only where it differs: the ids of runs from before it could stay as they were
        architecture["precision"] = precision
    data, beside = described(dataset), learned_covariates(dataset, covariates) or ()
    if beside:
        architecture["covariates"] = Covariates.from_json(beside).width
    if exposure is not None:
        exposures(dataset, exposure)  # refused before anything is written
    if dataset.size < 2:
        raise ValueError(f"{dataset.name} has {dataset.size} row; training needs at least 2")
    passes = STEPS * min(batch_size, dataset.size) / dataset.size if steps is None else 0
    runs = []
    for method in [methods] if isinstance(methods, str | Recipe | Program) or callable(methods) else methods:
        for name in options or {}:
            check_option(method, name)
        settle = _beside_a_recipe if isinstance(method, Recipe | Program) else _settled
        own, house, units = settle(method, dataset, architecture, latents, groups, scale)
        name, house, sources = _by_name(method, {"shape": list(dataset.shape), **house})
        for values in product(*(options or {}).values()):
            chosen = own | _found(dict(zip(options or {}, values)), dataset)
            chosen |= _usual(method, chosen, network, house.get("likelihood"), dataset, passes)
            # such a start says itself which of its networks the rows need
            found = network == "auto" and chosen.get("start") == "unmixed"
            own_house = house | {"network": "auto"} if found else house
            runs += [
                Run(name, chosen, own_house, data, STEPS if steps is None else steps, min(batch_size, dataset.size),
                    learning_rate, seed, sources=sources, scale=units, exposure=exposure,
                    covariates=beside)
                for seed in seeds
            ]  # fmt: skip
    runs = _as_methods_need(runs, dataset)
    for run in {run.setting: run for run in runs}.values():
        program = run.program  # a bad option is reported before anything is written
        program.hold_out.rows(dataset.size)
        check_likelihood(program.recipe.architecture.likelihood, dataset.x, dataset.x_scale)
    return list({run.id: run for run in runs}.values())


def _settled(
    method: Method,
    dataset: Dataset,
    house: Mapping[str, Any],
    latents: int | None,
    groups: Sequence | str | None,
    scale: str,
) -> tuple[dict[str, Any], dict[str, Any], str]:
    """A method's options and architecture, and the scale of its data: what was asked for, else the papers' on their
    data, else what suits."""
    # a file may be called anything
    paper = PAPER_SETTINGS.get(dataset.name, {}) if "path" not in dataset.description else {}
    if latents is None:
        latents = paper.get("latents") if groups is None or isinstance(groups, str) else _size_of(groups)
    if groups is None and latents == paper.get("latents"):
        groups = paper.get("groups")
    own: dict[str, Any] = {"latents": latents or usual_latents(method_named(method))}
    if takes_groups(method) and groups is not None:
        own["groups"] = groups if isinstance(groups, str) else list(groups)
    elif isinstance(groups, str):
        raise has_no_groups(method)
    network, likelihood = house["network"], house["likelihood"]
    asked = paper.get("likelihood", "auto") if likelihood == "auto" else likelihood
    gaussian = method in LINEAR_GAUSSIAN
    chosen = choose_units(dataset.x, dataset.x_scale, "gaussian" if gaussian else asked, scale)
    if asked == "auto":  # how much is noise depends on the number of latents
        asked = with_noise(chosen, dataset.x, dataset.x_scale, own["latents"]).likelihood
    if network == "auto":
        network = paper.get("network") or choose_network(dataset.shape, asked)[0]
    return own, {**house, "network": network, "likelihood": asked}, chosen.scale.name


def _found(options: dict[str, Any], dataset: Dataset) -> dict[str, Any]:
    """Options with the rows that "auto" holds out."""
    return options | ({"validation": choose_validation(dataset.x)[0]} if options.get("validation") == "auto" else {})


def _usual(
    method: Method, options: Mapping[str, Any], network: Any, likelihood: Any, dataset: Dataset, passes: float
) -> dict[str, Any]:
    """How a method is trained where nobody says, as by the estimator; as in the papers on their data. `passes` over the
    rows, where nobody says how many; else 0."""
    if dataset.name in PAPER_SETTINGS and "path" not in dataset.description:
        return {}
    known = {"groups": options.get("groups"), "network": network, "likelihood": likelihood}
    name = next((name for name, function in RECIPES.items() if function is method), method)
    usual = usual_options(name, options, **known, shape=dataset.shape, latents=options.get("latents", 0))
    if holds_out_unasked(name, options, dataset.shape, passes):
        usual |= {"validation": rows} if (rows := choose_validation(dataset.x)[0]) is not None else {}
    return usual


def _beside_a_recipe(
    method: Method,
    dataset: Dataset,
    house: Mapping[str, Any],
    latents: int | None,
    groups: Sequence | str | None,
    scale: str,
) -> tuple[dict[str, Any], dict[str, Any], str]:
    """What was asked for beside a recipe, which brings everything: refused where it is something else."""
    own = {"latents": latents, "groups": groups}
    unasked = {"network": "auto", "likelihood": "auto", "hidden": list(HIDDEN)}
    assert isinstance(method, Recipe | Program)
    recipe = method if isinstance(method, Recipe) else method.recipe
    return (
        {name: value for name, value in own.items() if value is not None},
        {name: value for name, value in house.items() if name not in unasked or value != unasked[name]},
        choose_units(dataset.x, dataset.x_scale, recipe.architecture.likelihood, scale).scale.name,
    )


def _by_name(method: Method, house: dict[str, Any]) -> tuple[str, dict[str, Any], dict[str, str]]:
    """Method and architecture with names for parts of one's own, and the digests of their sources."""
    ours = next((name for name, function in RECIPES.items() if function is method), method)
    parts = {"method": ours, **{name: house[name] for name in ("network", "likelihood") if name in house}}
    named = {name: given(part) for name, part in parts.items() if not isinstance(part, str)}
    names = {name: named[name][0] if name in named else part for name, part in parts.items()}
    return names.pop("method"), house | names, dict(named.values())


def _as_methods_need(runs: Sequence[Run], dataset: Dataset) -> list[Run]:
    """Methods with labels are told how many there are; methods in closed form take one step, whatever was asked."""
    changes: dict[str, dict[str, Any]] = {}
    for run in runs:
        if run.setting not in changes:
            recipe, has_groups = run.recipe, "groups" in keywords(run.function)
            edition = edition_of(run.program, has_groups=has_groups)
            labels = required_labels(recipe, run.method, labels_of(dataset), dataset.size, dataset.labelled)
            changes[run.setting] = {"edition": edition} | ({} if recipe.players else {"steps": 1})
            changes[run.setting] |= _as_seen(run)
            if labels is not None:
                changes[run.setting]["architecture"] = {**run.architecture, "labels": labels.u.shape[1]}
    return [replace(run, **changes[run.setting]) for run in runs]


def _as_seen(run: Run) -> dict[str, Any]:
    """ValueError where a method cannot see what was asked for; rates that it need not know of are left out."""
    family = as_likelihood(run.recipe.architecture.likelihood)
    if run.exposure is not None and not family.counts:
        raise ValueError(f"exposure is for counts, and the likelihood is {family.name!r}: leave it out")
    if sees_beside(run.program):
        return {}
    if run.covariates or run.exposure is not None:
        what = "covariates" if run.covariates else "exposure"
        raise ValueError(f"{run.method} takes no {what}: leave them out, or use another method, such as vae")
    return {"scale": "none"} if family.counts else {}


def ensembles(
    runs: Sequence[Run], at_once: Callable[[Run], int], shares: int = 1, waiting: Collection[str] | None = None
) -> list[list[Run]]:
    """Runs that share structure, data and length, in groups of as many models as `at_once` says of their first, in the
    order they were asked for; cut further so that `shares` processes can have as many each.

    Where only some are `waiting`, those of each group: who trains with whom is a matter of what was asked for, not of
    what was done when a process was killed.
    """
    shared: dict[Any, list[Run]] = {}
    for run in runs:
        seen = (run.scale, run.exposure, json.dumps(run.covariates))
        shared.setdefault((run.program.structure, run.steps, run.batch_size, seen), []).append(run)
    pieces = []
    for together in shared.values():
        if waiting is not None and not any(run.id in waiting for run in together):
            continue
        program = together[0].program
        # runs that find their groups may find different ones, and go on in ensembles of their own
        width = 1 if program.alone else max(1, at_once(together[0]) // program.at_once)
        width = min(width, -(-len(together) // shares))
        pieces += [together[i : i + width] for i in range(0, len(together), width)]
    if waiting is None:
        return pieces
    left = [[run for run in piece if run.id in waiting] for piece in pieces]
    return [piece for piece in left if piece]


def _size_of(groups: Sequence) -> int:
    try:
        return sum(size if isinstance(size, int) else len(size) for size in groups)
    except TypeError:
        raise ValueError(f"groups must be sizes such as 2,2,2 or lists of indices, got {groups!r}") from None


def takes_groups(method: Method) -> bool:
    return "groups" in keywords(method_named(method))
