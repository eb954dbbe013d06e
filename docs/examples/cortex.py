"""Cortex in independent groups: the pictures and numbers of cortex.md.

    python docs/examples/cortex.py ferret|mouse [--data FOLDER] [--out FOLDER] [--steps 1000]

FOLDER holds `ferret_vsd/ferret_vsd_25x25x977.npz` or `mouse_2p/mouse_2p_64x64x500.npz`; a few minutes each on a CPU.
"""

import argparse
import json
import os
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path

import matplotlib
import numpy as np
from PIL import Image, ImageDraw

import partita as pt

matplotlib.use("Agg")
from matplotlib import colormaps
from matplotlib import pyplot as plt

LATENTS = 12
DIVISIONS = (1, 2, 3, 4, 6, 12)
RESTARTS = (
    4  # of the model that is looked at; for the table of errors, where grouping hardly matters, one start will do
)
INK, BLUE, ORANGE, GREY = "#222222", "#0072B2", "#D55E00", "#8a8a8a"


@dataclass(frozen=True)
class Recording:
    """A movie as (pixels, time), scaled to standard deviation 1; where each pixel lies; what the animal did."""

    name: str
    x: np.ndarray
    places: np.ndarray
    field: tuple[int, int]
    unit: float
    behaviour: dict[str, np.ndarray] = field(default_factory=dict)

    def picture(self, values: np.ndarray) -> np.ndarray:
        """A value a pixel as an image, NaN where there is no pixel."""
        image = np.full(self.field, np.nan)
        image[tuple(self.places.T)] = values
        return image


def ferret(folder: Path) -> Recording:
    """Voltage-sensitive dye, already processed by its authors: used as it is."""
    movie = pt.data.load(folder / "ferret_vsd/ferret_vsd_25x25x977.npz", samples="pixels")
    x = movie.observations()
    return Recording("ferret", x / x.std(), movie.factors, movie.factor_sizes, float(x.std()))


def mouse(folder: Path) -> Recording:
    """Two-photon calcium: each pixel's change relative to its median; the darkest fifth of the field is left out."""
    path = folder / "mouse_2p/mouse_2p_64x64x500.npz"
    movie = pt.data.load(path, samples="pixels")
    brightness = movie.observations()
    baseline = np.median(brightness, 1, keepdims=True)
    bright = baseline[:, 0] >= np.quantile(baseline, 0.2)
    x = (brightness[bright] - baseline[bright]) / baseline[bright]
    with np.load(path, allow_pickle=False) as file:
        behaviour = {"running speed": file["running_speed"], "corridor position": file["corridor_position"]}
    return Recording("mouse", x / x.std(), movie.factors[bright], movie.factor_sizes, float(x.std()), behaviour)


