"""Spikes to a ring: the pictures and numbers of spikes.md.

    python docs/examples/spikes.py [--data FOLDER] [--out FOLDER] [--steps 5000]

FOLDER holds `head_direction/head_direction.npz`; some minutes on a CPU.
"""

import argparse
import json
import os
from dataclasses import dataclass
from pathlib import Path

import matplotlib
import numpy as np

import partita as pt

matplotlib.use("Agg")
from matplotlib import pyplot as plt

BIN = 0.1  # seconds
SMOOTHED_OVER = 0.2
WINDOW = 5  # bins
NEIGHBOURS, BLOCKS, ANGLES = 30, 10, 36
REGIONS = ("thalamus", "CA1")
INK, BLUE, ORANGE, GREY = "#222222", "#0072B2", "#D55E00", "#8a8a8a"


@dataclass(frozen=True)
class Recording:
    """Spike counts (bins, neurons), where each neuron lies, and where the animal's head points, radians."""

    counts: np.ndarray
    region: np.ndarray
    direction: np.ndarray

    def smoothed(self) -> np.ndarray:
        """Square roots of rates smoothed over 0.2 s, which makes their noise alike; each neuron standardised."""
        from scipy.ndimage import gaussian_filter1d

        rates = np.sqrt(gaussian_filter1d(self.counts.astype(float), SMOOTHED_OVER / BIN, axis=0))
        return (rates - rates.mean(0)) / rates.std(0)

    def counts_in_windows(self, bins: int = WINDOW) -> np.ndarray:
        """Counts in a window of 0.5 s around each bin: whole numbers still."""
        window = np.ones(bins, int)
        return np.stack([np.convolve(each, window, "same") for each in self.counts.astype(int).T], 1)


def recording(path: Path) -> Recording:
    with np.load(path, allow_pickle=False) as file:
        return Recording(file["counts"], file["region"], file["direction"])


def decoded(codes: np.ndarray, direction: np.ndarray) -> float:
    """R2 of the angle's cosine and sine from the nearest neighbours in other blocks of time."""
    from sklearn.neighbors import KNeighborsRegressor

    truth = np.column_stack([np.cos(direction), np.sin(direction)])
    told = np.empty_like(truth)
    for block in np.array_split(np.arange(len(codes)), BLOCKS):
        others = np.setdiff1d(np.arange(len(codes)), block)
        told[block] = KNeighborsRegressor(NEIGHBOURS).fit(codes[others], truth[others]).predict(codes[block])
    return float(1 - np.square(truth - told).sum() / np.square(truth - truth.mean(0)).sum())


def tuning(rates: np.ndarray, angle: np.ndarray, angles: int = ANGLES) -> np.ndarray:
    """Mean rate of each neuron in each of so many directions, (angles, neurons), smoothed round the circle."""
    place = (np.mod(angle, 2 * np.pi) / (2 * np.pi) * angles).astype(int) % angles
    found = np.stack([np.bincount(place, each, angles) for each in rates.T], 1)
    found = found / np.maximum(np.bincount(place, minlength=angles), 1)[:, None]
    return (np.roll(found, 1, 0) + 2 * found + np.roll(found, -1, 0)) / 4


def angle_of(codes: np.ndarray, direction: np.ndarray) -> np.ndarray:
    """The angle of places around the middle of a ring; turned, and mirrored where needed, to fit the head's on the
    whole: of a ring nobody can tell where it begins and which way it goes."""
    centred = codes - codes.mean(0)
    values, vectors = np.linalg.eigh(np.cov(centred.T))
    white = centred @ vectors / np.sqrt(values)
    best = None
    for way in (1, -1):
        angle = np.arctan2(way * white[:, 1], white[:, 0])
        off = np.mean(np.exp(1j * (direction - angle)))
        if best is None or abs(off) > best[0]:
            best = abs(off), angle + np.angle(off)
    assert best is not None
    return np.mod(best[1], 2 * np.pi)


