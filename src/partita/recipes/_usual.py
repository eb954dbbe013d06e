"""How a method is trained where nobody says: the same for an estimator and for the runs of a study."""

from collections.abc import Mapping, Sequence
from typing import Any

from partita.recipes.unmixed import NETWORKS, starts_from

RESTARTS = 8
MOST_PASSES = 100  # over all rows


def usual_options(
    method: Any,
    options: Mapping[str, Any],
    *,
    groups: Any,
    network: Any,
    likelihood: Any,
    shape: Sequence[int],
    latents: int,
) -> dict[str, Any]:
    """What PDisVAE takes beside `options`: a start where the rows are unmixed, where that can be; else, of a random
    start with groups, so many restarts that one of them finds them. Other methods, nothing.

    `network` as asked for, `likelihood` as chosen.
    """
    if method != "pdisvae" or "restarts" in options or options.get("start") == "unmixed":
        return {}
    if "start" not in options and can_start_unmixed(options, network, likelihood, shape, latents):
        return {"start": "unmixed"}
    several = groups is not None and not isinstance(groups, str) and any(map(_several, groups))
    return {"restarts": RESTARTS} if several and options.get("posterior") != "full" else {}


def holds_out_unasked(method: Any, options: Mapping[str, Any], shape: Sequence[int], passes: float) -> bool:
    """Whether rows are held out to stop by, as with validation="auto", where nobody says so: of PDisVAE on images that
    training would go over so often that convolutions learn the frames of a movie by heart."""
    few = passes > MOST_PASSES
    return method == "pdisvae" and len(shape) == 3 and few and options.get("validation") is None


def can_start_unmixed(
    options: Mapping[str, Any], network: Any, likelihood: Any, shape: Sequence[int], latents: int
) -> bool:
    """Rows of numbers without labels, at least as many numbers as latents, in a network that is linear or nearly so."""
    return (
        not options.get("disintegration")
        and "judge" not in options
        and options.get("posterior", "diagonal") == "diagonal"
        and network in ("auto", *NETWORKS)
        and starts_from(likelihood)
        and len(shape) == 1
        and latents <= shape[0]
    )


def _several(group: Any) -> bool:
    return (group if isinstance(group, int) else len(group)) > 1
