"""Pictures of a model of vectors: curves over the features, and walks through a group's plane."""

from collections.abc import Sequence

import numpy as np
from matplotlib import colormaps
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from partita.reports._style import CHANGE_MAP, COLOURS, FAINT, INK, VALUE_MAP, readable, styled
from partita.training import Model

STEPS = np.linspace(-2, 2, 9)
RADIUS = 1.5
ANGLES = np.arange(0, 360, 10)
MARKERS_UP_TO = 60  # features; beyond that a line is clearer than dots


@styled
def vector_reconstruction(original: np.ndarray, decoded: np.ndarray, row: int) -> Figure:
    """One observation over its features, and its reconstruction."""
    figure = Figure(figsize=(3.4, 2.1))
    axes = figure.add_subplot()
    features = np.arange(len(original))
    dots = "o" if len(features) <= MARKERS_UP_TO else "-"
    axes.plot(features, original, dots, color=INK, markersize=3.5, linewidth=0.8, label="original")
    mark = "." if len(features) == 1 else None
    axes.plot(features, decoded, color=COLOURS[1], linewidth=1.2, marker=mark, label="decoded")
    axes.set(xlabel="feature (index)", ylabel="value (data units)", title=f"row {row}")
    axes.locator_params(axis="x", integer=True)
    axes.legend(fontsize=7, loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=2, borderaxespad=0.1, columnspacing=1.0)
    return figure


@styled
def vector_traversal(model: Model, latent: int, latents: int, used: float) -> Figure:
    """Decoded features while one latent goes from -2 to 2 and all others stay at 0."""
    z = np.zeros((len(STEPS), latents), np.float32)
    z[:, latent] = STEPS
    decoded = model.decode(z)
    figure = Figure(figsize=(3.6, 2.2))
    axes = figure.add_subplot()
    norm, features = Normalize(-2, 2), np.arange(decoded.shape[1])
    for value, curve in zip(STEPS, decoded):
        mark = "." if len(features) == 1 else None
        axes.plot(features, curve, color=colormaps[VALUE_MAP](norm(value)), linewidth=1.0, marker=mark)
    axes.set(xlabel="feature (index)", ylabel="decoded (data units)", title=f"z{latent}, KL {readable(used)} nats")
    axes.locator_params(axis="x", integer=True)
    figure.colorbar(ScalarMappable(norm, VALUE_MAP), ax=axes, label=f"value of z{latent}", ticks=[-2, 0, 2], aspect=18)
    return figure


@styled
def vector_plane(model: Model, group: Sequence[int], latents: int) -> Figure:
    """A walk round the circle of radius 1.5 in the plane of a group of two: each feature against the centre."""
    turn = np.radians(ANGLES)
    z = np.zeros((len(ANGLES) + 1, latents), np.float32)
    z[1:, group[0]], z[1:, group[1]] = RADIUS * np.cos(turn), RADIUS * np.sin(turn)
    decoded = model.decode(z)
    change = decoded[1:] - decoded[0]
    most = max(float(np.abs(change).max()), 1e-9)
    figure = Figure(figsize=(3.9, 2.7))
    axes = figure.add_subplot()
    extent = (-0.5, change.shape[1] - 0.5, -5.0, 355.0)
    image = axes.imshow(
        change,
        cmap=CHANGE_MAP,
        vmin=-most,
        vmax=most,
        aspect="auto",
        origin="lower",
        extent=extent,
        interpolation="nearest",
    )
    axes.set_yticks([0, 90, 180, 270])
    axes.set(
        xlabel="feature (index)", ylabel="angle in the plane, degrees", title=f"z{group[0]} (0°), z{group[1]} (90°)"
    )
    axes.locator_params(axis="x", integer=True)
    figure.colorbar(image, ax=axes, label="change (data units)", aspect=18).outline.set_visible(False)  # type: ignore
    return figure


@styled
def latent_plane(means: np.ndarray, group: Sequence[int], rows: np.ndarray) -> Figure:
    """Posterior means in the plane of a group of two, coloured by place in the data set; the circles are the prior's
    1 and 2 standard deviations."""
    figure = Figure(figsize=(4.0, 3.1))
    axes = figure.add_subplot()
    turn = np.linspace(0, 2 * np.pi, 200)
    for radius in (1, 2):
        axes.plot(radius * np.cos(turn), radius * np.sin(turn), color=FAINT, linewidth=0.6, linestyle="dashed")
    dots = axes.scatter(means[:, group[0]], means[:, group[1]], c=rows, cmap=VALUE_MAP, s=6, linewidths=0)
    axes.set_aspect("equal", "datalim")
    axes.set(xlabel=f"mean of z{group[0]}", ylabel=f"mean of z{group[1]}")
    figure.colorbar(dots, ax=axes, label="row of the data set", aspect=22)
    return figure
