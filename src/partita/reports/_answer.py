"""What a page says first: the result in words, and what speaks against it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from partita.data._some_rows import some_rows
from partita.plot._style import latents_named, readable, signs
from partita.reports._captions import seed_words
from partita.reports._view import View
from partita.reports.study import Setting
from partita.structure._beside_pca import beside_pca
from partita.structure.diagnosis import HOLD, NOTHING
from partita.studies._statistics import bootstrapped
from partita.studies.scores import COLUMNS, Column

ROWS_BESIDE_PCA = 1000
FEATURES_BESIDE_PCA = 20_000
SAID_TWICE = ("worse than PCA", "nothing")  # by the diagnosis and here
COLUMN = {column.name: column for column in COLUMNS}


@dataclass(frozen=True)
class Finding:
    """Of one setting, by its position: what was found, and what speaks against it, in sentences."""

    position: int
    words: str
    against: tuple[str, ...]


def headline(settings: Sequence[Setting]) -> str:
    """The study in a sentence: by the truth where it is known, else by the verdicts, else by the fit."""
    for sentence in (_by_truth(settings), _by_verdict(settings), _by_fit(settings)):
        if sentence:
            return sentence
    finished = sum(len(setting.finished) for setting in settings)
    return "Nothing has been measured yet." if finished else "No run has finished yet."


def finding(position: int, setting: Setting, view: View | None) -> Finding:
    """Of one setting. `view` is its pictured run, where there is one."""
    said = [
        _number(setting, "R2", f"alignment with the truth R² {{}} ({setting.grouping})"),
        _number(setting, "PC - null", "between its groups {} nats beyond chance"),
        _kept(setting),
    ]
    words = "; ".join(filter(None, said)) or ("not measured" if setting.finished else "no finished run")
    against = [*_endings(setting), *_verdicts(setting)]
    if view is not None:
        known = [kind for kind in SAID_TWICE if any(kind in each for each in against)]
        against += [each for each in _of_model(view) if not any(kind in each for kind in known)]
    return Finding(position, signs(words), tuple(map(signs, against)))


def _mean(setting: Setting, column: Column) -> float | None:
    found = column.summary(record.scores for record in setting.records)
    return None if found is None else found.value


def _number(setting: Setting, name: str, words: str) -> str:
    value = _mean(setting, COLUMN[name])
    return "" if value is None else words.format(readable(value, COLUMN[name].digits))


def _kept(setting: Setting) -> str:
    share = _mean(setting, COLUMN["recon R2"])
    if share is None:
        return ""
    return f"keeps {share:.0%} of the variance" if share >= 0 else "decodes worse than the mean of the rows would"


def _by_truth(settings: Sequence[Setting]) -> str:
    found = sorted(
        ((value, setting.label) for setting in settings if (value := _mean(setting, COLUMN["R2"])) is not None),
        reverse=True,
    )
    if not found:
        return ""
    best, label = found[0]
    if len({setting.grouping for setting in settings if setting.grouping}) > 1:  # some are favoured
        whose = {setting.label: f" ({setting.grouping})" for setting in settings}
    else:
        whose = dict.fromkeys((setting.label for setting in settings), "")
    if len(found) == 1:
        return f"{label} recovers the true groups with R² {best:.2f}."
    worst, last = found[-1]
    most, least = f"R² {best:.2f}{whose[label]}", f"{worst:.2f}{whose[last]}"
    sentence = f"{label} recovers the true groups best, with {most}; {last} least, with {least}."
    unsure = _overlapping(settings, label)
    return f"{sentence} Over these seeds that is not surely more than {' or '.join(unsure)}." if unsure else sentence


def _overlapping(settings: Sequence[Setting], best: str) -> list[str]:
    """The settings from which the best one is not told apart: the interval of their differences, seed by seed, as
    `partita compare` has it, reaches 0."""
    found = {each.label: {r.run.seed: COLUMN["R2"].value(r.scores) for r in each.records} for each in settings}
    unsure = []
    for label, own in found.items():
        known = [(found[best][seed], value) for seed, value in own.items() if value is not None and seed in found[best]]
        differences = [more - value for more, value in known if more is not None]
        if label == best or len(differences) < 2:
            continue
        low = bootstrapped(differences).low
        if low is not None and low <= 0:
            unsure.append(label)
    return unsure


def _by_verdict(settings: Sequence[Setting]) -> str:
    found = [(setting.label, *_held(setting)) for setting in settings if _held(setting)[1]]
    if not found:
        return ""
    label, held, asked = max(found, key=lambda row: row[1] / row[2])
    runs = "its only run" if asked == 1 else f"{held} of {asked} runs"
    if held:
        return f"The groups of {label} hold in {runs}."
    return "In no run can the groups be relied on; the reasons are below."


def _by_fit(settings: Sequence[Setting]) -> str:
    found = [(value, s.label) for s in settings if (value := _mean(s, COLUMN["recon R2"])) is not None]
    if not found:
        return ""
    best, label = max(found)
    most = " most" if len(found) > 1 else ""
    return f"{label} keeps{most}: {max(best, 0):.0%} of the variance of the observations."


def _held(setting: Setting) -> tuple[int, int]:
    """In how many runs the groups hold, and of how many that is known."""
    said = [found["verdict"] for record in setting.records if (found := record.diagnosis) is not None]
    return said.count(HOLD), len(said)


def _endings(setting: Setting) -> list[str]:
    sentences = []
    for status, words in (("diverged", "diverged: the loss was no longer finite"), ("unfinished", "did not finish")):
        seeds = [record.run.seed for record in setting.records if record.status == status]
        if seeds:
            sentences.append(f"{len(seeds)} of {len(setting.records)} runs {words} (seed {seed_words(seeds)})")
    return sentences


def _verdicts(setting: Setting) -> list[str]:
    """In how many runs the groups hold, where not in all; and what was said of the pictured one."""
    held, asked = _held(setting)
    shown = setting.shown()
    if held == asked or shown is None:
        return []
    said = shown[0].diagnosis
    count = "without labels, its groups do not hold" if asked == 1 else f"groups hold in {held} of {asked} runs"
    return [count, *(() if said is None or said["verdict"] == HOLD else said["reasons"])]


def _of_model(view: View) -> list[str]:
    """Latents that carry nothing, and a fit worse than that of as many principal components."""
    seen, sentences = view.seen, []
    dead = np.flatnonzero(seen.used < NOTHING).tolist()
    if dead:
        sentences.append(f"{latents_named(dead)} carr{'y' if len(dead) > 1 else 'ies'} nothing (KL below 0.01 nats)")
    if np.prod(seen.shape) > FEATURES_BESIDE_PCA or not view.has_bound:
        return sentences
    if seen.scale.counts or view.record.run.covariates:  # principal components of those rows are no match
        return sentences
    rows = some_rows(len(seen.rows), ROWS_BESIDE_PCA)
    x, error = seen.seen_and_error(seen.rows[rows])
    return sentences + beside_pca(x, seen.latents, None, error)[0]
