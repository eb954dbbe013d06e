"""Histories: what was logged, as it was logged."""

import numpy as np
import pytest
from matplotlib.figure import Figure

import partita as pt
from partita import plot


def test_lines_are_the_log_of_the_model(model, labelled):
    figure = labelled(plot.history(model, quantities=["loss", "kl"]))
    for axes, name in zip(figure.axes, ("loss", "kl")):
        np.testing.assert_array_equal(axes.lines[0].get_xdata(), model.history_["step"])
        np.testing.assert_array_equal(axes.lines[0].get_ydata(), model.history_[name])
    assert len(plot.history(model).axes) == len(model.history_) - 1


def test_lines_are_the_log_of_a_run(study, labelled):
    store, run = study
    figure = labelled(plot.history((store, run), quantities=["loss"]))
    np.testing.assert_array_equal(figure.axes[0].lines[0].get_ydata(), store.history(run)["loss"])


def test_axes_of_ones_own_and_bad_input(model, vectors):
    figure = Figure()
    axes = figure.add_subplot()
    assert plot.history(model, quantities=["loss"], ax=axes) is figure
    with pytest.raises(ValueError, match="room for one quantity"):
        plot.history(model, ax=axes)
    with pytest.raises(ValueError, match=r"mig was not logged; there are loss, recon"):
        plot.history(model, quantities=["mig"])
    with pytest.raises(ValueError, match="nothing was logged"):
        plot.history(pt.Disentangler("pca", latents=1).fit(vectors.x))