def fitted(x: np.ndarray, latents: int, groups: int, steps: int, seed: int = 0, restarts: int = 1) -> pt.Disentangler:
    """x = A z + b + noise with `latents` latents in equal groups: PDisVAE with a linear decoder."""
    model = pt.Disentangler(
        "pdisvae",
        latents=latents,
        groups=(latents // groups,) * groups,
        network="linear",
        likelihood="gaussian",
        steps=steps,
        learning_rate=3e-3,
        seed=seed,
        options={"beta": 4.0, "restarts": restarts},
    )
    return model.fit(x)


def error(model: pt.Disentangler, x: np.ndarray) -> float:
    """Root mean squared error of the reconstruction."""
    return float(np.sqrt(np.mean((model.inverse_transform(model.transform(x)) - x) ** 2)))


def principal_error(x: np.ndarray, components: int) -> float:
    """The same of so many principal components: no linear model can do better."""
    values = np.linalg.svd(x - x.mean(0), compute_uv=False)
    return float(np.sqrt((values[components:] ** 2).sum() / x.size))


def maps_and_courses(model: pt.Disentangler, x: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Of each group its maps (pixels, H) and time courses (time, H), the groups that explain most first.

    A group is a subspace: inside it any axes are as good as any other. Those of largest variance are taken.
    """
    z = model.transform(x)
    z = z - z.mean(0)
    origin = model.inverse_transform(np.zeros((1, z.shape[1])))
    courses = (model.inverse_transform(np.eye(z.shape[1])) - origin).T
    found = []
    for group in model.groups_:
        own = list(group)
        left, size, right = np.linalg.svd(z[:, own] @ courses[:, own].T, full_matrices=False)
        rank, scale = len(own), np.sqrt(len(x))
        found.append((left[:, :rank] * scale, right[:rank].T * size[:rank] / scale))
    return sorted(found, key=lambda pair: -float((pair[1] ** 2).sum()))


def share(course: np.ndarray, x: np.ndarray) -> float:
    """Of the recording's variance, the part that a group (or one of its axes) carries."""
    return float((course**2).sum() / ((x - x.mean(0)) ** 2).sum() * len(x))


def found_again(pairs: list, others: list) -> list[float]:
    """Of each group's first map: R2 of its best linear prediction from the maps of one group of another fit."""
    best = []
    for maps, _ in pairs:
        best.append(max(multiple_correlation(other, maps[:, 0]) ** 2 for other, _ in others))
    return best


def multiple_correlation(courses: np.ndarray, behaviour: np.ndarray) -> float:
    """How well the best combination of a group's time courses follows the behaviour: R of a linear regression."""
    terms = np.column_stack([courses, np.ones(len(courses))])
    rest = behaviour - terms @ np.linalg.lstsq(terms, behaviour, rcond=None)[0]
    return float(np.sqrt(max(0.0, 1 - rest.var() / behaviour.var())))


def shifted_correlations(courses: np.ndarray, behaviour: np.ndarray, margin: int = 25) -> np.ndarray:
    """The same after turning the behaviour round in time: what two slow signals have in common by accident."""
    shifts = range(margin, len(behaviour) - margin)
    return np.array([multiple_correlation(courses, np.roll(behaviour, shift)) for shift in shifts])


def dependence(model: pt.Disentangler, x: np.ndarray) -> tuple[float, float]:
    """How dependent two groups are on each other: PC in nats, the mean over pairs of groups; and by chance.

    Of the standardised posterior means under one kernel width, so that models compare; chance is the same after the
    rows of the groups were permuted. Pairs, since the PC of all twelve latents at once saturates with so few pixels.
    """
    mean = model.transform(x).astype(np.float64)
    rng = np.random.default_rng(0)
    rows = np.sort(rng.permutation(len(mean))[:1000])
    mean = ((mean - mean.mean(0)) / mean.std(0))[rows]
    z = mean + 0.3 * rng.standard_normal(mean.shape)
    found = []
    for one, other in combinations(model.groups_, 2):
        both, sizes = [*one, *other], (len(one), len(other))
        arrays = (z[:, both], mean[:, both], np.full((len(rows), len(both)), 2 * np.log(0.3)))
        chance = pt.null_correlation(*arrays, groups=sizes, draws=5).mean["pc"]
        found.append((pt.correlation(*arrays, groups=sizes).pc, chance))
    pc, chance = np.mean(found, 0)
    return float(pc), float(chance)


def draw_groups(recording: Recording, pairs: list, path: Path) -> None:
    """A row a group: its maps, and its time courses in the colours of the maps' frames."""
    size = pairs[0][0].shape[1]
    layout = {"width_ratios": [1] * size + [3.2]}
    figure, rows = plt.subplots(
        len(pairs),
        size + 1,
        figsize=(2.6 + 1.6 * size + 2, 1.55 * len(pairs) + 0.7),
        layout="constrained",
        gridspec_kw=layout,
    )
    colours = (BLUE, ORANGE, "#009E73", "#CC79A7")
    for number, ((maps, courses), row) in enumerate(zip(pairs, rows)):
        for k in range(size):
            image = recording.picture(maps[:, k])
            row[k].imshow(image, cmap="RdBu_r", vmin=-3, vmax=3, interpolation="nearest")
            row[k].set(xticks=[], yticks=[])
            row[k].spines[:].set_color(colours[k % 4])
            row[-1].plot(courses[:, k], color=colours[k % 4], linewidth=0.9)
        row[0].set_ylabel(f"group {number + 1}\n{share(courses, recording.x):.1%}", color=INK)
        row[-1].spines[["top", "right"]].set_visible(False)
        row[-1].axhline(0, color=GREY, linewidth=0.5)
    rows[-1][-1].set_xlabel("frame")
    bar = figure.colorbar(rows[-1][0].images[0], ax=rows[:, :size], location="bottom", shrink=0.6, aspect=30, pad=0.01)
    bar.set_label("map, in its standard deviations")
    rows[0][0].set_title("maps", loc="left", fontsize=10)
    rows[0][-1].set_title("time courses (standard deviations of the recording)", loc="left", fontsize=10)
    _save(figure, path)


def draw_errors(errors: dict, path: Path) -> None:
    """Error against the number of groups for K=12, and against K where every latent is its own group."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(7.4, 2.8), layout="constrained", sharey=True)
    left.plot(range(len(DIVISIONS)), [errors[f"{LATENTS},{g}"] for g in DIVISIONS], "o-", color=BLUE)
    left.axhline(errors[f"pca {LATENTS}"], color=GREY, linestyle="dashed", label="12 principal components")
    left.set_xticks(range(len(DIVISIONS)), [f"{g} x {LATENTS // g}" for g in DIVISIONS])
    left.set(xlabel="groups x latents in each (K = 12)", ylabel="RMSE (sd of the recording)")
    right.plot(DIVISIONS, [errors[f"{k},{k}"] for k in DIVISIONS], "o-", color=ORANGE, label="K groups of one")
    right.plot(DIVISIONS, [errors[f"pca {k}"] for k in DIVISIONS], "--", color=GREY, label="K principal components")
    right.set_xlabel("number of latents K")
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False, fontsize=8)
    _save(figure, path)


def draw_behaviour(table: dict, path: Path) -> None:
    """Bars of R a group, and the band below which turned-round behaviour reaches 95 % of the time."""
    figure, panels = plt.subplots(1, len(table), figsize=(7.4, 2.6), layout="constrained", sharey=True)
    for axes, (name, rows) in zip(panels, table.items()):
        for number, row in enumerate(rows):
            axes.bar(number + 1, row["R"], color=BLUE if row["p"] < 0.05 else GREY, width=0.7)
            axes.plot([number + 0.6, number + 1.4], [row["chance 95 %"]] * 2, color=ORANGE, linewidth=2)
        axes.set(title=name, xlabel="group", ylim=(0, 1))
        axes.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("multiple correlation R")
    panels[0].plot([], [], color=ORANGE, linewidth=2, label="95 % of shifted behaviour")
    panels[0].legend(frameon=False, fontsize=8, loc="upper left")
    _save(figure, path)


def animate(recording: Recording, pairs: list, frames: range, smooth: int, scale: int, path: Path) -> None:
    """The recording (running mean), the sum of all groups, and each group alone, frame by frame."""
    x = recording.x - recording.x.mean(0)
    kernel = np.ones(smooth) / smooth
    alone = [maps @ courses.T for maps, courses in pairs]
    movies = [np.apply_along_axis(np.convolve, 1, x, kernel, "same"), sum(alone), *alone]
    names = ["recording", "all groups", *(f"group {number + 1}" for number in range(len(alone)))]
    most = float(np.quantile(np.abs(movies[1]), 0.995))
    pictures = []
    for frame in frames:
        tiles = [_tile(recording.picture(movie[:, frame]), most, scale) for movie in movies]
        pictures.append(_labelled(tiles, names, f"frame {frame}"))
    palette = Image.new("P", (1, 1))
    shades = [(255, 255, 255), (34, 34, 34), *_colours(np.linspace(0, 1, 120)).tolist()]
    palette.putpalette([value for shade in shades for value in shade])
    pictures = [picture.quantize(palette=palette, dither=Image.Dither.NONE) for picture in pictures]
    pictures[0].save(path, save_all=True, append_images=pictures[1:], duration=130, loop=0, optimize=True)


def _colours(unit: np.ndarray) -> np.ndarray:
    return (255 * colormaps["RdBu_r"](unit)[..., :3]).astype(np.uint8)


def _tile(image: np.ndarray, most: float, scale: int) -> np.ndarray:
    colour = _colours(np.nan_to_num(image / most, nan=0.0) / 2 + 0.5)
    colour[np.isnan(image)] = 255
    return np.kron(colour, np.ones((scale, scale, 1), np.uint8))


def _labelled(tiles: list[np.ndarray], names: list[str], title: str) -> Image.Image:
    height, width = tiles[0].shape[:2]
    columns, head, gap = 4, 16, 6
    lines = -(-len(tiles) // columns)
    page = Image.new("RGB", (columns * (width + gap), lines * (height + head + gap) + head), "white")
    pen = ImageDraw.Draw(page)
    pen.text((2, 1), title, fill="#555555")
    for number, (tile, name) in enumerate(zip(tiles, names)):
        left, top = number % columns * (width + gap), head + number // columns * (height + head + gap)
        pen.text((left + 2, top + 2), name, fill=INK)
        page.paste(Image.fromarray(tile), (left, top + head))
    return page


def _save(figure, path: Path) -> None:
    figure.savefig(path, dpi=130, metadata={"Software": None})
    plt.close(figure)


def all_errors(x: np.ndarray, steps: int, chosen: pt.Disentangler) -> dict[str, float]:
    """RMSE for K=12 in G groups, for K groups of one, and of principal components; `chosen` is K=12, G=6."""
    pairs = [(LATENTS, groups) for groups in DIVISIONS] + [(k, k) for k in DIVISIONS[:-1]]
    errors = {}
    for latents, groups in pairs:
        same = (latents, groups) == (LATENTS, len(chosen.groups_))
        errors[f"{latents},{groups}"] = error(chosen if same else fitted(x, latents, groups, steps), x)
        print(f"K={latents} G={groups}: RMSE {errors[f'{latents},{groups}']:.4f}", flush=True)
    return errors | {f"pca {k}": principal_error(x, k) for k in DIVISIONS}


def behaviour_table(recording: Recording, pairs: list) -> dict[str, list[dict[str, float]]]:
    table: dict[str, list[dict[str, float]]] = {}
    for name, values in recording.behaviour.items():
        for _, courses in pairs:
            found, null = multiple_correlation(courses, values), shifted_correlations(courses, values)
            row = {
                "R": found,
                "chance 95 %": float(np.quantile(null, 0.95)),
                "p": float((1 + (null >= found).sum()) / (1 + len(null))),
            }
            table.setdefault(name, []).append(row)
    return table


def analyse(recording: Recording, out: Path, steps: int = 1000) -> dict:
    """Everything on the page about one recording; returns its numbers."""
    out.mkdir(parents=True, exist_ok=True)
    x, name = recording.x, recording.name
    model, again = (fitted(x, LATENTS, LATENTS // 2, steps, seed, RESTARTS) for seed in (0, 1))
    entangled = fitted(x, LATENTS, 1, steps)
    pairs = maps_and_courses(model, x)
    entangled.groups_ = model.groups_  # the plain VAE's latents, cut into pairs as they come
    numbers = {
        "shape": list(x.shape),
        "unit": recording.unit,
        "shares": [share(courses, x) for _, courses in pairs],
        "PC, null": {"pdisvae": dependence(model, x), "vae": dependence(entangled, x)},
        "same groups from another seed, R2": pt.structure.align(
            model.transform(x), again.transform(x), model.groups_, again.groups_
        ).r2,
        "first map of each group found again, R2": found_again(pairs, maps_and_courses(again, x)),
        "errors": all_errors(x, steps, model),
        "behaviour": behaviour_table(recording, pairs),
    }
    draw_groups(recording, pairs, out / f"{name}_groups.png")
    draw_errors(numbers["errors"], out / f"{name}_errors.png")
    if recording.behaviour:
        draw_behaviour(numbers["behaviour"], out / f"{name}_behaviour.png")
    length = x.shape[1]
    step = max(1, length // 60)
    scale = max(1, 128 // recording.field[0])
    animate(recording, pairs, range(0, length, step), max(1, length // 100), scale, out / f"{name}_groups.gif")
    (out / f"{name}.json").write_text(json.dumps(numbers, indent=1) + "\n")
    return numbers


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("recording", choices=["ferret", "mouse"])
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("PARTITA_DATA", "data")))
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "figures")
    parser.add_argument("--steps", type=int, default=1000)
    arguments = parser.parse_args()
    recording = {"ferret": ferret, "mouse": mouse}[arguments.recording](arguments.data)
    print(json.dumps(analyse(recording, arguments.out, arguments.steps), indent=1))


if __name__ == "__main__":
    main()
