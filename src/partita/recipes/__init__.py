"""The methods. RECIPES is the only registry of them: a method is one function and one row."""

__all__ = [
    "JUDGES",
    "RECIPES",
    "Adam",
    "Between",
    "Candidate",
    "Codes",
    "HoldOut",
    "Judge",
    "LatentMap",
    "Measure",
    "Method",
    "Passage",
    "Phase",
    "Player",
    "Program",
    "Ramp",
    "Recipe",
    "Replica",
    "Value",
    "build",
    "nonnegative",
    "one_player",
    "positive",
    "whole",
    "with_disintegration",
]

from dataclasses import replace
from functools import partial
from inspect import signature
from typing import Any

from partita.data._nearest import nearest
from partita.recipes._own_methods import Method, as_function, method_name
from partita.recipes.adversarial import infogan
from partita.recipes.auto_groups import finding_groups
from partita.recipes.closed_form import ae_ica, grouped_ica, ica, pca
from partita.recipes.control import control_vae
from partita.recipes.correlation_family import beta_stcvae, beta_tcvae, hfvae, pdisvae
from partita.recipes.density_ratio import factor_vae, rtc_vae
from partita.recipes.elbo_family import annealed_vae, beta_vae, vae
from partita.recipes.hold_out import HoldOut, parse_validation
from partita.recipes.identifiable import full_vae, idvae, ivae, ss_idvae, ss_ivae
from partita.recipes.judges import JUDGES
from partita.recipes.moment_family import dip_vae_i, dip_vae_ii
from partita.recipes.prior_family import ica_vae, isa_vae
from partita.recipes.program import Between, Candidate, Codes, Judge, LatentMap, Passage, Phase, Program, Replica
from partita.recipes.recipe import (
    Adam,
    Measure,
    Player,
    Ramp,
    Recipe,
    Value,
    nonnegative,
    one_player,
    positive,
    whole,
    with_disintegration,
)
from partita.recipes.restarts import restarted
from partita.recipes.unmixed import starting_unmixed
from partita.trace import Dream

STARTS = ("random", "unmixed")
UNMIXED_VALIDATION = 0.1  # where nothing else is said: a good start is left only for what rows held out like better

RECIPES = {
    "vae": vae,
    "beta_vae": beta_vae,
    "annealed_vae": annealed_vae,
    "control_vae": control_vae,
    "beta_tcvae": beta_tcvae,
    "hfvae": hfvae,
    "pdisvae": pdisvae,
    "beta_stcvae": beta_stcvae,
    "factor_vae": factor_vae,
    "rtc_vae": rtc_vae,
    "dip_vae_i": dip_vae_i,
    "dip_vae_ii": dip_vae_ii,
    "ica_vae": ica_vae,
    "isa_vae": isa_vae,
    "full_vae": full_vae,
    "ivae": ivae,
    "idvae": idvae,
    "ss_ivae": ss_ivae,
    "ss_idvae": ss_idvae,
    "infogan": infogan,
    "pca": pca,
    "ica": ica,
    "ae_ica": ae_ica,
}


def build(
    method: Method,
    *,
    disintegration: float = 0.0,
    restarts: int = 1,
    start: str = "random",
    judge: str = "loss",
    validation: float | str | None = None,
    patience: int = 20,
    **options,
) -> Program:
    """How a method is trained: one of RECIPES, a recipe, or a function that returns one (or a `Program`, which then
    says itself what is trained, and how often); with what may be added to any of them.

    `disintegration` is the weight of a penalty on factors that live in several latents, where some rows have labels.
    `restarts` trains that many models and keeps one, the one with the lowest loss, or the `judge` "median"; a method
    with groups finds them on the way (`recipes.restarts`, `recipes.auto_groups`). `start="unmixed"` finds them from the
    rows before training (`recipes.unmixed`), and holds a tenth of them out unless told otherwise; weights are then
    judged by the bound on these. `validation` holds rows out, 0.1 of them or "blocks:0.1" in contiguous stretches: then
    the weights with the lowest loss on those are kept, restarts are judged by it, and a model stops after `patience`
    log points without a better one (0: never).

    Parameters
    ----------
    method : a name of RECIPES, a function that returns a recipe, or the recipe.
    disintegration, restarts, start, judge, validation, patience : see above.
    **options : keywords of the method and its networks, such as `latents`, `groups`, `beta`, `shape`.

    Returns
    -------
    Program
        What is trained; its `recipe` is that of the model that is kept.

    Examples
    --------
    >>> program = build("pdisvae", latents=4, groups=(2, 2), shape=(8,), network="linear", validation=0.1)
    >>> program.recipe.groups, program.patience
    (((0, 1), (2, 3)), 20)
    """
    whole(least=1, restarts=restarts)
    whole(least=0, patience=patience)
    if judge not in JUDGES:
        raise ValueError(f"unknown judge {judge!r}{nearest(judge, JUDGES)}; choose from {', '.join(JUDGES)}")
    make: Any = as_function(method, RECIPES)
    groups = options.get("groups")
    if start not in STARTS:
        raise ValueError(f"unknown start {start!r}{nearest(start, STARTS)}; choose from {', '.join(STARTS)}")
    if make is ica and groups is not None:
        start, options["network"] = "unmixed", "linear"
        make = grouped_ica
    if start == "unmixed":
        if restarts > 1 or "groups" not in signature(make).parameters:
            raise ValueError('start="unmixed" is for methods with groups, and for restarts=1')
        program = starting_unmixed(make, options)
    elif groups == "auto":
        program = finding_groups(lambda found: make(**options | {"groups": found}), restarts)
    elif isinstance(groups, str):
        raise ValueError(f'groups must be sizes, tuples of indices or "auto", got {groups!r}')
    else:
        has_groups = "groups" in signature(make).parameters
        alone = partial(make, **options | {"groups": None}) if has_groups else None
        made = make(**options)
        if restarts > 1 and isinstance(made, Program) and (alone is not None or made.replicas > 1):
            raise ValueError(f"{method_name(method)} says itself what is trained, and how often: leave restarts out")
        program = restarted(Program.of(made), alone, restarts)
    program = program.changed(partial(with_disintegration, weight=disintegration))
    unasked = start == "unmixed" and validation is None and bool(program.recipe.players)
    validation = UNMIXED_VALIDATION if unasked else validation
    hold_out = parse_validation(validation) or program.hold_out
    if start == "unmixed":
        hold_out = replace(hold_out, by="bound", unasked=unasked)
    if hold_out and isinstance(program.recipe.trace, Dream):
        raise ValueError(f"{method_name(method)} has no likelihood to judge rows held out by; leave validation out")
    return replace(
        program,
        judge=_judge(program, restarts, judge),
        hold_out=hold_out,
        patience=program.patience if validation is None else patience or None,
    )


def _judge(program: Program, restarts: int, judge: str) -> Judge | None:
    """Nobody, where there is one replica alone; a program that brings its replicas brings its judge."""
    if program.replicas == 1:
        return None
    return JUDGES[judge] if restarts > 1 else program.judge
