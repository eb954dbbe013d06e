"""Figures: labelled axes everywhere, and the right numbers in the right places."""

from dataclasses import dataclass

import numpy as np
import pytest
from matplotlib.colors import to_rgb

from partita.data import Dataset
from partita.reports import aligned_line, aligned_plane, alignment_matrix, learning_curve, seed_strip
from partita.reports._images import STEPS, as_rgb, image_plane, image_reconstructions, image_traversals
from partita.reports._style import ANGLE_MAP, COLOURS, as_svg, latents_named, plain
from partita.reports._vectors import ANGLES, RADIUS, latent_plane, vector_plane, vector_reconstruction, vector_traversal
from partita.reports.groups import recovered, truth_names
from partita.reports.study import settings_of
from partita.structure import align

RNG = np.random.default_rng(0)


@dataclass(frozen=True)
class Painter:
    """A decoder that can be read back: pixel k, or feature k, is latent k."""

    shape: tuple[int, ...]

    def decode(self, z):
        return np.asarray(z, np.float32).reshape(len(z), *self.shape)


def check_labels(figure):
    figure.draw_without_rendering()
    for axes in figure.axes:
        assert axes.get_ylabel()
        assert axes.get_xlabel() or axes.get_label() == "<colorbar>"
    return figure


def test_every_figure_has_labelled_axes(pairs_store):
    settings = settings_of(pairs_store)
    plane, line = RNG.standard_normal((50, 2)), RNG.standard_normal(50)
    vector, image = Painter((4,)), Painter((1, 2, 2))
    for figure in (
        learning_curve(settings, "loss"),
        seed_strip([("a", [1.0, 2.0], None), ("b", [], None)], "R²"),
        alignment_matrix(np.eye(2), (0, -1), ["a", "b"], ["z0", "a much longer name"], "title"),
        aligned_plane(plane, plane, ["a", "b"]),
        aligned_plane(plane, None, ["a", "b"]),
        aligned_line(line, line, "a", line, "b"),
        aligned_line(line, None, "a", None, "b"),
        vector_reconstruction(line, line, 3),
        vector_traversal(vector, 1, 4, 0.5),
        vector_plane(vector, (0, 3), 4),
        latent_plane(plane, (0, 1), np.arange(50)),
        image_plane(image, (0, 3), np.zeros(4), (-2.0, 2.0)),
        image_traversals(image, ((0, 1), (2, 3)), np.ones(4), np.zeros(4), (-2.0, 2.0)),
        image_reconstructions(np.zeros((3, 1, 2, 2)), np.ones((3, 1, 2, 2)), [0, 5, 9], (0.0, 1.0)),
    ):
        check_labels(figure)


def canvas_tiles(figure, rows: int, columns: int, size: int) -> np.ndarray:
    """The tiles of an image grid, read back from the picture by the ticks that name them."""
    axes = figure.axes[0]
    canvas = np.asarray(axes.images[0].get_array())
    middle = (size - 1) / 2
    tops = [round(tick - middle) for tick in axes.get_yticks()]
    lefts = [round(tick - middle) for tick in axes.get_xticks()]
    assert (len(tops), len(lefts)) == (rows, columns)
    return np.array([[canvas[top : top + size, left : left + size, 0] for left in lefts] for top in tops])


BASE = np.array([0.5, -0.5, 1.0, -1.0])


def test_plane_puts_the_first_latent_across_and_the_second_upwards():
    figure = image_plane(Painter((1, 2, 2)), (3, 1), BASE, (-2.0, 2.0))
    tiles = canvas_tiles(figure, 9, 9, 2).astype(float) / 255 * 4 - 2
    across, up = np.meshgrid(STEPS, STEPS[::-1])
    np.testing.assert_allclose(tiles[:, :, 1, 1], across, atol=0.02)  # latent 3 is the last pixel
    np.testing.assert_allclose(tiles[:, :, 0, 1], up, atol=0.02)  # latent 1 the second
    np.testing.assert_allclose(tiles[:, :, 0, 0], BASE[0], atol=0.02)
    assert figure.axes[0].get_yticklabels()[0].get_text() == "2"
    assert (figure.axes[0].get_xlabel(), figure.axes[0].get_ylabel()) == ("z3", "z1")


