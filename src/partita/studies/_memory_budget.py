"""What fits on the device: the data, models at once, ensembles side by side. Said in words before it is taken."""

import logging
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from partita.data import Dataset
from partita.studies.run import Run
from partita.training.disk import OnDisk
from partita.training.memory import FIXED, USABLE, bytes_a_model, free_bytes, in_words, models_that_fit

log = logging.getLogger("partita.memory")

# Ensembles that share a GPU at a time, each on a stream of its own.
SIDE_BY_SIDE = 8
# Of the device's free memory, what data may take; larger ones stay where they are and are read row by row.
SHARE_OF_DATA = 0.5
MODELS_AT_ONCE = {"cpu": 64, "cuda": 1024}


def data_on(dataset: Dataset, device: torch.device) -> Any:
    """The observations where training reads them: on a GPU as a whole where they fit."""
    x, free = dataset.x, free_bytes(device)
    if free is None or not isinstance(x, np.ndarray):
        return x
    if x.nbytes > SHARE_OF_DATA * free:
        log.info("%s of data stay in memory: %s are free on %s", in_words(x.nbytes), in_words(free), device)
        return OnDisk(x, device)
    return torch.tensor(x, device=device)


@dataclass(frozen=True)
class MemoryBudget:
    """The memory for models on a device that holds `size` rows of data already; `most` models at once are wanted."""

    size: int
    device: torch.device
    most: int | None = None

    def models(self, run: Run) -> int:
        """How many models like this run's train at once; ValueError where not one does."""
        limit = min(MODELS_AT_ONCE[self.device.type], self.most or math.inf)
        fitting = [
            models_that_fit(candidate.recipe, self.size, run.batch_size, self.device, int(limit))
            for candidate in run.program.candidates
        ]
        return min(fitting)

    def ensembles(self, companies: Sequence[Sequence[Run]]) -> int:
        """How many of these ensembles train side by side: all that the list begins with where they fit together."""
        if self.device.type == "cpu" or not companies:
            return 1
        sizes = [len(runs) * runs[0].program.at_once * self._each(runs[0]) for runs in companies]
        free = free_bytes(self.device) or 0
        together = sum(sorted(sizes)[-SIDE_BY_SIDE:]) + FIXED
        at_once = min(SIDE_BY_SIDE, len(companies)) if together < USABLE * free else 1
        most = together if at_once > 1 else max(sizes) + FIXED
        log.info("predicted peak memory %s, %s are free on %s", in_words(most), in_words(free), self.device)
        return at_once

    def _each(self, run: Run) -> int:
        candidates = run.program.candidates
        return max(bytes_a_model(each.recipe, self.size, run.batch_size, self.device) for each in candidates)


def say_peak(device: torch.device) -> None:
    if device.type == "cuda":
        log.info("peak memory was %s", in_words(torch.cuda.max_memory_allocated(device)))
