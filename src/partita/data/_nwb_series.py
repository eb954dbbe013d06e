"""Time series and units inside an NWB file."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from partita.data._h5_frame import numbers
from partita.data._hdf5 import inner_item
from partita.data._memory import check_fits

MOST_BESIDE, LONGEST_BESIDE = (
    8,
    10**7,
)  # numbers a sample, and samples, of a series that is kept beside the observations
BINS = "take longer bins, or cut with start= and stop="


@dataclass(frozen=True)
class Series:
    """A time series: its path, the shape of its data, and how its times are stored."""

    path: str
    shape: tuple[int, ...]
    kind: str
    timestamps: bool

    @property
    def beside(self) -> bool:
        """Whether it is of few numbers, as positions are."""
        width = self.shape[1] if len(self.shape) == 2 else 1 if len(self.shape) == 1 else MOST_BESIDE + 1
        return width <= MOST_BESIDE and 0 < self.shape[0] <= LONGEST_BESIDE and "Roi" not in self.kind

    def times(self, file: Any) -> np.ndarray:
        """Of the samples, in seconds."""
        if self.timestamps:
            times = numbers(file, f"{self.path}/timestamps").astype(np.float64)
            if times.shape != self.shape[:1]:
                raise ValueError(f"{self.path!r} has {self.shape[0]:,} samples and {times.shape} timestamps")
            return times
        check_fits(24 * self.shape[0], f"the times of {self.path!r}")
        begins = inner_item(file, f"{self.path}/starting_time")
        rate = float(begins.attrs.get("rate", 0))
        if not 0 < rate < np.inf:
            raise ValueError(f"{self.path!r} has a rate of {rate} samples a second")
        return float(begins[()]) + np.arange(self.shape[0]) / rate

    def at(self, file: Any, wanted: np.ndarray, name: str) -> dict[str, np.ndarray]:
        """Its numbers at the samples nearest to these times, NaN outside of them: a column for each."""
        times, values = self.times(file), numbers(file, f"{self.path}/data").astype(np.float64)
        known = np.isfinite(times)
        times, values = times[known], values[known]
        if not len(times) or (np.diff(times) < 0).any():
            return {}
        after = (
            np.clip(np.searchsorted(times, wanted), 1, max(1, len(times) - 1))
            if len(times) > 1
            else np.zeros(len(wanted), int)
        )
        before = np.maximum(after - 1, 0)
        nearest = np.where(wanted - times[before] <= times[after] - wanted, before, after)
        step = np.median(np.diff(times)) if len(times) > 1 else 0.0
        inside = (wanted >= times[0] - step) & (wanted <= times[-1] + step)
        table = np.where(inside[:, None], values[nearest].reshape(len(wanted), -1), np.nan)
        names = [name] if table.shape[1] == 1 else [f"{name} {k}" for k in range(table.shape[1])]
        return dict(zip(names, table.T))


def series_in(file: Any) -> dict[str, Series]:
    """Every time series of numbers that the file holds itself, by path, in order."""
    import h5py

    found: dict[str, Series] = {}

    def note(path: str, item: Any) -> None:
        data = item.get("data", getlink=True) if isinstance(item, h5py.Group) else None
        if not isinstance(data, h5py.HardLink) or not ("timestamps" in item or "starting_time" in item):
            return
        data = item["data"]
        if isinstance(data, h5py.Dataset) and data.shape and data.dtype.kind in "biuf" and 0 not in data.shape:
            kind = item.attrs.get("neurodata_type", "TimeSeries")
            kind = kind.decode() if isinstance(kind, bytes) else str(kind)
            found[path] = Series(path, data.shape, kind, "timestamps" in item)

    file.visititems(note)
    return found


def binned_units(
    file: Any, group: str, width: float, start: float | None, stop: float | None
) -> tuple[np.ndarray, list[str], np.ndarray]:
    """Spike counts (bins, units) in bins of `width` seconds, the names of the units, and the middle of each bin."""
    if not 0 < width < np.inf:
        raise ValueError(f"bin must be a number of seconds above 0, got {width}")
    times = numbers(file, f"{group}/spike_times").astype(np.float64).reshape(-1)
    ends = numbers(file, f"{group}/spike_times_index").astype(np.int64).reshape(-1)
    if not len(ends) or ends[0] < 0 or (np.diff(ends) < 0).any() or ends[-1] != len(times):
        raise ValueError(f"{group}/spike_times_index does not divide {len(times):,} spikes among units")
    if not np.isfinite(times).all():
        raise ValueError(f"{group}/spike_times holds NaN or infinite times")
    if not len(times) and (start is None or stop is None):
        raise ValueError("its units have no spikes")
    first = np.floor(times.min() / width) * width if start is None else float(start)
    last = times.max() if stop is None else float(stop)
    count = np.floor((last - first) / width) + (stop is None)
    if not count >= 1:
        raise ValueError(f"no bin of {width:g} s lies between {first:g} and {last:g} s")
    check_fits(20.0 * count * len(ends), f"{count:,.0f} bins of {len(ends):,} units", BINS)
    bins, units = int(count), np.repeat(np.arange(len(ends)), np.diff(ends, prepend=0))
    at = np.floor((times - first) / width)
    inside = (at >= 0) & (at < bins)
    flat = at[inside].astype(np.int64) * len(ends) + units[inside]
    counts = np.bincount(flat, minlength=bins * len(ends)).reshape(bins, len(ends)).astype(np.float32)
    names = numbers(file, f"{group}/id").reshape(-1) if f"{group}/id" in file else np.arange(len(ends))
    known = len(names) == len(ends)
    return (
        counts,
        [f"unit {name}" for name in (names if known else range(len(ends)))],
        first + width * (np.arange(bins) + 0.5),
    )
