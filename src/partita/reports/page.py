"""One self-contained HTML page about a study."""

import inspect
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from partita.data import Dataset
from partita.recipes._equation import equation
from partita.reports._captions import metrics_caption, number, prose, results_caption, seed_words, truth_words, typeset
from partita.reports._compared import alignment_block, curve_block, information_block, seed_block
from partita.reports._gallery import blocks_of
from partita.plot._style import readable
from partita.reports._table import bands, metric_columns, result_columns
from partita.reports._view import Block, look_at
from partita.reports.curves import line_style
from partita.reports.study import Setting, all_options, settings_of, short_json
from partita.studies import Run, Store
from partita.studies.source import described, same_data
from partita.training.files import write_bytes

SETTINGS_PICTURED = 6
SWATCH_DASHES = {"solid": "", "dashed": "6 3", "dotted": "1.5 2.5", "dashdot": "6 2 1.5 2"}


def write_page(store: Store, dataset: Dataset, out: Path, damaged: Sequence[str] = ()) -> Path:
    """Writes what a person should see of a study to `out`, whole or not at all, and returns its path.

    Every run is in the tables, whether it finished, diverged or is under way. Pictures are made of one run a setting,
    the median by alignment (lowest final loss where there is no truth), of at most SETTINGS_PICTURED settings.

    Parameters
    ----------
    store : that of the study.
    dataset : that its runs were trained on.
    out : the HTML file.
    damaged : what is wrong with files of the study, a line each, to be said on the page.

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
    settings = settings_of(store)
    environment = Environment(
        loader=PackageLoader("partita.reports"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    content = _content(store, dataset, settings) | {"damaged": list(damaged)}
    html = environment.get_template("page.html").render(**content)
    write_bytes(Path(out), html.encode("utf-8", "replace"))
    return Path(out)


def _content(store: Store, dataset: Dataset, settings: list[Setting]) -> dict[str, Any]:
    pictured = _pictured(settings)
    records = [record for setting in settings for record in setting.records]
    looks = [line_style(position) for position in range(len(settings))]
    columns, metrics = result_columns(settings), metric_columns(settings)
    compared = [
        seed_block(settings, columns),
        alignment_block(dataset, pictured),
        information_block(dataset, pictured),
    ]
    data = described(dataset)
    return {
        "folder": store.folder.resolve().name,
        "dataset": dataset,
        "data_options": {k: short_json(v) for k, v in dict(dataset.description.get("options", {})).items()},
        "settings": settings,
        "swatches": [(colour, SWATCH_DASHES[dash]) for colour, dash in looks],
        "methods": _methods(settings),
        "records": records,
        "troubled": [record for record in records if record.status != "finished"],
        "unread": [record for record in records if record.unread],
        "unscored": [record for record in records if record.status == "finished" and record.scores is None],
        "other_data": [record for record in records if not same_data(record.run.data, data)],
        "verdicts": [(each.run.id, each.scores["diagnosis"]) for each in records if "diagnosis" in (each.scores or {})],
        "columns": columns,
        "metrics": metrics,
        "bands": bands(columns),
        "results_caption": results_caption(settings, records),
        "metrics_caption": metrics_caption(settings),
        "truth": truth_words(dataset),
        "seeds": [seed_words(record.run.seed for record in setting.records) for setting in settings],
        "number": number,
        "readable": readable,
        "zip": zip,
        "version": version("partita"),
        "curves": curve_block(settings),
        "compared": [block for block in compared if block is not None],
        "galleries": [_gallery(store, dataset, setting) for setting in pictured],
        "not_pictured": [setting for setting in settings if setting not in pictured],
    }


def _pictured(settings: Sequence[Setting]) -> list[Setting]:
    """Which settings get pictures: all, or one of each method and then the next in order; never chosen by outcome."""
    if len(settings) <= SETTINGS_PICTURED:
        return list(settings)
    first = {setting.run.method: setting for setting in reversed(settings)}
    order = sorted(settings, key=lambda setting: setting is not first[setting.run.method])[:SETTINGS_PICTURED]
    return [setting for setting in settings if setting in order]


def _methods(settings: Sequence[Setting]) -> list[dict[str, Any]]:
    """Each method once: its objective, what it is, and its settings as positions in `settings`."""
    positions: dict[str, list[int]] = {}
    for position, setting in enumerate(settings):
        positions.setdefault(setting.run.method, []).append(position)
    found = []
    for method, own in positions.items():
        objective, paragraphs = _objective(settings[own[0]].run)
        options = [
            {name: short_json(value) for name, value in all_options(settings[position].run).items()} for position in own
        ]
        names = dict.fromkeys(name for row in options for name in row)  # of a function that is gone, some are not known
        said = [name for name in names if any(row.get(name, "null") != "null" for row in options)]
        found.append(
            {
                "name": method,
                "equation": typeset(objective),
                "about": [prose(paragraph) for paragraph in paragraphs],
                "settings": [
                    (position, {name: row.get(name, "") for name in said}) for position, row in zip(own, options)
                ],
                "option_names": said,
            }
        )
    return found


def _objective(run: Run) -> tuple[str, list[str]]:
    """What its method minimises, and the paragraphs that say what it is; of a function that is gone, that it is."""
    if (lacking := run.lacks) is not None:
        return "not known here", [lacking]
    try:
        minimised = equation(run.function)
    except (TypeError, ValueError, AttributeError):  # one's own may calculate with weights, which are symbols here
        minimised = "an objective of its own"
    return minimised, inspect.cleandoc(run.function.__doc__ or "").split("\n\n")


def _gallery(store: Store, dataset: Dataset, setting: Setting) -> dict[str, Any]:
    """The pictures of one setting, or the reason why there are none."""
    gallery: dict[str, Any] = {"setting": setting, "why": "", "groups": "", "blocks": [], "trouble": ""}
    shown = setting.shown()
    if shown is None:
        return gallery | {"trouble": "No run of this setting has finished, so there is nothing to picture."}
    record, why = shown
    if tuple(record.run.architecture["shape"]) != dataset.shape:
        shape = tuple(record.run.architecture["shape"])
        return gallery | {"trouble": f"Trained on observations of shape {shape}, which are not the data of this page."}
    try:
        view = look_at(store, dataset, record)
    except (ValueError, OSError) as error:
        return gallery | {"why": why, "trouble": f"The trained weights cannot be read: {error}"}
    blocks: list[Block] = blocks_of(view)
    grouping = record.alignment["grouping"] if record.alignment else "own groups"
    groups = " | ".join(" ".join(f"z{k}" for k in group) for group in view.groups)
    return gallery | {"why": why, "groups": f"{groups} ({grouping})", "blocks": blocks}
