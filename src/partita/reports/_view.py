"""A trained model opened for looking, and what a figure of the page consists of."""

from dataclasses import dataclass

import numpy as np

from partita.data import Dataset
from partita.data._some_rows import some_rows
from partita.measures.gaussian import kl_of_latents
from partita.plot._style import Picture
from partita.reports.study import Record
from partita.studies import Store
from partita.training import Model

ROWS_DRAWN = 2000


@dataclass(frozen=True)
class Block:
    """A figure of the page: pictures that may wrap, one caption, and whether the colours of the settings matter."""

    title: str
    pictures: tuple[Picture, ...]
    caption: str
    legend: bool = False


@dataclass(frozen=True)
class View:
    """A trained model and what the pictures need of it. `used` is the mean KL of each latent, nats."""

    dataset: Dataset
    model: Model
    record: Record
    groups: tuple[tuple[int, ...], ...]
    rows: np.ndarray
    means: np.ndarray
    used: np.ndarray

    @property
    def latents(self) -> int:
        return self.means.shape[1]

    @property
    def is_image(self) -> bool:
        return len(self.dataset.shape) == 3

    @property
    def pairs(self) -> list[tuple[int, ...]]:
        return [group for group in self.groups if len(group) == 2]

    @property
    def typical(self) -> int:
        """Of the rows drawn, the one whose code is nearest to 0: a place to stand that the decoder has seen, which 0
        itself need not be."""
        return int((self.means**2).sum(1).argmin())

    def span(self) -> tuple[float, float]:
        """The darkest and the brightest value among the rows drawn."""
        seen = self.dataset.observations(self.rows)
        return float(seen.min()), float(seen.max())


def look_at(store: Store, dataset: Dataset, record: Record) -> View:
    model = store.model(record.run, dataset.x_scale)
    rows = some_rows(dataset.size, ROWS_DRAWN)
    means, log_variances = model.posterior(np.asarray(dataset.x[rows]))
    used = kl_of_latents(means, log_variances)
    groups = record.alignment["groups"] if record.alignment else model.recipe.groups
    return View(dataset, model, record, tuple(tuple(group) for group in groups), rows, means, used)
