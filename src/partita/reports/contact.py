"""A data set at one glance: images with factors on the axes, true latents, maps and time courses, components."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from partita.data import Dataset
from partita.plot._images import as_rgb, mosaic
from partita.plot._style import DOTS_PER_INCH, plain, styled
from partita.reports._contact_vectors import vector_sheet

CLASSES_SHOWN = 9
EXAMPLES_SHOWN = 8
PAIRED_UP_TO = 8  # factors; beyond that (attributes, say) a row each
FACTORS_SHOWN = 16
FORMATS = (".png", ".svg", ".pdf")
BLANK = 235  # grey of a combination that does not occur


@dataclass(frozen=True)
class Panel:
    """Rows of a data set laid out on two axes; -1 is an empty place."""

    rows: np.ndarray
    xlabel: str
    ylabel: str
    xticks: Sequence[str]
    yticks: Sequence[str]


def write_contact_sheet(dataset: Dataset, path: Path) -> Path:
    """`contact_sheet` as a file; ValueError or OSError, in one line, when it cannot be written there.

    Parameters
    ----------
    dataset : Dataset
        Of images or vectors.
    path : Path
        A name that ends in .png, .svg or .pdf, in a folder that exists.

    Returns
    -------
    Path
        Of the file.

    Examples
    --------
    >>> import tempfile
    >>> from partita.data import from_array
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_contact_sheet(from_array(np.eye(4).reshape(4, 1, 2, 2)), Path(folder) / "sheet.png").name
    'sheet.png'
    """
    path = checked_path(path)
    figure = contact_sheet(dataset)
    try:
        figure.savefig(path, dpi=DOTS_PER_INCH)
    except OSError as error:
        raise OSError(f"{path}: cannot be written: {error.strerror}") from None
    return path


def checked_path(path: Path) -> Path:
    """The path, if a picture can go there: to be known before a large data set is loaded."""
    path = Path(path)
    if path.suffix.lower() not in FORMATS:
        raise ValueError(f"{path}: give a name that ends in {' or '.join(FORMATS)}")
    if not path.parent.is_dir():
        raise OSError(f"{path}: cannot be written: there is no folder {path.parent}")
    return path


def contact_sheet(dataset: Dataset) -> Figure:
    """Images: two factors on the axes of every panel, all others in the middle of their range. Vectors: what is known
    of their truth, else their first components and some rows.

    Parameters
    ----------
    dataset : Dataset
        Of images or vectors.

    Returns
    -------
    Figure
        Of matplotlib; `figure.savefig` writes it.

    Examples
    --------
    >>> from partita.data import from_array
    >>> factors = np.stack([column.ravel() for column in np.indices((2, 2))], 1)
    >>> figure = contact_sheet(from_array(np.eye(4).reshape(4, 1, 2, 2), factors=factors))
    >>> [axes.get_xlabel() for axes in figure.axes]
    ['factor 0 (class, of 2)']
    """
    return _image_sheet(dataset) if len(dataset.shape) == 3 else vector_sheet(dataset)


@styled
def _image_sheet(dataset: Dataset) -> Figure:
    panels = panels_of(dataset)
    shown = np.unique(np.concatenate([panel.rows.ravel() for panel in panels]))
    shown = shown[shown >= 0]
    seen = dataset.observations(shown)
    pictures = as_rgb(seen, float(seen.min()), float(seen.max()))
    # one scale for all panels: a tile of an image is as large in each of them
    tile = min(0.62, 9.0 / max(panel.rows.shape[1] for panel in panels))
    heights = [panel.rows.shape[0] * tile * pictures.shape[1] / pictures.shape[2] + 0.75 for panel in panels]
    widths = [panel.rows.shape[1] * tile + 0.9 for panel in panels]
    columns = 1 if len(panels) == 1 or max(widths) > 7 else 2
    lines = [range(start, min(start + columns, len(panels))) for start in range(0, len(panels), columns)]
    figure = Figure(
        figsize=(max(4.5, max(widths) * columns), 0.6 + sum(max(heights[p] for p in line) for line in lines))
    )
    figure.suptitle(
        f"{plain(dataset.name)}: {dataset.size:,} images {_by(dataset.shape)}", x=0.02, ha="left", fontsize=10
    )
    grid = figure.add_gridspec(len(lines), columns, height_ratios=[max(heights[p] for p in line) for line in lines])
    for number, panel in enumerate(panels):
        axes = figure.add_subplot(grid[number // columns, number % columns])
        tiles = np.full((*panel.rows.shape, *pictures.shape[1:]), BLANK, np.uint8)
        there = panel.rows >= 0
        tiles[there] = pictures[np.searchsorted(shown, panel.rows[there])]
        canvas, tops, lefts = mosaic(tiles)
        axes.imshow(canvas, interpolation="nearest", aspect="equal")
        axes.set_anchor("NW")
        axes.set_xticks(lefts + pictures.shape[2] / 2 - 0.5, panel.xticks)
        axes.set_yticks(tops + pictures.shape[1] / 2 - 0.5, panel.yticks)
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
        axes.set(xlabel=panel.xlabel, ylabel=panel.ylabel)
    return figure


def panels_of(dataset: Dataset) -> list[Panel]:
    """Which rows go where: pairs of factors, one factor with examples, a row an attribute, or just some rows."""
    if dataset.factors is None:
        return [_some_rows(dataset)]
    varying = [k for k, size in enumerate(dataset.factor_sizes) if size > 1]
    if not varying:
        return [_some_rows(dataset)]
    if len(varying) > PAIRED_UP_TO:
        return [_attributes(dataset, varying[:FACTORS_SHOWN])]
    if len(varying) == 1:
        return [_examples(dataset, varying[0])]
    pairs = [varying[start : start + 2] for start in range(0, len(varying) - 1, 2)]
    if len(varying) % 2:  # the odd one out is shown against its neighbour
        pairs.append(varying[-2:])
    return [_pair(dataset, *pair) for pair in pairs]


def _pair(dataset: Dataset, first: int, second: int) -> Panel:
    """The one with more classes goes across; the first, where they are equal, as x goes before y."""
    factors, sizes = dataset.factors, dataset.factor_sizes
    wider = len(_spread(sizes[second])) > len(_spread(sizes[first]))
    across, down = (second, first) if wider else (first, second)
    assert factors is not None
    base = np.array(sizes) // 2
    classes = [_spread(sizes[k]) for k in (down, across)]
    others = [k for k in range(len(sizes)) if k not in (down, across)]
    far = (np.abs(factors[:, others] - base[others]) / np.array(sizes)[others]).sum(1)
    nearest_first = np.argsort(far, kind="stable")
    ordered = factors[nearest_first][:, [down, across]]
    rows = np.full((len(classes[0]), len(classes[1])), -1)
    for place in np.ndindex(*rows.shape):
        there = (ordered == [classes[0][place[0]], classes[1][place[1]]]).all(1)
        if there.any():
            rows[place] = nearest_first[np.argmax(there)]
    names = [_factor(dataset, k) for k in (down, across)]
    return Panel(rows, names[1], names[0], [str(c) for c in classes[1]], [str(c) for c in classes[0]])


def _examples(dataset: Dataset, factor: int) -> Panel:
    assert dataset.factors is not None
    classes = _spread(dataset.factor_sizes[factor], 12)
    rows = np.stack([_of_class(dataset, factor, value, EXAMPLES_SHOWN) for value in classes])
    names, numbers = [str(c) for c in classes], [str(number + 1) for number in range(EXAMPLES_SHOWN)]
    if len(classes) < EXAMPLES_SHOWN:
        return Panel(rows, "example", _factor(dataset, factor), numbers, names)
    return Panel(rows.T, _factor(dataset, factor), "example", names, numbers)


def _attributes(dataset: Dataset, factors: Sequence[int]) -> Panel:
    """First and last class of each factor, a few examples each."""
    many = EXAMPLES_SHOWN // 2
    ends = [(0, dataset.factor_sizes[k] - 1) for k in factors]
    rows = [[_of_class(dataset, k, value, many) for value in pair] for k, pair in zip(factors, ends)]
    ticks = [
        "first class" if c == many // 2 else "last class" if c == many + many // 2 else "" for c in range(2 * many)
    ]
    yticks = [plain(dataset.factor_names[k], 20) for k in factors]
    return Panel(np.array(rows).reshape(len(factors), -1), "", "factor", ticks, yticks)


def _some_rows(dataset: Dataset) -> Panel:
    count = min(dataset.size, 8 * CLASSES_SHOWN)
    chosen = np.linspace(0, dataset.size - 1, count).astype(int)
    columns = min(CLASSES_SHOWN, count)
    rows = np.full((-(-count // columns), columns), -1)
    rows.ravel()[:count] = chosen
    return Panel(rows, "next rows", "row of the data set", [""] * columns, [f"{row[0]:,}" for row in rows])


def _of_class(dataset: Dataset, factor: int, value: int, count: int) -> np.ndarray:
    """`count` rows of a class, spread over the data set; -1 where there are no more."""
    assert dataset.factors is not None
    found = np.flatnonzero(dataset.factors[:, factor] == value)
    rows = np.full(count, -1)
    taken = found[np.linspace(0, len(found) - 1, min(count, len(found))).astype(int)] if len(found) else found
    rows[: len(taken)] = taken
    return rows


def _spread(size: int, most: int = CLASSES_SHOWN) -> list[int]:
    return np.unique(np.linspace(0, size - 1, min(size, most)).round().astype(int)).tolist()


def _factor(dataset: Dataset, k: int) -> str:
    return f"{plain(dataset.factor_names[k])} (class, of {dataset.factor_sizes[k]})"


def _by(shape: Sequence[int]) -> str:
    return " x ".join(str(extent) for extent in shape)
