"""How pictures look: colours that everybody can tell apart, short names, and a picture in a notebook."""

import io

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from PIL import Image

from partita.plot._style import ANGLE_MAP, COLOURS, Drawing, latents_named, plain


def test_a_notebook_shows_a_drawing():
    figure = Drawing(figsize=(2, 1), dpi=100)
    figure.add_subplot().plot([0, 1])
    with Image.open(io.BytesIO(figure._repr_png_())) as image:
        assert image.size == (200, 100)
        assert np.asarray(image.convert("L")).std() > 1


def test_names_in_figures_are_one_short_line():
    assert plain("a\nb\x00c\u202ed") == "a b c d"
    assert len(plain("long " * 20)) == 28
    assert latents_named((0, 3)) == "z0 z3"
    assert latents_named(range(12)) == "z0 z1 … z11 (12)"


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
