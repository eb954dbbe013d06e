"""Where the data lie in the latent space of one model: beside the truth, or by themselves where there is none."""

from collections.abc import Sequence

import numpy as np

from partita import plot
from partita.plot._style import latents_named
from partita.reports._pictures import Picture, as_png
from partita.reports._view import Block, View
from partita.reports.groups import aligned_line, aligned_plane, recovered, truth_names, truth_partition


def aligned_block(view: View) -> Block | None:
    """Each true group beside the prediction from its matched learned group; None without truth or alignment."""
    if view.record.alignment is None or view.dataset.truth is None:
        return None
    partition = truth_partition(view.dataset)
    if len(partition) != len(view.record.alignment["assignment"]):
        return None
    truth, names = view.dataset.truth[view.seen.rows], truth_names(view.dataset)
    pictures = tuple(_aligned_picture(view, truth, names, partition, a) for a in range(len(partition)))
    return Block("Aligned latents beside the truth", pictures, _aligned_caption(view, partition))


def _aligned_picture(view: View, truth: np.ndarray, names: list[str], partition, a: int) -> Picture:
    alignment = view.record.alignment or {}
    group, match = list(partition[a]), alignment["assignment"][a]
    learned = list(view.seen.groups[match]) if match >= 0 else []
    found = recovered(view.seen.means[:, learned], truth[:, group]) if learned else None
    title = f"from {latents_named(learned)}, R² {alignment['matrix'][a][match]:.2f}" if learned else "unmatched"
    own = [names[k] for k in group]
    if len(group) > 1:
        figure = aligned_plane(truth[:, group], found, own, f"{', '.join(own)}  {title}")
    else:
        k = partition[(a + 1) % len(partition)][0]
        other = truth[:, k] if k != group[0] else None
        figure = aligned_line(
            truth[:, group[0]], None if found is None else found[:, 0], own[0], other, names[k], title
        )
    return as_png(figure, f"True latents {', '.join(own)} beside what the learned group says of them ({title})")


def _aligned_caption(view: View, partition: Sequence[Sequence[int]]) -> str:
    text = (
        f"Each true group, and the same values predicted linearly from the means of its matched learned group "
        f"({len(view.seen.rows)} rows; axes in units of the true latents). "
    )
    if any(len(group) > 1 for group in partition):
        text += (
            "A point has the colour of its true angle in both panels: a recovered group shows the shape of the truth "
            "with the colours in the same order; a mixed one is blurred, its colours shuffled. "
        )
    if any(len(group) > 2 for group in partition):
        text += "Of groups of more than two the first two coordinates are drawn. "
    if any(len(group) == 1 for group in partition):
        text += (
            "For a single latent: points on the dashed diagonal are recovered exactly; if the colour, a latent of "
            "another true group, changes across the diagonal, that group leaks in."
        )
    return text.strip()


def latent_block(view: View) -> Block | None:
    """Posterior means of each group of several latents, where there is no truth to compare with."""
    if view.dataset.truth is not None or not view.several:
        return None
    pictures = [
        as_png(
            plot.groups(view.seen, view.dataset, groups=[group]),
            f"Posterior means in the plane of {latents_named(group)}",
        )
        for group in view.several
    ]
    what = "pixels" if view.dataset.places is not None else "rows"
    caption = (
        f"Posterior means of {len(view.seen.rows)} {what} in the plane of each group (units: standard deviations of "
        "the prior, whose 1 and 2 standard deviations are dashed). Structure that no rotation unties, such as a ring "
        "or clusters, is dependence inside the group."
    )
    if any(len(group) > 2 for group in view.several):
        caption += " Of groups of more than two latents, the two most used are drawn."
    return Block("Groups in latent space", tuple(pictures), caption)
