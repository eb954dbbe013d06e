"""What one model has learned: every figure that its data allow, each with its caption."""

import numpy as np

from partita import plot
from partita.plot._style import Drawing, latents_named, styled
from partita.plot.diagnosis import margins
from partita.plot.maps import GROUPS_SHOWN, Movie
from partita.plot.reconstructions import rows_shown
from partita.reports._aligned import aligned_block, latent_block
from partita.reports._pictures import as_png, as_svg
from partita.reports._view import Block, View
from partita.structure.diagnosis import Diagnosis

FEWEST_TESTED, MOST_TESTED = 3, 16  # latents: of more the tests take minutes
ROWS_TESTED = 60


def blocks_of(view: View) -> list[Block]:
    """Every figure of one setting, the most telling first; those that the data do not allow are left out."""
    if view.is_movie:
        found = [maps_block(view), latent_block(view), _reconstructions(view)]
    else:
        found = [aligned_block(view), latent_block(view), _reconstructions(view), _traversals(view), _planes(view)]
    found += [_diagnosis(view), _dependence(view)]
    return [block for block in found if block is not None]


def maps_block(view: View) -> Block:
    """Maps and time courses of a movie's groups."""
    movie = Movie.of(view.seen, None)
    groups = sorted(view.seen.groups, key=lambda group: -movie.mapped(group).share)[:GROUPS_SHOWN]
    pictures = [
        as_png(plot.maps(view.seen, view.dataset, groups=[group]), f"Maps and time courses of {latents_named(group)}")
        for group in groups
    ]
    more = len(view.seen.groups) - len(groups)
    caption = (
        "Each group of the movie: where it lies (maps, in standard deviations of each) and when it is active (time "
        "courses, in the units of the data), a colour an axis. A group is a subspace: its axes of largest variance are "
        f"drawn, and inside it any others would do as well.{f' {more} more groups are not drawn.' if more else ''}"
    )
    return Block("Maps and time courses", tuple(pictures), caption)


def _reconstructions(view: View) -> Block:
    rows = rows_shown(view.seen)
    if not view.seen.is_image:
        what = "pixel" if view.is_movie else "row"
        pictures = [
            as_svg(
                plot.reconstructions(view.seen, view.dataset, rows=[row]),
                f"{what.capitalize()} {row} of the data over its {view.seen.features_are}, and its reconstruction",
            )
            for row in rows.tolist()
        ]
        caption = (
            f"{len(rows)} {what}s drawn at random (dark) and the decoded posterior mean (orange line). "
            "What the line misses was taken for noise."
        )
        return Block("Reconstructions", tuple(pictures), caption)
    low, high = view.seen.span
    figure = plot.reconstructions(view.seen, view.dataset)
    caption = (
        f"{len(rows)} observations drawn at random, above the decoded posterior means. Brightness spans {low:.3g} to "
        f"{high:.3g}{_channels(view)}. Blur shows what the latents do not carry."
    )
    return Block("Reconstructions", (as_png(figure, "Images of the data above their reconstructions"),), caption)


def _traversals(view: View) -> Block:
    seen, grouped = view.seen, bool(view.several)
    if seen.is_image:
        figure = plot.traversals(seen, view.dataset)
        pictures = [as_png(figure, "Decoded images, one row a latent, while that latent goes from -2 to 2")]
        order = "Groups stand apart. " if grouped else ""
        others = f"as in the code of {_typical(view)}"
    else:
        pictures = [
            as_svg(plot.traversals(seen, view.dataset, latents=[k]), f"Decoded features while z{k} goes from -2 to 2")
            for group in seen.groups
            for k in group
        ]
        order = "In the order of the groups. "
        others = "at 0"
    caption = (
        f"One latent at a time moves from −2 to 2 while all others stay {others}, and the result is decoded. "
        f"{order}A latent whose KL is near 0 nats is not used and changes nothing."
    )
    return Block("Traversals of every latent", tuple(pictures), caption)


def _planes(view: View) -> Block | None:
    if not view.several:
        return None
    if view.seen.is_image:
        caption = (
            "Decoded images over the plane of each group, each coordinate from −2 to 2 (standard deviations of the "
            f"prior), all other latents as in the code of {_typical(view)}. Where a group holds one thing, only that "
            "changes in its plane."
        )
    else:
        caption = (
            "A walk round the circle of radius 1.5 in the plane of each group, all other latents at 0: how each "
            "decoded feature differs from the centre of the plane. Features that stay white do not depend on the group."
        )
    if any(len(group) > 2 for group in view.several):
        caption += " Of groups of more than two latents, the plane of the two most used."
    pictures = [
        as_png(
            plot.planes(view.seen, view.dataset, groups=[group]),
            f"Decoded observations over the plane of {latents_named(group)}",
        )
        for group in view.several
    ]
    return Block("Every group over its plane", tuple(pictures), caption)


@styled
def _diagnosis(view: View) -> Block | None:
    said = view.record.diagnosis
    if said is None:
        return None
    found = Diagnosis(said["verdict"], tuple(said["reasons"]), said["numbers"])
    rows = len(margins(found.numbers))
    if not rows:
        return None
    figure = plot.diagnosis(found, ax=Drawing(figsize=(4.2, 0.85 + 0.38 * rows)).add_subplot())
    caption = (
        "Whether the groups hold, without labels: what ties each group, what is left between groups, whether two "
        "halves of the rows show the same ones, and how the fit stands beside PCA. Orange bars speak against them."
    )
    return Block("Diagnosis", (as_svg(figure, f"Diagnosis: {said['verdict']}"),), caption)


def _dependence(view: View) -> Block | None:
    if not FEWEST_TESTED <= view.seen.latents <= MOST_TESTED or len(view.seen.rows) < ROWS_TESTED:
        return None
    if (np.ptp(view.seen.means, axis=0) < 1e-9).any():
        return None
    figure = plot.dependence(view.seen, view.dataset)
    caption = (
        "Which latents depend on each other, tested without labels: those that share most meet first, each branch at "
        "the nats they share beyond chance. Coloured branches passed the test; grey ones are where groups would meet "
        "next. A wide gap between the two means that the groups are clear."
    )
    return Block("The tree of dependence", (as_svg(figure, "Tree of dependence between latents"),), caption)


def _typical(view: View) -> str:
    return f"row {view.seen.rows[view.seen.typical]}, the observation whose code is nearest to 0"


def _channels(view: View) -> str:
    channels = view.dataset.shape[0]
    return "" if channels in (1, 3) else f"; the mean of the {channels} channels is shown"