def test_traversal_rows_follow_the_groups():
    used = np.array([0.0, 1.0, 2.0, 3.0])
    figure = image_traversals(Painter((1, 2, 2)), ((2, 0), (3, 1)), used, BASE, (-2.0, 2.0))
    tiles = canvas_tiles(figure, 4, 9, 2).reshape(4, 9, 4).astype(float) / 255 * 4 - 2
    for row, k in enumerate((2, 0, 3, 1)):
        expected = np.tile(BASE, (9, 1))
        expected[:, k] = STEPS
        np.testing.assert_allclose(tiles[row], expected, atol=0.02)
    names = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert names == ["z2  2.00", "z0  0.00", "z3  3.00", "z1  1.00"]


def test_vector_plane_is_a_walk_round_the_circle():
    figure = vector_plane(Painter((4,)), (3, 1), 4)
    change = np.asarray(figure.axes[0].images[0].get_array())
    np.testing.assert_allclose(change[:, 3], RADIUS * np.cos(np.radians(ANGLES)), atol=1e-6)
    np.testing.assert_allclose(change[:, 1], RADIUS * np.sin(np.radians(ANGLES)), atol=1e-6)
    np.testing.assert_allclose(change[:, [0, 2]], 0, atol=1e-6)


def test_rgb_keeps_colours_and_greys_the_rest():
    pixels = np.array([[0.0, 0.5, 1.0, 2.0]]).reshape(1, 4)
    grey = as_rgb(pixels[:, None, None, :], 0.0, 1.0)
    np.testing.assert_array_equal(grey[0, 0], [[0] * 3, [128] * 3, [255] * 3, [255] * 3])
    colour = as_rgb(np.array([1.0, 0.0, -1.0]).reshape(1, 3, 1, 1), -1.0, 1.0)
    np.testing.assert_array_equal(colour[0, 0, 0], [255, 128, 0])
    np.testing.assert_array_equal(as_rgb(np.array([1.0, 0.0]).reshape(1, 2, 1, 1), 0.0, 1.0)[0, 0, 0], [128] * 3)


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


def test_names_in_figures_are_one_short_line():
    assert plain("a\nb\x00c\u202ed") == "a b c d"
    assert len(plain("long " * 20)) == 28
    assert latents_named((0, 3)) == "z0 z3"
    assert latents_named(range(12)) == "z0 z1 … z11 (12)"


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


# Machado, Oliveira and Fernandes 2009, severity 1, for linear RGB
DEFICIENCIES = {
    "none": np.eye(3),
    "protan": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deutan": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
}


def oklab(colours: np.ndarray, deficiency: str) -> np.ndarray:
    """Colours as they appear, in Oklab (Ottosson 2020)."""
    linear = np.where(colours <= 0.04045, colours / 12.92, ((colours + 0.055) / 1.055) ** 2.4)
    linear = np.clip(linear @ np.asarray(DEFICIENCIES[deficiency]).T, 0, 1)
    lms = linear @ np.array(
        [[0.4122214708, 0.5363325363, 0.0514459929], [0.2119034982, 0.6806995451, 0.1073969566],
         [0.0883024619, 0.2817188376, 0.6299787005]]
    ).T  # fmt: skip
    return np.cbrt(lms) @ np.array(
        [[0.2104542553, 0.7936177850, -0.0040720468], [1.9779984951, -2.4285922050, 0.4505937099],
         [0.0259040371, 0.7827717662, -0.8086757660]]
    ).T  # fmt: skip


@pytest.mark.parametrize("deficiency", DEFICIENCIES)
def test_colours_of_settings_can_be_told_apart(deficiency):
    seen = oklab(np.array([to_rgb(colour) for colour in COLOURS]), deficiency)
    distances = np.linalg.norm(seen[:, None] - seen, axis=-1)[np.triu_indices(len(COLOURS), 1)]
    assert distances.min() > 0.05
    assert np.linalg.norm(seen - oklab(np.ones((1, 3)), deficiency), axis=-1).min() > 0.2  # and from the paper


@pytest.mark.parametrize("deficiency", DEFICIENCIES)
def test_angles_far_apart_have_colours_far_apart(deficiency):
    angles = np.linspace(0, 1, 36, endpoint=False)
    seen = oklab(ANGLE_MAP(angles)[:, :3], deficiency)
    distances = np.linalg.norm(seen[:, None] - seen, axis=-1)
    apart = np.abs(angles[:, None] - angles)
    apart = np.minimum(apart, 1 - apart)
    assert distances[apart > 0.25].min() > 0.1
    np.testing.assert_allclose(ANGLE_MAP(0.0), ANGLE_MAP(1.0), atol=1e-6)
