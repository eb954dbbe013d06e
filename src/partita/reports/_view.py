"""A trained run opened for looking, and what a figure of the page consists of."""

from dataclasses import dataclass
from functools import partial

from partita.data import Dataset
from partita.plot._opened import Opened, opened
from partita.reports._pictures import Picture
from partita.reports.study import Record
from partita.studies import Store
from partita.studies._seen import beside_of


@dataclass(frozen=True)
class Block:
    """A figure of the page: pictures that may wrap, one caption, and whether the colours of the settings matter."""

    title: str
    pictures: tuple[Picture, ...]
    caption: str
    legend: bool = False


@dataclass(frozen=True)
class View:
    """A run, its data, and its model beside them, as `partita.plot` draws it."""

    dataset: Dataset
    record: Record
    seen: Opened

    @property
    def is_movie(self) -> bool:
        options = dict(self.dataset.description.get("options", {}))
        return self.dataset.places is not None or (self.seen.is_image and options.get("samples") == "frames")

    @property
    def has_bound(self) -> bool:
        """Whether the model is one of the observations, rather than a game's."""
        return getattr(self.seen.model, "has_bound", True)

    @property
    def several(self) -> list[tuple[int, ...]]:
        """Groups of two latents or more."""
        return [group for group in self.seen.groups if len(group) > 1]


def look_at(store: Store, dataset: Dataset, record: Record) -> View:
    model = store.model(record.run, dataset.x_scale)
    groups = record.alignment["groups"] if record.alignment else None
    known = partial(beside_of, record.run, dataset)
    return View(dataset, record, opened(model, dataset, groups, known))
