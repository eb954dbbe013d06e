"""What the page is told of one model, as JSON."""

from collections.abc import Mapping
from math import isfinite
from typing import Any

import numpy as np

from partita.data._some_rows import some_rows
from partita.distributions import Groups, as_groups
from partita.explorer._subject import Subject
from partita.measures.gaussian import kl_of_latents
from partita.measures.quantities import quantity
from partita.metrics._histogram import equal_width, information_matrix

ROWS_LOOKED_AT = 2_000
ROWS_COUNTED = 10_000  # for information about factors
BINS = 20
USED = 0.01  # nats of KL, below which a latent carries nothing
PRIOR_RANGE = 2.576  # deviations of a standard normal that hold 99 % of it
LATENTS_TESTED, ROWS_TESTED = (2, 16), 60  # of more latents the tests of the tree take minutes


def run_document(subject: Subject) -> dict[str, Any]:
    """Everything but the points, the tree and the diagnosis, which take longer."""
    about = {"id": subject.id, "method": subject.method, "title": subject.title, "problem": subject.problem}
    about |= {"curves": curves(subject.history), "diagnosis": stored_diagnosis(subject)}
    if subject.model is None:
        return plain(_NOTHING | about)
    with subject.lock:
        return plain(_NOTHING | about | _codes(subject) | _observations(subject) | {"notes": _notes(subject)})


_NOTHING: dict[str, Any] = {
    "groups": [], "latents": 0, "latent_names": [], "range": [], "start": [], "kl": [], "active": [],
    "shows": None, "shape": [], "value_range": [0, 1], "features": None, "units": "", "factors": [],
    "information": None, "alignment": None, "tree": None, "count": 0, "total": 0,
    "encodes": False, "decodes": False, "notes": [],
}  # fmt: skip


def _codes(subject: Subject) -> dict[str, Any]:
    latents, rows = subject.latents, subject.rows
    found: dict[str, Any] = {
        "groups": subject.groups,
        "latents": latents,
        "latent_names": [f"z{k}" for k in range(latents)],
        "range": [[-PRIOR_RANGE, PRIOR_RANGE]] * latents,
        "start": [0.0] * latents,
        "kl": [None] * latents,
        "active": [True] * latents,
        "decodes": True,
        "encodes": subject.encodes,
    }
    if rows is None:
        return found
    mean, log_variance = _some(subject)
    kl = kl_of_latents(mean, log_variance)
    low, high = np.quantile(mean, [0.005, 0.995], axis=0)
    wide = np.maximum(high - low, 1e-3)
    return found | {
        "range": np.stack([low - 0.02 * wide, high + 0.02 * wide], 1),
        "start": mean.mean(0),
        "kl": kl,
        "active": kl > USED,
        "factors": [column.as_json() for column in rows.columns],
        "information": _information(subject),
        "alignment": _alignment(subject),
        "count": len(rows.drawn),
        "total": len(rows.x),
    }


def _some(subject: Subject) -> tuple[np.ndarray, np.ndarray]:
    """Posteriors of a few thousand of the points: quick, whatever their number."""
    assert subject.rows is not None
    if "few" not in vars(subject):
        drawn = subject.rows.drawn
        vars(subject)["few"] = subject.rows.encode(drawn[some_rows(len(drawn), ROWS_LOOKED_AT)])
    return vars(subject)["few"]


def _observations(subject: Subject) -> dict[str, Any]:
    assert subject.model is not None
    shape, rows = subject.shape, subject.rows
    names = subject.feature_names
    shows = "image" if len(shape) == 3 else "bars" if names else "curve"
    units = "brightness" if shows == "image" else "value, in the units of the data"
    if rows is not None and rows.is_movie:
        shows, units = "map", "value over frames, in the units of the data"
    if rows is None:
        drawn = np.random.default_rng(0).standard_normal((64, subject.latents))
        seen = np.array([0.0, 1.0]) / subject.model.x_scale if shows == "image" else subject.decode(drawn)
    else:
        seen = rows.observed(rows.drawn[some_rows(len(rows.drawn), 500)])
    low, high = float(np.nanmin(seen)), float(np.nanmax(seen))
    span = [low, high if high > low else low + 1]
    return {
        "shows": shows, "shape": shape, "value_range": span, "units": units, "features": list(names) or None
    }  # fmt: skip


def _information(subject: Subject) -> dict[str, Any] | None:
    """Of each latent about each factor, by histograms of 20 equal widths, nats."""
    rows = subject.rows
    if rows is None or not rows.factors:
        return None
    counted = rows.drawn[some_rows(len(rows.drawn), ROWS_LOOKED_AT)]
    codes = _some(subject)[0]
    if "posterior" in vars(subject):
        few = some_rows(len(rows.drawn), ROWS_COUNTED)
        counted, codes = rows.drawn[few], subject.posterior[0][few]
    labels = np.stack([np.unique(column.values[counted], return_inverse=True)[1] for column in rows.factors], 1)
    nats = information_matrix(equal_width(codes.astype(np.float64), BINS), labels)
    entropy = [float(-(p * np.log(p)).sum()) for p in map(_shares, labels.T)]
    return {
        "rows": [f"z{k}" for k in range(subject.latents)],
        "columns": [column.name for column in rows.factors],
        "nats": nats,
        "entropy": entropy,
        "n": len(counted),
        "by": f"histograms of {BINS} equal widths",
    }


