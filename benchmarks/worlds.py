"""Worlds drawn at random from a seed, to find groups in: nobody chose them, so nobody can tune to them.

A family says how worlds are drawn; a world is its seed. See `bench_worlds.py` for what is done with them.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from partita.data import Dataset, load
from partita.data._mixing import mixing_named
from partita.data.shapes import SHAPES


@dataclass(frozen=True)
class Family:
    """How worlds are drawn, and what the model is told of them: `told` "sizes", "auto" (groups unknown, latents known),
    "two more" (groups unknown, latents two too many) or "nothing" (`latents="auto"` as well)."""

    name: str
    told: str = "sizes"
    condition: float | None = None  # None: a linear mixing
    latents: tuple[int, int] = (4, 16)
    groups: tuple[int, int] = (2, 8)
    checkerboards: bool = False  # of three and four dimensions: no pairwise dependence


FAMILIES = {
    family.name: family
    for family in (
        Family("linear"),
        Family("linear-K32", latents=(32, 32), groups=(8, 32)),
        Family("linear-checkerboards", checkerboards=True),
        Family("bent-3", condition=3.0),
        Family("bent-10", condition=10.0),
        Family("auto-linear", told="auto"),
        Family("auto-bent-3", told="auto", condition=3.0),
        Family("auto-bent-10", told="auto", condition=10.0),
        Family("two-more", told="two more"),
        Family("latents-unknown", told="nothing"),
    )
}


@dataclass(frozen=True)
class World:
    """A world of a family: `train` and `test` are rows of it, `told` the keywords that a `Disentangler` gets."""

    seed: int
    options: dict[str, Any]
    told: dict[str, Any]

    def rows(self, sample: int, size: int | None = None) -> Dataset:
        return load("groups", **self.options | {"sample": sample} | ({} if size is None else {"size": size}))


def draw(family: Family, seed: int) -> World:
    """The world of a family with this seed. Worlds of "linear" and "auto-linear" with one seed are the same."""
    rng = np.random.default_rng([seed, 20261116])
    while True:
        count = int(rng.integers(family.groups[0], family.groups[1] + 1))
        sizes = tuple(int(h) for h in rng.integers(1, 5, count))
        if family.latents[0] <= sum(sizes) <= family.latents[1] and max(sizes) > (2 if family.checkerboards else 1):
            break
    latents = sum(sizes)
    options = {
        "seed": seed,
        "groups": sizes,
        "shapes": tuple(_shape(h, family.checkerboards, rng) for h in sizes),
        "features": int(np.ceil(latents * rng.uniform(1.5, 4))),
        "size": int(np.exp(rng.uniform(np.log(1_000), np.log(10_000)))),
    }
    if family.condition is not None:
        options |= {"mixing": "nonlinear", "condition": family.condition}
    options["noise"] = _noise(options, 1 - rng.uniform(0.95, 0.99))
    told: dict[str, Any] = {
        "sizes": {"groups": sizes, "latents": latents},
        "auto": {"groups": "auto", "latents": latents},
        "two more": {"groups": "auto", "latents": latents + 2},
        "nothing": {"groups": "auto", "latents": "auto"},
    }[family.told]
    return World(seed, options, told)


def _shape(size: int, checkerboards: bool, rng: np.random.Generator) -> str:
    if checkerboards and size > 2:
        return "checkerboard"
    fitting = [name for name, shape in SHAPES.items() if shape.dimensions[0] <= size <= shape.dimensions[1]]
    return str(rng.choice([name for name in fitting if not (name == "checkerboard" and size > 2)]))


def _noise(options: dict[str, Any], lost: float) -> float:
    """The noise at which x leaves this share of the latents' variance unknown, by the Jacobian of the mixing: the mean
    over latents and rows of the diagonal of (J^T J / noise^2 + 1)^-1, solved by bisection."""
    latents, features = sum(options["groups"]), options["features"]
    bend = {"condition": options["condition"]} if "condition" in options else {}
    name = options.get("mixing", "linear")
    mixing = mixing_named(name, latents, features, np.random.default_rng([options["seed"], 0]), **bend)
    z = load("groups", **options | {"size": 64, "noise": 0.0}).truth
    assert z is not None
    steps = 1e-4 * np.eye(latents)
    slopes = np.stack([(mixing.mix(z + step) - mixing.mix(z - step)) / 2e-4 for step in steps], -1)
    values = np.linalg.eigvalsh(np.swapaxes(slopes, 1, 2) @ slopes)
    low, high = 1e-4, 1e3
    for _ in range(60):
        middle = np.sqrt(low * high)
        low, high = (middle, high) if (1 / (values / middle**2 + 1)).mean() < lost else (low, middle)
    return float(low)
