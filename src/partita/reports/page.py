"""One self-contained HTML page about a study."""

from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined

from partita.data import Dataset
from partita.plot._style import readable, signs
from partita.reports._answer import finding, headline
from partita.reports._captions import metrics_caption, number, results_caption, truth_words
from partita.reports._compared import (
    alignment_block,
    curve_block,
    difference_block,
    information_block,
    seed_block,
)
from partita.reports._drawn import drawn_of
from partita.reports._gallery import blocks_of
from partita.reports._methods import methods_of
from partita.reports._table import leakage_of, metric_columns, result_columns, tables_of
from partita.reports._view import Block, View, look_at
from partita.reports.curves import line_style
from partita.reports.study import Record, Setting, settings_of
from partita.studies import Store
from partita.studies._index import Entry
from partita.studies._labels import short_json
from partita.studies.source import described, same_data
from partita.training.files import write_bytes

SETTINGS_PICTURED = 6
WIDTH, GAP = 1152, 20  # of the page and between pictures, in pixels
SWATCH_DASHES = {"solid": "", "dashed": "6 3", "dotted": "1.5 2.5", "dashdot": "6 2 1.5 2"}


def write_page(
    store: Store, dataset: Dataset, out: Path, damaged: Sequence[str] = (), entries: Sequence[Entry] | None = None
) -> Path:
    """Writes what a person should see of a study to `out`, whole or not at all, and returns its path.

    Every run is in the tables, whether it finished, diverged or is under way; of more than 2,000 runs the first seeds
    of at most 100 settings, which the page says (`partita evaluate` and `partita compare` count all). Pictures are made
    of one run a setting, the median by alignment (lowest final loss where there is no truth), of at most
    SETTINGS_PICTURED settings.

    Parameters
    ----------
    store : that of the study.
    dataset : that its runs were trained on.
    out : the HTML file.
    damaged : what is wrong with files of the study, a line each, to be said on the page.
    entries : what `Store.entries` gave just now, which takes a while where runs are many.

    Returns
    -------
    Path
        `out`.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import torch
    >>> from partita.data import from_array
    >>> from partita.studies import plan, train
    >>> data, folder = from_array(torch.eye(8).numpy()), TemporaryDirectory()
    >>> store = Store(Path(folder.name))
    >>> diverged = train(plan("pca", data, latents=1), data, store, device=torch.device("cpu"))
    >>> write_page(store, data, store.folder / "page.html").name
    'page.html'
    >>> folder.cleanup()
    """
    entries = store.entries() if entries is None else entries
    settings = settings_of(store, [entry.run for entry in drawn_of(entries)])
    environment = Environment(
        loader=PackageLoader("partita.reports"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    content = _content(store, dataset, settings) | {"damaged": list(damaged), "runs_in_all": len(entries)}
    html = environment.get_template("page.html").render(**content)
    write_bytes(Path(out), html.encode("utf-8", "replace"))
    return Path(out)


def _content(store: Store, dataset: Dataset, settings: list[Setting]) -> dict[str, Any]:
    pictured = _pictured(settings)
    records = [record for setting in settings for record in setting.records]
    columns, metrics = result_columns(settings), [] if dataset.places is not None else metric_columns(settings)
    galleries = [_gallery(store, dataset, setting) for setting in pictured]
    compared = [
        seed_block(settings, columns),
        difference_block(settings, columns),
        alignment_block(dataset, pictured),
        information_block(dataset, pictured),
    ]
    return _about(store, dataset, settings, records) | {
        "headline": headline(settings),
        "findings": [finding(settings.index(each["setting"]), each["setting"], each["view"]) for each in galleries],
        "lead": _lead(galleries),
        "columns": columns,
        "metrics": metrics,
        "result_tables": tables_of(columns),
        "metric_tables": tables_of(metrics),
        "results_caption": results_caption(settings, records),
        "metrics_caption": metrics_caption(settings),
        "curves": curve_block(settings),
        "compared": [block for block in compared if block is not None],
        "galleries": galleries,
        "not_pictured": [setting for setting in settings if setting not in pictured],
    }


def _about(store: Store, dataset: Dataset, settings: list[Setting], records: list[Record]) -> dict[str, Any]:
    """What was trained on what, how it ended, and what templates call."""
    data, looks = described(dataset), [line_style(position) for position in range(len(settings))]
    return {
        "folder": store.folder.resolve().name,
        "dataset": dataset,
        "field": None if dataset.places is None else dataset.factor_sizes,
        "data_options": {k: short_json(v) for k, v in dict(dataset.description.get("options", {})).items()},
        "settings": settings,
        "swatches": [(colour, SWATCH_DASHES[dash]) for colour, dash in looks],
        "methods": methods_of(settings),
        "records": records,
        "troubled": [record for record in records if record.status != "finished"],
        "unread": [record for record in records if record.unread],
        "unscored": [record for record in records if record.status == "finished" and record.scores is None],
        "other_data": [record for record in records if not same_data(record.run.data, data)],
        "verdicts": [(each.run.id, each.diagnosis) for each in records if each.diagnosis],
        "leaks": [leak for setting in settings if (leak := leakage_of(setting)) is not None],
        "truth": truth_words(dataset),
        "number": number,
        "readable": readable,
        "signs": signs,
        "zip": zip,
        "version": version("partita"),
    }


def _lead(galleries: list[dict[str, Any]]) -> Block | None:
    """The picture at the top: the first figure of the setting that comes closest to the truth, or of the first one. It
    is taken out of its gallery, unless it has more pictures than go to the top."""
    with_pictures = [each for each in galleries if each["blocks"]]
    if not with_pictures:
        return None
    gallery = max(with_pictures, key=lambda each: _closeness(each["setting"]))
    block, fit, width = gallery["blocks"][0], 0, 0
    for picture in block.pictures:
        width += picture.width + GAP
        fit += width <= WIDTH + GAP
    if fit >= len(block.pictures):
        gallery["blocks"] = gallery["blocks"][1:]
    more = "" if fit >= len(block.pictures) else f", {fit} of {len(block.pictures)}: the others are below"
    caption = f"{block.caption} Pictured: {gallery['setting'].label}, {gallery['why']}{more}."
    return replace(block, pictures=block.pictures[: max(fit, 1)], caption=caption)


def _closeness(setting: Setting) -> float:
    aligned = [found["r2"] for record in setting.finished if (found := record.alignment)]
    return float(np.mean(aligned)) if aligned else 0.0


def _pictured(settings: Sequence[Setting]) -> list[Setting]:
    """Which settings get pictures: all, or one of each method and then the next in order; never chosen by outcome."""
    if len(settings) <= SETTINGS_PICTURED:
        return list(settings)
    first = {setting.run.method: setting for setting in reversed(settings)}
    order = sorted(settings, key=lambda setting: setting is not first[setting.run.method])[:SETTINGS_PICTURED]
    return [setting for setting in settings if setting in order]


def _gallery(store: Store, dataset: Dataset, setting: Setting) -> dict[str, Any]:
    """The pictures of one setting, or the reason why there are none."""
    gallery: dict[str, Any] = {"setting": setting, "view": None, "why": "", "groups": "", "blocks": [], "trouble": ""}
    shown = setting.shown()
    if shown is None:
        return gallery | {"trouble": "No run of this setting has finished, so there is nothing to picture."}
    record, why = shown
    if tuple(record.run.architecture["shape"]) != dataset.shape:
        shape = tuple(record.run.architecture["shape"])
        return gallery | {"trouble": f"Trained on observations of shape {shape}, which are not the data of this page."}
    try:
        view: View = look_at(store, dataset, record)
    except (ValueError, OSError) as error:
        return gallery | {"why": why, "trouble": f"The trained weights cannot be read: {error}"}
    grouping = record.alignment["grouping"] if record.alignment else "own groups"
    groups = " | ".join(" ".join(f"z{k}" for k in group) for group in view.seen.groups)
    return gallery | {"view": view, "why": why, "groups": f"{groups} ({grouping})", "blocks": blocks_of(view)}