def _shares(labels: np.ndarray) -> np.ndarray:
    counts = np.bincount(labels)
    return counts[counts > 0] / len(labels)


def _alignment(subject: Subject) -> dict[str, Any] | None:
    """As measured and stored; else, where the truth is known and falls into as many groups, of the model's own."""
    stored, rows = subject.scores.get("alignment"), subject.rows
    if rows is None or rows.truth is None:
        return None
    of_truth = as_groups(rows.truth_groups, rows.truth.shape[1])
    if not isinstance(stored, dict) or not stored.keys() >= {"r2", "matrix", "assignment", "groups", "grouping"}:
        if len(of_truth) != len(subject.groups):
            return None
        stored = _aligned(subject, of_truth)
    named = lambda letter, groups: [", ".join(f"{letter}{k}" for k in group) for group in groups]  # noqa: E731
    return {
        "rows": named("true ", of_truth), "columns": named("z", stored["groups"]), "r2": stored["matrix"],
        "assignment": stored["assignment"], "mean": stored["r2"], "grouping": stored["grouping"],
    }  # fmt: skip


def _aligned(subject: Subject, of_truth: Groups) -> dict[str, Any]:
    from partita.structure import align

    assert subject.rows is not None
    assert subject.rows.truth is not None
    drawn = subject.rows.drawn
    truth = subject.rows.truth[drawn[some_rows(len(drawn), ROWS_LOOKED_AT)]]
    found = align(_some(subject)[0], truth, subject.groups, of_truth)
    about = {"r2": found.r2, "matrix": found.matrix, "assignment": found.assignment}
    return about | {"groups": subject.groups, "grouping": "own groups"}


def curves(history: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """Every logged quantity with its label and unit, over the steps at which it was logged."""
    steps = history.get("step", np.array([]))
    return {
        name: {"step": steps, "value": values, "label": quantity(name).label, "unit": quantity(name).unit}
        for name, values in history.items()
        if name != "step"
    }


def stored_diagnosis(subject: Subject) -> dict[str, Any] | None:
    found = subject.scores.get("diagnosis")
    if not isinstance(found, dict) or not found.keys() >= {"verdict", "reasons"}:
        return None
    return {"verdict": found["verdict"], "reasons": list(found["reasons"])}


def diagnosis_document(subject: Subject) -> dict[str, Any]:
    """The stored verdict, or one made now; `problem` says why there is none."""
    found = stored_diagnosis(subject)
    if found is None:
        with subject.lock:
            if "judged" not in vars(subject):
                vars(subject)["judged"] = subject.judge()
            found = vars(subject)["judged"]
    words = "not diagnosed: only groups of several latents are, by `partita evaluate`"
    return plain({"diagnosis": found, "problem": None if found else words})


def tree_document(subject: Subject) -> dict[str, Any]:
    """The tree of dependence between latents, tested without labels, with its cut; `problem` says why there is none."""
    with subject.lock:
        if "tree" not in vars(subject):
            vars(subject)["tree"] = plain(_tree(subject))
        return vars(subject)["tree"]


def _tree(subject: Subject) -> dict[str, Any]:
    from partita.structure import discover_groups

    if subject.rows is None:
        return _no_tree("the tree needs the rows that the model was trained on")
    mean = _some(subject)[0].astype(np.float64)
    fewest, most = LATENTS_TESTED
    if not fewest <= mean.shape[1] <= most:
        return _no_tree(f"the tree is drawn of {fewest} to {most} latents, and there are {mean.shape[1]}")
    if len(mean) < ROWS_TESTED:
        return _no_tree(f"the tree needs at least {ROWS_TESTED} rows, and there are {len(mean)}")
    if not np.isfinite(mean).all() or (np.ptp(mean, axis=0) < 1e-9).any():
        return _no_tree("a latent has the same code for every row, so there is no tree to draw")
    found = discover_groups(mean, unmix=False, time=subject.rows.in_time)
    merges = [
        {
            "groups": merge.groups, "nats": merge.shared, "interval": merge.interval, "p": merge.corrected,
            "accepted": merge.accepted,
        }
        for merge in found.tree
    ]  # fmt: skip
    tree = {
        "merges": merges,
        "groups": found.groups,
        "background": found.background,
        "words": str(found),
        "n": len(mean),
    }
    return {"tree": tree, "problem": None}


def _no_tree(why: str) -> dict[str, Any]:
    return {"tree": None, "problem": why}


def _notes(subject: Subject) -> list[str]:
    notes, rows = [], subject.rows
    if rows is None and subject.problem is None:
        notes.append("No rows were given, so there are no codes: `partita explore FILE --data ROWS` shows theirs.")
    if rows is not None and len(rows.drawn) < len(rows.x):
        notes.append(f"Codes are those of {len(rows.drawn):,} rows drawn at random from {len(rows.x):,}.")
    if subject.covariates:
        notes.append(
            f"Decoded with average covariates ({', '.join(subject.covariates)}); dropped files are encoded so too."
        )
    if subject.exposure is not None:
        notes.append("Decoded with an average exposure.")
    return notes


def plain(value: Any) -> Any:
    """In Python's own types; numbers that are not finite are None."""
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float):
        return value if isfinite(value) else None
    return value
