"""Figures that put all settings side by side."""

from collections.abc import Sequence

import numpy as np

from partita.data import Dataset
from partita.measures.quantities import quantity
from partita.plot._style import latents_named, plain
from partita.reports._pictures import as_svg
from partita.reports._view import Block
from partita.reports.comparison import difference_plot
from partita.reports.curves import learning_curve, line_style, quantities_of, seed_strip
from partita.reports.groups import alignment_matrix, heat_map, truth_names, truth_partition
from partita.reports.study import Record, Setting
from partita.studies._contenders import Entry
from partita.studies.compare import compare_entries
from partita.studies.scores import Column

SETTINGS_IN_PAIRS = 8


def curve_block(settings: Sequence[Setting]) -> Block | None:
    """Every logged quantity of every run over training."""
    names = quantities_of(settings)
    if not names:
        return None
    pictures = [
        as_svg(learning_curve(settings, name), f"{quantity(name).label} over training steps, a line a run")
        for name in names
    ]
    caption = (
        "One thin line a run (seed), one colour a setting; each point is the mean over the steps since the last. A "
        "cross ends a run that diverged. The frame spans what follows the first fifth of training. Lower is better for "
        "the loss. Information quantities are minibatch estimates here and biased: see whether they settle, and read "
        "their size from the table, which is exact. Only what a method logs has a line."
    )
    return Block("", tuple(pictures), caption, legend=True)


def seed_block(settings: Sequence[Setting], columns: Sequence[Column]) -> Block | None:
    """The most telling columns of the table, every run a dot."""
    pictures = []
    colours = [line_style(position)[0] for position in range(len(settings))]
    for column in columns:
        if not column.strip:
            continue
        rows = [
            (
                setting.label,
                [value for each in setting.records if (value := column.value(each.scores)) is not None],
                column.summary(each.scores for each in setting.records),
            )
            for setting in settings
        ]
        if sum(len(values) for _, values, _ in rows) < 2:
            continue
        better = f" ({column.better} is better)" if column.better else ""
        pictures.append(
            as_svg(seed_strip(rows, column.strip + better, colours), f"{column.strip} of every run, a row a setting")
        )
    if not pictures:
        return None
    caption = (
        "Every run is a dot, none is selected. The upright bar is the mean over seeds, the line through it the 95% "
        "bootstrap interval over seeds. Two clouds of one setting mean that some seeds found another solution."
    )
    return Block("Every run", tuple(pictures), caption)


def difference_block(settings: Sequence[Setting], columns: Sequence[Column]) -> Block | None:
    """Who differs from whom in the most telling columns, as `partita compare` finds it; None where runs cannot be
    paired, or settings are too many for all pairs."""
    names = [column.name for column in columns if column.strip]
    if not (2 <= len(settings) <= SETTINGS_IN_PAIRS and names):
        return None
    records = [record for setting in settings for record in setting.records]
    entries = [Entry(record.run, "", record.status, record.scores) for record in records]
    found = []
    for name in names:
        try:
            found += compare_entries(entries, name).scores
        except ValueError:  # not measured alike, or no seed in common
            continue
    found = [each for each in found if each.differences[0]["pairs"] > 1]
    if not found:
        return None
    pictures = [as_svg(difference_plot(each), f"differences in {each.header}, a row a pair") for each in found]
    caption = (
        "Differences between settings, taken within pairs of runs of one seed: mean and 95% bootstrap interval. Blue: "
        "told apart by Wilcoxon's test with Holm's correction; green: surely within the grey band, which is no "
        "difference (0.05, or 0.1 nats); grey: undecided. `partita compare` has the numbers."
    )
    return Block("Pair by pair", tuple(pictures), caption)


def alignment_block(dataset: Dataset, settings: Sequence[Setting]) -> Block | None:
    """The alignment matrix of each setting's shown run."""
    if dataset.truth is None:
        return None
    names, partition = truth_names(dataset), truth_partition(dataset)
    true_names = [plain(", ".join(names[k] for k in group), 20) for group in partition]
    pictures = []
    for setting, record in _shown(settings):
        alignment = record.alignment
        matrix = np.asarray(alignment["matrix"] if alignment else [], float)
        if alignment is None or matrix.ndim != 2 or len(matrix) != len(true_names):
            continue
        learned = [latents_named(group) for group in alignment["groups"]]
        figure = alignment_matrix(matrix, alignment["assignment"], true_names, learned, setting.label)
        pictures.append(
            as_svg(figure, f"Alignment matrix of {setting.label}: R² of each true group from each learned group")
        )
    if not pictures:
        return None
    caption = (
        "R² of each true group (row) predicted linearly from each learned group (column), for the seed named in each "
        "setting's section below. Framed: the one-to-one match with the largest sum, whose mean is the alignment R². "
        "Separated groups show bright framed cells and dark cells everywhere else; several bright or middling cells in "
        "a row mean that a true group is spread over learned ones."
    )
    return Block("Alignment matrices", tuple(pictures), caption)


def information_block(dataset: Dataset, settings: Sequence[Setting]) -> Block | None:
    """What each latent knows of each factor, where MIG was measured."""
    if dataset.places is not None:  # where a pixel lies is no factor of its time course
        return None
    factors = [plain(name, 16) for name in dataset.factor_names]
    found = [
        (setting.label, matrix)
        for setting, record in _shown(settings)
        if (matrix := _information(record, factors)) is not None
    ]
    top = max((float(matrix.max()) for _, matrix in found), default=0.0) or 1.0
    pictures = [
        as_svg(
            heat_map(
                matrix, [f"z{k}" for k in range(len(matrix))], factors,
                xlabel="factor", ylabel="latent", scale="information, nats", title=label, limits=(0.0, top),
            ),
            f"Mutual information of each latent with each factor, {label}",
        )
        for label, matrix in found
    ]  # fmt: skip
    if not pictures:
        return None
    caption = (
        "Mutual information, in nats, between each latent (posterior mean, binned as the MIG protocol says) and each "
        "factor. A disentangled factor has one bright cell in its column; MIG is the gap between the brightest two."
    )
    return Block("Which latent knows which factor", tuple(pictures), caption)


def _shown(settings: Sequence[Setting]) -> list[tuple[Setting, Record]]:
    return [(setting, shown[0]) for setting in settings if (shown := setting.shown()) is not None]


def _information(record: Record, factors: Sequence[str]) -> np.ndarray | None:
    """Latents x factors, where MIG was measured latent by latent."""
    mig = ((record.scores or {}).get("metrics") or {}).get("mig") or {}
    matrix = np.asarray((mig.get("parts") or {}).get("information", []), float)
    if record.run.lacks is not None:
        return None
    fits = matrix.shape == (record.run.recipe.architecture.latents, len(factors)) and matrix.size > 0
    return matrix if fits and np.isfinite(matrix).all() else None
