"""Scatters of groups: the model's own codes, coloured by what was given."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from partita import plot


def test_points_are_the_models_codes_and_colours_the_values(model, vectors, labelled):
    values = vectors.truth[:, 0]
    figure = labelled(plot.groups(model, vectors.x, colour=values, label="t0"))
    codes = model.transform(vectors.x)
    plane, line = (axes for axes in figure.axes if axes.get_label() != "<colorbar>")
    np.testing.assert_allclose(plane.collections[0].get_offsets(), codes[:, :2], atol=1e-6)
    np.testing.assert_allclose(plane.collections[0].get_array(), values)
    np.testing.assert_allclose(line.collections[0].get_offsets(), np.stack([values, codes[:, 2]], 1), atol=1e-6)
    assert line.get_xlabel() == "t0"


def test_a_single_latent_without_colour_is_counted(model, vectors, labelled):
    figure = labelled(plot.groups(model, vectors.x, groups=[2]))
    heights = [patch.get_height() for patch in figure.axes[0].patches]
    np.testing.assert_array_equal(heights, np.histogram(model.transform(vectors.x)[:, 2], 40)[0])


def test_words_are_classes_with_a_legend(model, vectors, labelled):
    words = np.where(vectors.truth[:, 0] > 0, "high", "low")
    figure = labelled(plot.groups(model, vectors.x, colour=words, label="side"))
    codes = model.transform(vectors.x)
    high, low = figure.axes[0].collections
    np.testing.assert_allclose(high.get_offsets(), codes[words == "high"][:, :2], atol=1e-6)
    assert len(low.get_offsets()) == (words == "low").sum()
    legend = figure.axes[0].get_legend()
    assert [text.get_text() for text in legend.get_texts()] == ["high", "low"]


def test_a_factor_by_its_name(image_model, images, labelled):
    import partita as pt

    factor = np.arange(60) % 3
    data = pt.data.from_array(images, factors=factor, factor_names=["kind"])
    figure = labelled(plot.groups(image_model, data, colour="kind", groups=[(0, 1)]))
    assert figure.axes[0].get_legend().get_title().get_text() == "kind"
    assert [len(each.get_offsets()) for each in figure.axes[0].collections] == [20, 20, 20]
    with pytest.raises(ValueError, match="no factor or column 'size'"):
        plot.groups(image_model, data, colour="size")


def test_axes_of_ones_own_and_bad_input(model, vectors):
    figure = Figure()
    assert plot.groups(model, vectors.x, groups=[(0, 1)], ax=figure.add_subplot()) is figure
    with pytest.raises(ValueError, match="a value for each of the 200 rows"):
        plot.groups(model, vectors.x, colour=[1.0, 2.0])
    with pytest.raises(ValueError, match="X an array"):
        plot.groups(model, vectors.x, colour="t0")
    with pytest.raises(ValueError, match="200 words"):
        plot.groups(model, vectors.x, colour=[f"w{k}" for k in range(200)])
