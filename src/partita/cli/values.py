"""Text of the command line as values, and lines for people."""

import json
import re
import sys
from collections.abc import Sequence
from inspect import Parameter
from typing import Any

LONGEST_LINE = 600


def complain(message: str) -> None:
    """One line on stderr, from its beginning and its end where it is endless: the end says what to do."""
    words = " ".join(message.split())
    if len(words) > LONGEST_LINE:
        half = LONGEST_LINE // 2
        words = f"{words[:half]} ... [{len(words) - 2 * half} characters] ... {words[-half:]}"
    print(f"partita: {words}", file=sys.stderr)


def parse_seeds(text: str) -> list[int]:
    """ "0:10" is 0 to 9; "3" is 3; "1,4,7" those."""
    try:
        if ":" in text:
            first, last = (int(part) for part in text.split(":"))
            seeds = list(range(first, last))
        else:
            seeds = [int(part) for part in text.split(",")]
    except ValueError:
        raise ValueError(f"--seeds {text}: give a range like 0:10, or numbers like 1,4,7") from None
    if not seeds or min(seeds) < 0:
        raise ValueError(f"--seeds {text}: give at least one seed, none below 0")
    return seeds


def parse_widths(text: str) -> list[int]:
    """ "256,256" are the widths of two hidden layers."""
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise ValueError(f"--hidden {text}: give widths of layers like 256,256") from None


def parse_groups(text: str) -> list | str:
    """ "2,2,2" are sizes; "[[0,3],[1],[2,4,5]]" are indices; "auto" are those found in training."""
    if text == "auto":
        return text
    try:
        groups = json.loads(text if text.startswith("[") else f"[{text}]")
    except json.JSONDecodeError:
        groups = None
    if not isinstance(groups, list) or not groups:
        raise ValueError(f"--groups {text}: give sizes like 2,2,2, indices like '[[0,3],[1],[2,4,5]]', or auto")
    return groups


def parse_options(arguments: Sequence[str], method: Any, flags: Sequence[str] = ()) -> dict[str, list[Any]]:
    """`--beta 1,2,4 --by mss`: any keyword of the recipe, one or several values, typed by its default.

    `flags` are those of the command itself, which somebody who mistyped a flag may have meant.
    """
    from partita.data._nearest import nearest
    from partita.recipes._equation import keywords
    from partita.recipes._own_methods import method_name
    from partita.studies.run import method_named

    own = keywords(method_named(method))
    options: dict[str, list[Any]] = {}
    rest = list(arguments)
    while rest:
        flag = rest.pop(0)
        if not flag.startswith("--"):
            raise ValueError(f"did not expect {flag!r}; options look like --beta 4")
        name, given, value = flag[2:].partition("=")
        name = name.replace("-", "_")
        if name not in own or name == "latents":
            known = [key.replace("_", "-") for key in own if key != "latents"]
            meant = nearest(name.replace("_", "-"), [*known, *(other.lstrip("-") for other in flags)], prefix="--")
            takes = ", ".join(f"--{key}" for key in known) or "none"
            flag, who = flag.partition("=")[0], method_name(method)
            raise ValueError(f"{who} has no option {flag}{meant}; of its own it takes {takes}")
        if not given:
            if not rest:
                raise ValueError(f"--{name} needs a value")
            value = rest.pop(0)
        options[name] = [_typed(piece, own[name], name) for piece in value.split(",")]
    return options


def parse_data(text: str) -> tuple[str, dict[str, Any]]:
    """ "groups:seed=1,size=500" is the data set `groups` with these options; anything else is a name or a path.

    A value is JSON, or text, or several of them with commas between: "table.csv:columns=height,weight,labels=age".
    """
    name, colon, tail = text.partition(":")
    if not colon or "=" not in tail:
        return text, {}
    options = {}
    for piece in re.split(r",(?=\w+=)", tail):
        key, equals, value = piece.partition("=")
        if not equals:
            raise ValueError(f"--data {text}: options look like NAME:seed=1,size=500")
        options[key] = _json_or_text(value)
    return name, options


def _json_or_text(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return [_json_or_text(piece) for piece in text.split(",")] if "," in text else text


def _number_or_text(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def with_labels(dataset, labels: str | None, labelled: str | None):
    """The data set with labels from these factors ("shape,scale"), shown by some of its rows ("0.1" or "500")."""
    from partita.data import label, mask_labels

    if labels is not None or (labelled is not None and dataset.labels is None):
        dataset = label(dataset, factors=labels.split(",") if labels else dataset.factor_names)
    if labelled is None:
        return dataset
    try:
        count = json.loads(labelled)
    except json.JSONDecodeError:
        count = None
    if isinstance(count, bool) or not isinstance(count, int | float):
        raise ValueError(f"--labelled {labelled}: give a fraction like 0.1, or a number of rows like 500")
    return mask_labels(dataset, labelled=count)


def say_units(dataset) -> None:
    """A note on stderr where the data's units may keep training from working."""
    from partita.data._units import units_note

    note = units_note(dataset)
    if note is not None:
        print(f"partita: note: {note}", file=sys.stderr)


def say_likelihood(run, dataset) -> None:
    """A note on stderr of what the numbers in one's own file are taken for, where nobody said."""
    from partita.training.defaults import choose_units

    taken = str(run.recipe.architecture.likelihood)
    chosen = choose_units(dataset.x, dataset.x_scale, "auto", "none")
    if "path" in dataset.description and taken.partition(":")[0] == chosen.likelihood:
        what = chosen.why.replace(" with one learned variance", "")
        print(f"partita: note: --likelihood {taken}: {what}", file=sys.stderr)


def say_held_out(runs) -> None:
    """A note on stderr where rows of these runs, for which nobody asked, are held out, and training may end early."""
    shares = [share for run in runs if (share := run.options.get("validation")) is not None]
    if shares:
        why = "few images, so a tenth is held out, and training ends when they gain no more"
        instead = "--steps says how many steps to take instead"
        print(f"partita: note: --validation {shares[0]}: {why}; {instead}", file=sys.stderr)


def say_scale(runs, dataset) -> None:
    """A note on stderr where models see the data in other units than they have."""
    from partita.distributions import as_likelihood
    from partita.training.scale import rows_to_measure, scale_in_words

    scaled = {run.scale: run for run in runs if run.scale != "none"}
    for name, run in scaled.items():
        family = as_likelihood(run.recipe.architecture.likelihood)
        words = scale_in_words(name, family, rows_to_measure(dataset.x, dataset.x_scale))
        print(f"partita: note: --scale {name}: {words}; scores are in the units of the data", file=sys.stderr)


def _typed(text: str, parameter: Parameter, name: str) -> Any:
    default = parameter.default
    if parameter.annotation == float | str | None:
        return None if text.lower() == "none" else _number_or_text(text)
    if parameter.annotation == float | None:  # none is the method's own choice, often made from its other numbers
        if text.lower() == "none":
            return None
        default = 0.0
    kind = type(default) if isinstance(default, int | float) else str
    try:
        return kind(text)
    except ValueError:
        what = "a whole number" if kind is int else "a number"
        raise ValueError(f"--{name} {text}: expected {what}") from None
