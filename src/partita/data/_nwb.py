"""`.nwb`: recordings in Neurodata Without Borders, version 2, read through HDF5 alone."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from partita.data._card import FileCard
from partita.data._hdf5 import SMALLER, h5_rows
from partita.data._memory import check_fits
from partita.data._movies import check_samples
from partita.data._nearest import listed, nearest
from partita.data._npy import Header
from partita.data._nwb_series import Series, binned_units, series_in
from partita.data._reading import existing_file, reading
from partita.data.arrays import bytes_needed, columns_of, described, from_array
from partita.data.dataset import Dataset
from partita.data.rows import settled

CARD = FileCard(
    name="NWB",
    files=(".nwb",),
    becomes="units: a bin of time a row, spike counts; else the samples of a time series, or the frames of a movie",
    written_by="pynwb, matnwb, NeuroConv, DANDI",
)
UNITS = "units"
BIN = 0.1  # seconds


def load_nwb(
    path: Path,
    *,
    key: str | None = None,
    bin: float = BIN,
    start: float | None = None,
    stop: float | None = None,
    labels: Sequence[str] | str | None = None,
    samples: str | None = None,
    scale: float | None = None,
    stream: bool | None = None,
) -> Dataset:
    """Spike counts of all units in bins of `bin` seconds between `start` and `stop`; or with `key` a time series or
    movie, by its path or last name. Without units the only one is taken, dF/F before fluorescence.

    Other series of few numbers, such as positions, are kept as columns, each at its sample nearest in time (NaN before
    its first and after its last); `labels` names some of them.
    """
    import h5py

    check_samples(samples)
    path = existing_file(path)
    with reading(path), h5py.File(path, "r") as file:
        series = series_in(file)
        units = isinstance(file.get(UNITS), h5py.Group) and f"{UNITS}/spike_times" in file
        chosen = _chosen(key, series, units)
        options = {"key": key, "samples": samples, "scale": scale, "stream": stream}
        if chosen is None:
            x, names, times = binned_units(file, UNITS, bin, start, stop)
            options |= {"bin": bin, "start": start, "stop": stop}
        else:
            if start is not None or stop is not None:
                raise ValueError("start and stop cut the bins of units; a time series is read whole")
            x, names, times = _rows(path, chosen, samples, stream), (), chosen.times(file)
        columns = {"time": times} | _beside(file, series, chosen, times)
    with reading(path):
        return from_array(
            x,
            labels=columns_of(labels, lambda name: _labels(name, columns)),
            columns=columns,
            feature_names=names,
            samples=samples,
            layout="nchw",
            name=path.stem,
            scale=scale,
            description=described(path, options | {"labels": labels}),
        )


def _chosen(key: str | None, series: dict[str, Series], units: bool) -> Series | None:
    """The series to read; None for the units."""
    if (key is None and units) or (key == UNITS and units):
        return None
    if key is not None:
        found = [each for path, each in series.items() if key.strip("/") in (path, path.rpartition("/")[2])]
        if len(found) == 1:
            return found[0]
        there = [*([UNITS] if units else []), *series]
        several = "is the name of several" if found else f"is not there{nearest(key, there)}"
        raise ValueError(f"time series {key!r} {several}; the file has {listed(there)}")
    wide = [each for each in series.values() if len(each.shape) > 1 and not each.beside]
    for kind in ("DfOverF", "Fluorescence", ""):
        found = [each for each in wide if kind in each.path]
        if len(found) == 1:
            return found[0]
    there = (
        listed(f"{path} {each.shape}" for path, each in series.items()) if series else "neither units nor time series"
    )
    raise ValueError(f"what are the observations? Give key=...; the file has {there}")


def _rows(path: Path, chosen: Series, samples: str | None, stream: bool | None) -> Any:
    if len(chosen.shape) < 2:
        raise ValueError(
            f"{chosen.path!r} has one number a sample, and observations need several; name another by key="
        )
    rows = h5_rows(path, f"{chosen.path}/data")
    if samples != "pixels":
        return settled(rows, stream)
    check_fits(bytes_needed(Header(rows.dtype, rows.shape, False), samples), f"the movie {rows.shape}", SMALLER)
    return np.asarray(rows)


def _beside(file: Any, series: dict[str, Series], chosen: Series | None, times: np.ndarray) -> dict[str, np.ndarray]:
    """What other series say at these times, by their last names, or by their paths where two share one."""
    last = [path.rpartition("/")[2] for path in series]
    found = {}
    for path, each in series.items():
        name = path.rpartition("/")[2]
        if each is not chosen and each.beside:
            found |= each.at(file, times, name if last.count(name) == 1 else path)
    return found


def _labels(name: str, columns: dict[str, np.ndarray]) -> np.ndarray:
    if name not in columns:
        raise ValueError(
            f"no series {name!r} beside the observations{nearest(name, columns)}; there are {listed(columns)}"
        )
    if not np.isfinite(columns[name]).all():
        known = np.flatnonzero(np.isfinite(columns[name]))
        told = f"rows {known[0]} to {known[-1]}" if len(known) else "no row"
        raise ValueError(f"series {name!r} tells of {told} only; cut the others off with start= and stop=")
    return columns[name]
