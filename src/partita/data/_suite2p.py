"""A suite2p folder: traces of the cells that were accepted. `stat.npy` and `ops.npy` hold Python objects, which are
never unpickled; F.npy, Fneu.npy, spks.npy and iscell.npy are plain arrays."""

from pathlib import Path

import numpy as np

from partita.data._card import FileCard
from partita.data._npy import Header, read_npy
from partita.data._reading import reading
from partita.data.arrays import described, from_array
from partita.data.dataset import Dataset

CARD = FileCard(
    name="suite2p",
    files=(),
    becomes="a frame a row, a feature for each accepted cell of all planes: fluorescence less neuropil",
    written_by="suite2p",
)
SIGNALS = ("F", "spks")
NEUROPIL = 0.7  # the share of the surroundings' fluorescence that suite2p takes off by default


def planes_of(path: Path) -> list[Path]:
    """The folders with traces: this one, its planes, or those of the folder suite2p in it."""
    for folder in (path, path / "suite2p"):
        for found in ([folder], sorted(folder.glob("plane[0-9]*"), key=lambda plane: (len(plane.name), plane.name))):
            planes = [plane for plane in found if any((plane / f"{signal}.npy").is_file() for signal in SIGNALS)]
            if planes:
                return planes
    return []


def load_suite2p(
    path: Path, *, signal: str = "F", neuropil: float = NEUROPIL, accepted: bool = True, scale: float | None = None
) -> Dataset:
    """Traces of a suite2p folder (one with plane0, or a plane's own): frames are rows, cells features.

    `signal` is "F", fluorescence less `neuropil` times that of the surroundings (Fneu.npy, where it is there), or
    "spks", the deconvolved one. `accepted=False` takes all regions, not only those that iscell.npy calls cells.
    """
    if signal not in SIGNALS:
        raise ValueError(f"{path}: signal must be {' or '.join(map(repr, SIGNALS))}, got {signal!r}")
    parts, names = [], []
    for plane in planes_of(path):
        traces, cells = _traces(plane, signal, neuropil, accepted)
        parts.append(traces)
        names += [f"{plane.name} {cell}" for cell in cells]
    frames = min((len(part) for part in parts), default=0)  # planes may differ by a frame
    if not names or not frames:
        raise ValueError(f"{path}: no cell is left; accepted=false takes all regions")
    return from_array(
        np.concatenate([part[:frames] for part in parts], 1),
        feature_names=names,
        name=path.name,
        scale=scale,
        description=described(path, {"signal": signal, "neuropil": neuropil, "accepted": accepted, "scale": scale}),
    )


def _traces(plane: Path, signal: str, neuropil: float, accepted: bool) -> tuple[np.ndarray, np.ndarray]:
    """Traces (frames, cells) of a plane, and the numbers of these cells."""
    file = plane / f"{signal}.npy"
    traces = read_npy(file, _thrice)
    with reading(file):
        if traces.ndim != 2 or traces.dtype.kind != "f":
            raise ValueError(f"traces (cells, frames) were expected, found {traces.dtype} {traces.shape}")
    cells = np.arange(len(traces))
    judged = plane / "iscell.npy"
    if accepted and judged.exists():
        said = read_npy(judged)
        with reading(judged):
            if said.ndim not in (1, 2) or len(said) != len(traces) or said.dtype.kind not in "biuf":
                raise ValueError(f"says {said.shape} of the {len(traces)} regions of {file.name}")
        cells = np.flatnonzero(said if said.ndim == 1 else said[:, 0])
    around = plane / "Fneu.npy"
    chosen = traces[cells]
    if signal == "F" and neuropil and around.exists():
        surroundings = read_npy(around, _thrice)
        with reading(around):
            if surroundings.shape != traces.shape or surroundings.dtype.kind != "f":
                raise ValueError(f"has shape {surroundings.shape}, and {file.name} has {traces.shape}")
        with np.errstate(over="ignore", invalid="ignore"):  # refused below as what is no number
            chosen = chosen - np.asarray(neuropil, chosen.dtype) * surroundings[cells]
    return chosen.T, cells


def _thrice(header: Header) -> int:
    return 3 * header.nbytes