def apart(found: np.ndarray, direction: np.ndarray) -> np.ndarray:
    """Degrees between two angles, 0 to 180."""
    return np.abs(np.rad2deg(np.angle(np.exp(1j * (found - direction)))))


def draw_ring(model: pt.Disentangler, x: np.ndarray, direction: np.ndarray, path: Path) -> None:
    """Both groups, coloured by the direction of the head, which nobody told the model. Angles want a round colour map,
    and axes one panel each."""
    figure = pt.plot.groups(model, x, colour=np.rad2deg(direction), label="head direction (degrees)")
    for axes in figure.axes:
        for dots in axes.collections:
            dots.set_cmap("twilight")
    _save(figure, path)


def draw_tuning(recorded: Recording, ring: np.ndarray, path: Path) -> None:
    """A neuron a panel: its rate by the direction of the head, and by the angle on the ring."""
    rates = recorded.counts / BIN
    curves = tuning(rates, recorded.direction), tuning(rates, ring)
    degrees = (np.arange(ANGLES) + 0.5) * 360 / ANGLES
    figure, panels = plt.subplots(3, 5, figsize=(9.2, 5.0), layout="constrained", sharex=True)
    for neuron, axes in enumerate(panels.flat):
        axes.plot(degrees, curves[0][:, neuron], color=GREY, linewidth=2.4, label="head")
        axes.plot(degrees, curves[1][:, neuron], color=ORANGE, linewidth=1.2, label="ring")
        axes.set_title(f"{neuron}, {REGIONS[recorded.region[neuron]]}", fontsize=9, loc="left")
        axes.set(ylim=(0, None), xticks=(0, 180, 360))
        axes.spines[["top", "right"]].set_visible(False)
    for axes in panels[:, 0]:
        axes.set_ylabel("spikes / s")
    for axes in panels[-1]:
        axes.set_xlabel("angle (degrees)")
    panels[0, 0].legend(frameon=False, fontsize=8)
    _save(figure, path)


def _save(figure, path: Path) -> None:
    figure.savefig(path, dpi=130, metadata={"Software": None})
    plt.close(figure)


def analyse(recorded: Recording, out: Path, steps: int = 5000) -> dict:
    """Everything on the page; returns its numbers."""
    out.mkdir(parents=True, exist_ok=True)
    x = recorded.smoothed()
    model = pt.Disentangler(groups=(2, 2), steps=steps).fit(x)
    z = model.transform(x)
    scores = [decoded(z[:, group], recorded.direction) for group in model.groups_]
    ring = int(np.argmax(scores))
    angle = angle_of(z[:, model.groups_[ring]], recorded.direction)
    off = apart(angle, recorded.direction)
    rates = recorded.counts / BIN
    alike = [
        float(np.corrcoef(a, b)[0, 1]) for a, b in zip(tuning(rates, recorded.direction).T, tuning(rates, angle).T)
    ]
    verdict = model.diagnose(x, time=True)
    numbers = {
        "rows, neurons": list(x.shape),
        "decoding R2, all neurons": decoded(x, recorded.direction),
        "decoding R2, ring": scores[ring],
        "decoding R2, other group": scores[1 - ring],
        "degrees off, median": float(np.median(off)),
        "tuning curves alike, R, thalamus": [r for r, where in zip(alike, recorded.region) if where == 0],
        "verdict": verdict.verdict,
        "reasons": list(verdict.reasons),
    }
    draw_ring(model, x, recorded.direction, out / "spikes_ring.png")
    draw_tuning(recorded, angle, out / "spikes_tuning.png")
    (out / "spikes.json").write_text(json.dumps(numbers, indent=1) + "\n")
    return numbers


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("PARTITA_DATA", "data")))
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "figures")
    parser.add_argument("--steps", type=int, default=5000)
    arguments = parser.parse_args()
    recorded = recording(arguments.data / "head_direction/head_direction.npz")
    print(json.dumps(analyse(recorded, arguments.out, arguments.steps), indent=1))


if __name__ == "__main__":
    main()
