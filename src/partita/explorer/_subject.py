"""One model opened for looking: what is decoded, encoded and pointed at."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import RLock
from typing import Any

import numpy as np
import torch

from partita.distributions import Groups
from partita.explorer._rows import Rows
from partita.explorer._uploads import read_observation
from partita.training import Model

MOST_AT_ONCE = 64  # codes decoded in one go
FAR = 100.0  # of a latent: nobody drags that far, and what is decoded there says nothing


@dataclass(frozen=True, eq=False)
class Subject:
    """A trained model beside its rows. Either may be missing, and `problem` says why: words are shown in its place.

    `history` is what was logged, `scores` what `partita evaluate` stored, `judge` says the diagnosis where none is
    stored. `covariates` are named where the model sees some: it is shown with average ones.
    """

    id: str
    method: str
    title: str
    model: Model | None = None
    rows: Rows | None = None
    problem: str | None = None
    history: Mapping[str, np.ndarray] = field(default_factory=dict)
    scores: Mapping[str, Any] = field(default_factory=dict)
    judge: Callable[[], Mapping[str, Any] | None] = lambda: None
    covariates: tuple[str, ...] = ()
    exposure: str | None = None
    feature_names: tuple[str, ...] = ()
    lock: Any = field(default_factory=RLock)

    @property
    def groups(self) -> Groups:
        return () if self.model is None else self.model.recipe.groups

    @property
    def latents(self) -> int:
        return 0 if self.model is None else self.model.recipe.architecture.latents

    @property
    def shape(self) -> tuple[int, ...]:
        return () if self.model is None else tuple(self.model.recipe.architecture.shape)

    @property
    def encodes(self) -> bool:
        """Whether a file that somebody drops can be encoded: an exposure would have to come with it."""
        return self.model is not None and self.exposure is None

    @cached_property
    def posterior(self) -> tuple[np.ndarray, np.ndarray]:
        """Means and log-variances of the rows that are points, (n, K) each; empty without rows."""
        if self.model is None or self.rows is None:
            return np.zeros((0, self.latents)), np.zeros((0, self.latents))
        return self.rows.encode(self.rows.drawn)

    def points(self) -> tuple[np.ndarray, np.ndarray]:
        """Codes (n, K) and columns (n, F), float32."""
        with self.lock:
            codes = self.posterior[0].astype(np.float32)
        if self.rows is None or not self.rows.columns:
            return codes, np.zeros((len(codes), 0), np.float32)
        columns = [column.values[self.rows.drawn].astype(np.float32) for column in self.rows.columns]
        return codes, np.stack(columns, 1)

    def codes(self, body: bytes) -> np.ndarray:
        """Rows of float32 numbers as codes (n, K); ValueError where they are none."""
        width = 4 * self.latents
        if not width or not body or len(body) % width or len(body) > width * MOST_AT_ONCE:
            raise ValueError(
                f"codes must be 1 to {MOST_AT_ONCE} rows of {self.latents} float32 numbers, got {len(body)} bytes"
            )
        return np.frombuffer(body, "<f4").reshape(-1, self.latents).astype(np.float64)

    def decode(self, z: np.ndarray) -> np.ndarray:
        """E[x|z] in the units of the data, (n, *shape) float32; ValueError where these are no codes of the model."""
        if self.model is None:
            raise ValueError(self.problem or f"{self.id} has no model to decode with")
        if z.ndim != 2 or z.shape[1] != self.latents or not 1 <= len(z) <= MOST_AT_ONCE:
            raise ValueError(f"codes must be (1 to {MOST_AT_ONCE}, {self.latents}), got {z.shape}")
        if not np.isfinite(z).all():
            raise ValueError("codes must be finite numbers")
        with torch.inference_mode():
            decoded = self.model.decode(np.clip(z, -FAR, FAR))
        return np.asarray(decoded / self.model.x_scale, np.float32)

    def observation(self, point: int) -> np.ndarray:
        """The observation that a point is the code of; ValueError where there is no such point."""
        if self.rows is None or not 0 <= point < len(self.rows.drawn):
            raise ValueError(f"there is no point {point}")
        return self.rows.observed(self.rows.drawn[point : point + 1])[0]

    def encode_file(self, content: bytes, name: str) -> dict[str, Any]:
        """The posterior of what a file holds, and how the model was shown it; ValueError in words otherwise."""
        if self.model is None or not self.encodes:
            raise ValueError(
                self.problem or f"{self.id} is told an exposure ({self.exposure}) with each row, which a file lacks"
            )
        top = 255 if self.model.x_scale != 1.0 else 1  # of a pixel in the data's own units
        with TemporaryDirectory() as folder:
            x = read_observation(Path(folder), content, name, self.shape, self.feature_names, top)
        with torch.inference_mode():
            mean, log_variance = self.model.posterior(x[None])
        return {"mean": mean[0], "log_variance": log_variance[0], "shown": x.reshape(-1)}
