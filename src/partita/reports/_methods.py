"""The methods and settings of a study: what each minimises, and with which numbers."""

import inspect
from collections.abc import Sequence
from typing import Any

from partita.recipes._equation import equation
from partita.reports._captions import prose, seed_words, typeset
from partita.reports.study import Setting
from partita.studies import Run
from partita.studies._labels import all_options, short_json


def methods_of(settings: Sequence[Setting]) -> list[dict[str, Any]]:
    """Each method once: its objective, what it is, what its settings have in common (`shared`), and of each setting, by
    position in `settings`, what differs: so that no table has a column that says one thing in every row."""
    positions: dict[str, list[int]] = {}
    for position, setting in enumerate(settings):
        positions.setdefault(setting.run.method, []).append(position)
    found = []
    for method, own in positions.items():
        objective, paragraphs = _objective(settings[own[0]].run)
        facts = [_facts(settings[position]) for position in own]
        names = dict.fromkeys(name for row in facts for name in row)  # of a function that is gone, some are not known
        said = [name for name in names if any(row.get(name, "null") != "null" for row in facts)]
        differing = [name for name in said if len({row.get(name) for row in facts}) > 1]
        found.append(
            {
                "name": method,
                "equation": typeset(objective),
                "about": [prose(paragraph) for paragraph in paragraphs],
                "shared": {name: facts[0][name] for name in said if name not in differing},
                "differing": differing,
                "settings": [
                    (position, [row.get(name, "null").replace("null", "–") for name in differing])
                    for position, row in zip(own, facts)
                ],
            }
        )
    return found


def _facts(setting: Setting) -> dict[str, str]:
    """Every number of a setting, by name, in words."""
    run, architecture = setting.run, setting.run.architecture
    network = str(architecture.get("network"))
    if network == "mlp" and "hidden" in architecture:
        network += " " + "-".join(str(width) for width in architecture["hidden"])
    return {name: short_json(value) for name, value in all_options(run).items()} | {
        "network": network,
        "likelihood": str(architecture.get("likelihood")),
        "scale": run.scale,
        "steps": f"{run.steps:,}",
        "batch size": str(run.batch_size),
        "learning rate": str(run.learning_rate),
        "seeds": seed_words(record.run.seed for record in setting.records),
        "finished": f"{len(setting.finished)} of {len(setting.records)}",
    }


def _objective(run: Run) -> tuple[str, list[str]]:
    """What its method minimises, and the paragraphs that say what it is; of a function that is gone, that it is."""
    if (lacking := run.lacks) is not None:
        return "not known here", [lacking]
    try:
        minimised = equation(run.function)
    except (TypeError, ValueError, AttributeError):  # one's own may calculate with weights, which are symbols here
        minimised = "an objective of its own"
    return minimised, inspect.cleandoc(run.function.__doc__ or "").split("\n\n")
