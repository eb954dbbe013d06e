"""The tree: branches at the nats that were found, coloured by the cut."""

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from partita import plot
from partita.plot._style import COLOURS, FAINT, INK
from partita.plot.dependence import leaves_in_order
from partita.structure import discover_groups

RNG = np.random.default_rng(0)
TURN, OTHER = RNG.uniform(0, 2 * np.pi, (2, 400))
CODES = np.stack([np.cos(TURN), np.cos(OTHER), RNG.uniform(size=400), np.sin(TURN), np.sin(OTHER)], 1)


@pytest.fixture(scope="module")
def found():
    return discover_groups(CODES, unmix=False)


def joints(axes) -> list[tuple[float, str]]:
    """Where branches meet, and in which colour."""
    upright = [line for line in axes.lines if len(set(line.get_xdata())) == 1 and len(set(line.get_ydata())) == 2]
    found = [(float(line.get_xdata()[0]), to_hex(line.get_color())) for line in upright]
    return [(place, colour) for place, colour in found if colour != INK]  # that of the cut


def test_branches_lie_at_their_nats_and_groups_have_colours(found, labelled):
    assert found.groups == ((0, 3), (1, 4), (2,))
    axes = labelled(plot.dependence(found)).axes[0]
    drawn = joints(axes)
    assert len(drawn) == len(found.tree) == 4
    for (place, colour), merge in zip(drawn, found.tree):
        assert (colour != FAINT) == merge.accepted
        if merge.accepted:
            assert place == pytest.approx(merge.shared)
    assert {colour.upper() for _, colour in drawn[:2]} == set(COLOURS[:2])
    assert [text.get_text().strip() for text in axes.texts][:2] == [f"{merge.shared:.2f}" for merge in found.tree[:2]]
    assert axes.get_title(loc="left") == "3 groups: (z0 z3) (z1 z4) (z2)"
    assert [label.get_text() for label in axes.get_yticklabels()][:2] == ["z0", "z3"]


def test_the_cut_can_be_elsewhere(found):
    axes = plot.dependence(found, at=5.0).axes[0]
    assert axes.get_title(loc="left") == "5 groups: (z0) (z1) (z2) (z3) (z4)"
    assert {colour for _, colour in joints(axes)} == {FAINT}
    assert 5.0 in [line.get_xdata()[0] for line in axes.lines]
    nothing = plot.dependence(found, at=0.0).axes[0].get_title(loc="left")
    assert nothing.startswith(f"{len(found.cut(at=0.0))} group")


def test_no_branches_cross(found):
    order = leaves_in_order(found.tree, 5)
    for merge in found.tree:
        for group in merge.groups:
            places = sorted(order.index(k) for k in group)
            assert places == list(range(places[0], places[0] + len(group)))


def test_of_a_model_and_into_axes_of_ones_own(painter, found):
    figure = Figure()
    axes = figure.add_subplot()
    seen = painter(CODES, ((0, 3), (1, 4), (2,)))
    assert plot.dependence(seen, None, ax=axes) is figure
    assert [place for place, _ in joints(axes)][:2] == pytest.approx([merge.shared for merge in found.tree[:2]])
