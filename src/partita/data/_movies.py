"""Movies: each frame a sample, or each pixel's time course a sample (as for voltage imaging in the PDisVAE paper)."""

import numpy as np

SAMPLES = ("frames", "pixels")


def check_samples(samples: str | None) -> None:
    if samples is not None and samples not in SAMPLES:
        raise ValueError(f"samples must be 'frames' or 'pixels', got {samples!r}")


def pixel_courses(frames: np.ndarray, name: str) -> tuple[np.ndarray, np.ndarray, tuple[int, int]]:
    """Time courses (pixels, time) float32 of a movie (time, height, width), and the (row, column) of each.

    Pixels that never change (outside a round field of view, say) are left out: they carry nothing.
    """
    if frames.ndim == 4 and 1 in (frames.shape[1], frames.shape[3]):
        frames = frames[:, 0] if frames.shape[1] == 1 else frames[..., 0]
    if frames.ndim != 3:
        raise ValueError(f"{name}: samples='pixels' needs a movie (time, height, width), got shape {frames.shape}")
    if len(frames) < 2:
        raise ValueError(f"{name}: samples='pixels' needs at least 2 frames, got {len(frames)}")
    moving = (frames != frames[:1]).any(0)
    if not moving.any():
        raise ValueError(f"{name}: no pixel of the movie ever changes")
    places = np.argwhere(moving)
    return np.ascontiguousarray(frames[:, moving].T, dtype=np.float32), places, moving.shape
