"""Distributions of one group of latents: tangled inside, so that no linear map makes the coordinates independent.

Each shape is a function (n, dimensions, rng) -> (n, dimensions) float64. SHAPES is the only registry of them.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from partita.data._nearest import nearest

Draw = Callable[[int, int, np.random.Generator], np.ndarray]


@dataclass(frozen=True)
class Shape:
    draw: Draw
    dimensions: tuple[int, int]  # smallest and largest group it can fill
    summary: str


def ring(n: int, dimensions: int, rng: np.random.Generator) -> np.ndarray:
    """Uniform direction at distance 1 + 0.1 e: a ring, in higher dimensions a shell."""
    if dimensions == 2:
        t = rng.uniform(0, 2 * np.pi, n)
        direction = np.stack([np.cos(t), np.sin(t)], 1)
    else:
        direction = rng.standard_normal((n, dimensions))
        direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    return direction * (1 + 0.1 * rng.standard_normal((n, 1)))


def moons(n: int, dimensions: int, rng: np.random.Generator) -> np.ndarray:
    """Two interleaved half circles, chosen by a fair coin, with noise 0.1 on both coordinates."""
    lower = rng.integers(0, 2, n).astype(bool)
    t = rng.uniform(0, np.pi, n)
    x = np.where(lower, 1 - np.cos(t), np.cos(t))
    y = np.where(lower, 0.5 - np.sin(t), np.sin(t))
    return np.stack([x, y], 1) + 0.1 * rng.standard_normal((n, 2))


def bowtie(n: int, dimensions: int, rng: np.random.Generator) -> np.ndarray:
    """Uniform on {|y| <= |x|} inside the square [-1, 1]^2; in higher dimensions every other |y_k| <= |x|."""
    # |x| has density proportional to |x|^(dimensions - 1), the extent of the section at x.
    x = rng.uniform(0, 1, n) ** (1 / dimensions) * rng.choice([-1.0, 1.0], n)
    y = rng.uniform(-1, 1, (n, dimensions - 1)) * np.abs(x)[:, None]
    return np.concatenate([x[:, None], y], 1)


def spiral(n: int, dimensions: int, rng: np.random.Generator) -> np.ndarray:
    """Two turns outwards, radius t in [0.2, 1], noise 0.03; a third coordinate, if asked for, climbs with the turn."""
    t = np.sqrt(rng.uniform(0.2**2, 1, n))
    coordinates = [t * np.cos(4 * np.pi * t), t * np.sin(4 * np.pi * t), t][:dimensions]
    return np.stack(coordinates, 1) + 0.03 * rng.standard_normal((n, dimensions))


def checkerboard(n: int, dimensions: int, rng: np.random.Generator) -> np.ndarray:
    """Uniform on the cells of [-1, 1]^d whose number of negative coordinates is even: 2 x 2 squares for d = 2.

    For d > 2 any d - 1 coordinates are independent and only all d together are not.
    """
    signs = rng.choice([-1.0, 1.0], (n, dimensions))
    signs[:, -1] = np.prod(signs[:, :-1], 1)
    return signs * rng.uniform(0, 1, (n, dimensions))


def clusters(n: int, dimensions: int, rng: np.random.Generator) -> np.ndarray:
    """Gaussian clusters of sd 0.15, one more than dimensions, at equal distances: a triangle, a tetrahedron, and on.

    In one dimension three on a line. Coordinate variances are 0.52. The centres span every direction, and fewer than
    2^d clusters cannot be a product of d coordinates, so no linear map makes these independent; but a tetrahedron can
    be turned to every other corner of a cube, where any two coordinates are independent and only all three are not.
    """
    if dimensions == 1:
        centres = np.array([[-1.0], [0.0], [1.0]])
    else:
        # Rows of the discrete Fourier transform but the constant one: orthogonal, so the points are a regular simplex.
        angle = 2 * np.pi * np.arange(dimensions + 1) / (dimensions + 1)
        turns = [wave(k * angle) for k in range(1, dimensions // 2 + 1) for wave in (np.cos, np.sin)]
        alternating = [np.cos((dimensions + 1) // 2 * angle) / np.sqrt(2)] if dimensions % 2 else []
        centres = np.stack(turns + alternating, 1)
    which = rng.integers(0, len(centres), n)
    return centres[which] + 0.15 * rng.standard_normal((n, dimensions))


def uniform(n: int, dimensions: int, rng: np.random.Generator) -> np.ndarray:
    return rng.uniform(-np.sqrt(3), np.sqrt(3), (n, dimensions))


def two_peaks(n: int, dimensions: int, rng: np.random.Generator) -> np.ndarray:
    """Gaussians of sd 0.3122 at -0.95 and 0.95 with equal weight: unit variance."""
    return 0.95 * rng.choice([-1.0, 1.0], (n, dimensions)) + 0.3122 * rng.standard_normal((n, dimensions))


def exponential(n: int, dimensions: int, rng: np.random.Generator) -> np.ndarray:
    return rng.exponential(1.0, (n, dimensions)) - 1


def logistic(n: int, dimensions: int, rng: np.random.Generator) -> np.ndarray:
    return rng.logistic(0.0, np.sqrt(3) / np.pi, (n, dimensions))


MANY = 1_000

SHAPES: dict[str, Shape] = {
    "ring": Shape(ring, (2, MANY), "a noisy circle, or shell"),
    "moons": Shape(moons, (2, 2), "two interleaved half circles"),
    "bowtie": Shape(bowtie, (2, MANY), "two triangles, or cones, that meet in a point"),
    "spiral": Shape(spiral, (2, 3), "two turns of a spiral, or helix"),
    "checkerboard": Shape(checkerboard, (2, MANY), "opposite cells of a square, or cube"),
    "clusters": Shape(clusters, (1, MANY), "clusters, one more than dimensions"),
    "uniform": Shape(uniform, (1, 1), "flat"),
    "two_peaks": Shape(two_peaks, (1, 1), "two Gaussian peaks"),
    "exponential": Shape(exponential, (1, 1), "one-sided tail"),
    "logistic": Shape(logistic, (1, 1), "heavy tails"),
}


def shape_named(name: str, dimensions: int) -> Shape:
    """The shape called `name`, if it can fill a group of this size."""
    if name not in SHAPES:
        raise ValueError(f"unknown shape {name!r}{nearest(name, SHAPES)}; there are {', '.join(SHAPES)}")
    low, high = SHAPES[name].dimensions
    if not low <= dimensions <= high:
        fitting = [other for other, shape in SHAPES.items() if shape.dimensions[0] <= dimensions <= shape.dimensions[1]]
        known = ", ".join(fitting) or "none"
        raise ValueError(f"shape {name!r} cannot fill a group of {dimensions}; these can: {known}")
    return SHAPES[name]
