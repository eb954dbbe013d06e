"""What tells settings apart, in as few words as do."""

import json
import re
from collections.abc import Sequence
from typing import Any

from partita.recipes import RECIPES
from partita.recipes._equation import ADDED, keywords
from partita.studies.run import Run


def all_options(run: Run) -> dict[str, Any]:
    """The method's keywords with the values the run used, defaults included; what any method takes where said."""
    if run.lacks is not None:
        return dict(run.options)
    own = {name: p.default for name, p in keywords(run.function).items() if name not in ADDED}
    return own | dict(run.options)


def labels_of(runs: Sequence[Run]) -> list[str]:
    """For each run the method and what differs among the runs of that method."""
    facts = [facts_of(run) for run in runs]
    labels = []
    for run, own in zip(runs, facts):
        peers = [other for peer, other in zip(runs, facts) if peer.method == run.method]
        differing = [name for name in own if any(other.get(name) != own[name] for other in peers)]
        labels.append(" ".join([run.method, *(f"{name}={own[name]}" for name in differing)]))
    return labels


def short_json(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"), default=str)


def facts_of(run: Run) -> dict[str, str]:
    """All that a run is but its seed and the shape of its rows, by name, as text."""
    facts = {**all_options(run), **{name: value for name, value in run.architecture.items() if name != "shape"}}
    facts |= {"scale": run.scale, "exposure": run.exposure, "covariates": [each["name"] for each in run.covariates]}
    facts |= {"data": run.data, "steps": run.steps, "batch": run.batch_size, "learning_rate": run.learning_rate}
    return {name: short_json(value) for name, value in facts.items()}


def natural_order(run: Run) -> list:
    """Methods in the registry's order, numbers in theirs."""
    pieces = re.split(r"(\d+\.?\d*)", run.setting)
    known = list(RECIPES)
    place = known.index(run.method) if run.method in known else len(known)
    return [place, [(float(p), "") if i % 2 else (0.0, p) for i, p in enumerate(pieces)]]
