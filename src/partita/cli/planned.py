"""`partita train` from a plan: the file stands for METHOD and its flags, and every command line leaves one behind."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import typer.core

from partita.cli.plan_file import ELSEWHERE, PlanFile, keep, read_plan, written

# Where a command keeps its plan, the method it is at, and whether all of it was understood.
PLAN, PLACE, UNDERSTOOD = "partita.plan", "partita.place", "partita.understood"


class WithNames(typer.core.TyperCommand):
    """Help that names the likelihoods there are: they are loaded, and torch with them, only when it is asked for. With
    --plan, flags come from the file, and what is wrong with them is said with its line."""

    def format_help(self, ctx, formatter) -> None:
        from partita.distributions import listed_likelihoods

        for each in self.params:
            if isinstance(each, typer.core.TyperOption) and each.name == "likelihood":
                each.help = f"auto, {listed_likelihoods()}, or module:object"
        super().format_help(ctx, formatter)

    def parse_args(self, ctx, args: list[str]) -> list[str]:
        path = _plan_in(args)
        if path is None or "--help" in args:
            return super().parse_args(ctx, args)
        found = ctx.meta[PLAN] = read_plan(path, [str(each.name) for each in self.params if each.name != "context"])
        for word in args:
            name = word[2:].partition("=")[0].replace("-", "_").removeprefix("no_")
            if word.startswith("--") and name not in ELSEWHERE:
                raise ValueError(f"{word.partition('=')[0]} stands in the plan: change {path}, or leave --plan out")
        try:
            rest = super().parse_args(ctx, [*found.words(), *args])
        except Exception as error:
            if not hasattr(error, "format_message"):
                raise
            raise found.refusal(error.format_message()) from None  # type: ignore[attr-defined]
        if ctx.args:
            raise ValueError(f"methods stand in the plan: leave {ctx.args[0]} out, or --plan")
        return rest

    def invoke(self, ctx) -> Any:
        try:
            return super().invoke(ctx)
        except ValueError as error:
            found: PlanFile | None = ctx.meta.get(PLAN)
            if found is None or UNDERSTOOD in ctx.meta:
                raise
            raise found.refusal(str(error), ctx.meta.get(PLACE)) from None


def with_own_words(context, methods: Sequence[Any]) -> Iterator[tuple[Any, list[str]]]:
    """Each method with the flags that are its own; what is wrong until the next one is said with its line of a plan."""
    found: PlanFile | None = context.meta.get(PLAN)
    for place, method in enumerate(methods):
        context.meta[PLACE] = place
        yield method, context.args if found is None else found.own_words(place)
    del context.meta[PLACE]


def keep_plan(context, store) -> Path:
    """Puts the plan into the study's folder, as it was given, or as the command line says it."""
    found: PlanFile | None = context.meta.get(PLAN)
    context.meta[UNDERSTOOD] = True
    store.check_writable()
    if found is not None:
        return keep(store.folder, found.path.read_bytes())
    params = {each.name: context.params[each.name] for each in context.command.params if each.name in context.params}
    return keep(store.folder, written(params, context.args).encode())


def _plan_in(args: list[str]) -> Path | None:
    """The file of --plan, where it is given."""
    for place, word in enumerate(args):
        if word.startswith("--plan="):
            return Path(word.partition("=")[2])
        if word == "--plan" and place + 1 < len(args):
            return Path(args[place + 1])
    return None
