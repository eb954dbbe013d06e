"""What the decoder of one model has learned: reconstructions, traversals, planes, each with its caption."""

import numpy as np

from partita.reports._aligned import aligned_block, latent_block
from partita.plot._images import image_plane, image_reconstructions, image_traversals
from partita.plot._style import as_png, as_svg, latents_named
from partita.reports._vectors import vector_plane, vector_reconstruction, vector_traversal
from partita.reports._view import Block, View, some_rows

IMAGES_SHOWN = 10
VECTORS_SHOWN = 6


def blocks_of(view: View) -> list[Block]:
    """Every figure of one setting, those that the data do not allow left out."""
    found = [aligned_block(view), latent_block(view), _reconstructions(view), _traversals(view), _planes(view)]
    return [block for block in found if block is not None]


def _reconstructions(view: View) -> Block:
    rows = some_rows(view.dataset.size, IMAGES_SHOWN if view.is_image else VECTORS_SHOWN)
    originals = view.dataset.observations(rows)
    decoded = view.model.decode(view.model.posterior(np.asarray(view.dataset.x[rows]))[0])
    if not view.is_image:
        pictures = [
            as_svg(
                vector_reconstruction(x, y, int(row)),
                f"Row {row} of the data over its features, and its reconstruction",
            )
            for row, x, y in zip(rows, originals, decoded)
        ]
        caption = (
            f"{len(rows)} observations drawn at random (dark) and the decoded posterior mean (orange line). "
            "What the line misses was taken for noise."
        )
        return Block("Reconstructions", tuple(pictures), caption)
    low, high = view.span()
    figure = image_reconstructions(originals, decoded, rows.tolist(), (low, high))
    caption = (
        f"{len(rows)} observations drawn at random, above the decoded posterior means. Brightness spans {low:.3g} to "
        f"{high:.3g}{_channels(view)}. Blur shows what the latents do not carry."
    )
    return Block("Reconstructions", (as_png(figure, "Images of the data above their reconstructions"),), caption)


def _traversals(view: View) -> Block:
    if view.is_image:
        figure = image_traversals(view.model, view.groups, view.used, view.means[view.typical], view.span())
        pictures = [as_png(figure, "Decoded images, one row a latent, while that latent goes from -2 to 2")]
        seen = "Groups stand apart. " if any(len(group) > 1 for group in view.groups) else ""
        others = f"as in the code of {_typical(view)}"
    else:
        pictures = [
            as_svg(
                vector_traversal(view.model, k, view.latents, float(view.used[k])),
                f"Decoded features while z{k} goes from -2 to 2",
            )
            for group in view.groups
            for k in group
        ]
        seen = "In the order of the groups. "
        others = "at 0"
    caption = (
        f"One latent at a time moves from −2 to 2 while all others stay {others}, and the result is decoded. "
        f"{seen}A latent whose KL is near 0 nats is not used and changes nothing."
    )
    return Block("Traversals of every latent", tuple(pictures), caption)


def _planes(view: View) -> Block | None:
    if not view.pairs:
        return None
    if view.is_image:
        span = view.span()
        figures = [image_plane(view.model, pair, view.means[view.typical], span) for pair in view.pairs]
        caption = (
            "Decoded images over the plane of each group of two, each coordinate from −2 to 2 (standard deviations of "
            f"the prior), all other latents as in the code of {_typical(view)}. Where a group holds one thing, only "
            "that changes in its plane."
        )
    else:
        figures = [vector_plane(view.model, pair, view.latents) for pair in view.pairs]
        caption = (
            "A walk round the circle of radius 1.5 in the plane of each group of two, all other latents at 0: how each "
            "decoded feature differs from the centre of the plane. Features that stay white do not depend on the group."
        )
    pictures = [
        as_png(figure, f"Decoded observations over the plane of {latents_named(pair)}")
        for figure, pair in zip(figures, view.pairs)
    ]
    others = [latents_named(group) for group in view.groups if len(group) > 2]
    if others:
        caption += f" Groups of more than two have no plane: {'; '.join(others)}."
    return Block("Every group of two over its plane", tuple(pictures), caption)


def _typical(view: View) -> str:
    return f"row {view.rows[view.typical]}, the observation whose code is nearest to 0"


def _channels(view: View) -> str:
    channels = view.dataset.shape[0]
    return "" if channels in (1, 3) else f"; the mean of the {channels} channels is shown"
