"""Figures: labelled axes everywhere, and the right numbers in the right places."""

import numpy as np
import pytest

from partita.data import Dataset
from partita.reports import aligned_line, aligned_plane, alignment_matrix, learning_curve, seed_strip
from partita.reports._pictures import as_svg
from partita.reports.groups import recovered, truth_names
from partita.reports.study import settings_of
from partita.structure import align

RNG = np.random.default_rng(0)


def check_labels(figure):
    figure.draw_without_rendering()
    for axes in figure.axes:
        assert axes.get_ylabel()
        assert axes.get_xlabel() or axes.get_label() == "<colorbar>"
    return figure


def test_every_figure_has_labelled_axes(pairs_store):
    settings = settings_of(pairs_store)
    plane, line = RNG.standard_normal((50, 2)), RNG.standard_normal(50)
    for figure in (
        learning_curve(settings, "loss"),
        seed_strip([("a", [1.0, 2.0], None), ("b", [], None)], "R²"),
        alignment_matrix(np.eye(2), (0, -1), ["a", "b"], ["z0", "a much longer name"], "title"),
        aligned_plane(plane, plane, ["a", "b"]),
        aligned_plane(plane, None, ["a", "b"]),
        aligned_line(line, line, "a", line, "b"),
        aligned_line(line, None, "a", None, "b"),
    ):
        check_labels(figure)


def test_recovered_latents_have_the_r2_of_the_alignment():
    codes, truth = RNG.standard_normal((200, 4)), RNG.standard_normal((200, 3))
    truth[:, :2] += codes[:, :2] @ RNG.standard_normal((2, 2))
    groups, truth_groups = ((0, 1), (2, 3)), ((0, 1), (2,))
    found = align(codes, truth, groups, truth_groups)
    for a, group in enumerate(truth_groups):
        own = truth[:, list(group)]
        error = recovered(codes[:, list(groups[found.assignment[a]])], own) - own
        r2 = np.mean(1 - (error**2).mean(0) / own.var(0))
        assert r2 == pytest.approx(found.matrix[a, found.assignment[a]], abs=1e-10)


def test_matched_cells_are_framed():
    figure = alignment_matrix(np.array([[0.1, 0.9], [0.8, 0.2]]), (1, 0), ["a", "b"], ["z0", "z1"])
    axes = figure.axes[0]
    frames = {(patch.get_y() + 0.46, patch.get_x() + 0.46) for patch in axes.patches}
    assert {(round(r), round(c)) for r, c in frames} == {(0, 1), (1, 0)}
    assert [text.get_text() for text in axes.texts] == ["0.10", "0.90", "0.80", "0.20"]


def test_truth_is_named_after_factors_only_where_it_follows_them(squares):
    assert truth_names(squares) == ["column", "row", "size"]
    turned = Dataset("x", np.zeros((4, 1), np.float32), factors=[[0], [1], [2], [0]], truth=[[3.0], [1], [2], [3]])
    assert truth_names(turned) == ["t0"]


def test_a_diverged_run_ends_in_a_cross_and_does_not_set_the_frame(pairs_store):
    from dataclasses import replace

    settings = settings_of(pairs_store)
    steps = np.arange(1, 11)
    growing = replace(
        settings[0].records[0],
        status="diverged",
        history={"step": steps, "loss": np.where(steps < 8, 10.0**steps, np.nan)},
    )
    calm = replace(settings[0].records[1], history={"step": steps, "loss": np.full(10, 2.0)})
    several = [replace(calm) for _ in range(4)]
    figure = learning_curve([replace(settings[0], records=(growing, *several))], "loss")
    axes = check_labels(figure).axes[0]
    crosses = [line for line in axes.lines if line.get_marker() == "x"]
    assert [line.get_xdata()[0] for line in crosses] == [7]
    assert axes.get_ylim()[1] < 100
    assert as_svg(figure, "loss").uri.startswith("data:image/svg+xml;base64,")
