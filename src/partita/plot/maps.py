"""A movie's groups: where each of them lies, and when it is active."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from matplotlib.figure import Figure, FigureBase

from partita.plot._opened import Opened, opened, parts_shown
from partita.plot._style import CHANGE_MAP, COLOURS, FAINT, Drawing, latents_named, styled

GROUPS_SHOWN = 12
AXES_SHOWN = 3  # of a group: those of largest variance
FURTHEST = 3.0  # standard deviations of a map that colours reach to


@dataclass(frozen=True)
class Mapped:
    """A group of a movie: `maps` (pixels, h) with standard deviation 1, `courses` (frames, h) in units of the data,
    along the axes of largest variance; `share` of the variance of the movie."""

    group: tuple[int, ...]
    maps: np.ndarray
    courses: np.ndarray
    share: float


@styled
def maps(model: Any, X: Any, *, places: Any = None, groups: Sequence | None = None, covariates: Any = None) -> Figure:
    """The maps and time courses of each group of a movie, the groups that explain most first.

    A group is a subspace, and inside it any axes are as good as others: those of largest variance are drawn, three at
    most, each map framed in the colour of its time course. Where the rows are pixels, a map is what the encoder says of
    each pixel and its time course the decoder's loadings; where they are frames, the other way round.

    Parameters
    ----------
    model : a fitted `Disentangler`, or `(store, run)` of a study.
    X : the movie: frames (n, channels, height, width), or a row a pixel (n, time), as `samples="pixels"` makes them.
    places : (n, 2), row and column of each pixel, where X does not say them; or (features, 2), where X is frames laid
        out as vectors.
    groups : which, by their latents, such as `[(0, 3)]`; all, 12 at most, where nothing is said.
    covariates : of the rows, as in `fit`, where the estimator was fitted with some.

    Returns
    -------
    Figure

    Examples
    --------
    >>> import numpy as np
    >>> import partita as pt
    >>> frames = np.random.default_rng(0).normal(size=(20, 5, 6))
    >>> data = pt.data.from_array(frames, samples="pixels")
    >>> model = pt.Disentangler("pca", latents=2).fit(data.x)
    >>> figure = maps(model, data, groups=[(0, 1)])
    >>> figure.axes[0].images[0].get_array().shape, len(figure.axes[-1].lines[1].get_xdata())
    ((5, 6), 20)
    """
    seen = opened(model, X, covariates=covariates)
    movie = Movie.of(seen, places)
    shown = parts_shown(groups, seen.groups, seen.latents)
    found = sorted((movie.mapped(group) for group in shown), key=lambda each: -each.share)[:GROUPS_SHOWN]
    # mean slopes of a decoder that curves may make more than there is: then groups are told beside each other
    whole, of = sum(movie.mapped(group).share for group in seen.groups), "of the variance"
    if whole > 1:
        found, of = [replace(each, share=each.share / whole) for each in found], "of the groups' mean slopes"
    across = min(3, len(found))
    down = -(-len(found) // across)
    figure = Drawing(figsize=(3.8 * across, 3.4 * down))
    parts = np.ravel(figure.subfigures(down, across, squeeze=False))
    for each, part in zip(found, parts):
        _draw(movie, each, part, of)
    return figure


@dataclass(frozen=True)
class Movie:
    """What rows say of a movie: codes of all of them, loadings, where pixels lie, and whether rows are pixels."""

    codes: np.ndarray
    loadings: np.ndarray
    places: np.ndarray
    by_pixel: bool
    variance: float

    @classmethod
    def of(cls, seen: Opened, places: Any) -> "Movie":
        where = seen.places if places is None else np.asarray(places, int)
        rows, features = len(seen.x), int(np.prod(seen.shape))
        loadings = seen.loadings
        if where is None and seen.is_image:
            height, width = seen.shape[1:]
            where = np.stack([each.ravel() for each in np.indices((height, width))], 1)
            loadings = loadings.reshape(seen.shape[0], height * width, -1).mean(0)
            features = height * width
        if where is None:
            raise ValueError("X does not say where its pixels lie: give places, the row and column of each")
        if where.shape not in ((rows, 2), (features, 2)):
            raise ValueError(f"places must be ({rows}, 2) or ({features}, 2), got {where.shape}")
        codes = seen.encode(slice(None))[0].astype(np.float64)
        variance = float(seen.observed(seen.rows).var(0).mean())
        return cls(codes - codes.mean(0), loadings, where, where.shape[0] == rows and not seen.is_image, variance)

    def mapped(self, group: Sequence[int]) -> Mapped:
        own = list(group)
        turned, first = np.linalg.qr(self.codes[:, own])
        along, second = np.linalg.qr(self.loadings[:, own])
        left, size, right = np.linalg.svd(first @ second.T)
        by_row, by_feature = turned @ left, along @ right.T
        maps, courses = (by_row, by_feature) if self.by_pixel else (by_feature, by_row)
        spread = np.maximum(maps.std(0), 1e-12)
        sign = np.sign(maps[np.abs(maps).argmax(0), range(len(own))] + 1e-300)
        share = float((size**2).sum() / max(self.variance * len(self.codes) * len(self.loadings), 1e-300))
        return Mapped(tuple(own), maps / spread * sign, courses * size * spread * sign, share)

    def picture(self, values: np.ndarray) -> np.ndarray:
        """A value a pixel as an image, NaN where there is no pixel."""
        image = np.full(self.places.max(0) + 1, np.nan)
        image[tuple(self.places.T)] = values
        return image


def _draw(movie: Movie, each: Mapped, part: FigureBase, of: str) -> None:
    count = min(len(each.group), AXES_SHOWN)
    grid = part.add_gridspec(2, count, height_ratios=[1.5, 1])
    more = f", {count} of its {len(each.group)} axes" if count < len(each.group) else ""
    title = f"{latents_named(each.group)}: {each.share:.1%} {of}{more}"
    part.suptitle(title, x=0.02, ha="left", fontsize=9.5)
    panels = [part.add_subplot(grid[0, number]) for number in range(count)]
    for number, panel in enumerate(panels):
        image = movie.picture(each.maps[:, number])
        picture = panel.imshow(image, cmap=CHANGE_MAP, vmin=-FURTHEST, vmax=FURTHEST, interpolation="nearest")
        panel.set(xticks=[], yticks=[], xlabel="column", ylabel="row" if number == 0 else "")
        panel.spines[:].set_visible(True)
        panel.spines[:].set(color=COLOURS[number], linewidth=1.5)
    part.colorbar(picture, ax=panels, label="map, in its sd", shrink=0.8, aspect=14)
    below = part.add_subplot(grid[1, :])
    below.axhline(0, color=FAINT, linewidth=0.5)
    for number in range(count):
        below.plot(each.courses[:, number], color=COLOURS[number], linewidth=0.7)
    below.set(xlabel="frame", ylabel="data units")
    below.locator_params(axis="x", integer=True)
