"""Spikes to a ring: the pictures and numbers of spikes.md.

    python docs/examples/spikes.py [--data FOLDER] [--out FOLDER] [--steps 5000]

FOLDER holds `head_direction/head_direction.npz`; about a minute on a CPU.
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
