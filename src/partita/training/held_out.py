"""Rows that no model was trained on, looked at at every log point; and the weights that did best there."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.func import vmap

from partita.training.capture import recorded
from partita.training.draws import seed_of
from partita.training.objective import objective, values_at
from partita.training.weighted import in_proportion

# Rows looked at: a batch for so many steps, so that a look costs about a hundredth of the steps it is about.
STEPS_A_BATCH = 50


class HeldOut:
    """What the first player's measures say of the rows held out for judging, always with the same noise, and at the
    weights where schedules end: so one look compares with another.

    With `keep_best`, the parameters with the lowest loss so far are kept (or with the best bound of those that
    reconstruct no worse than the first look, `HoldOut.by`), each model's own. A model that finds nothing better for
    `patience` looks in a row has stopped: what becomes of it after that is forgotten, while its neighbours go on.
    """

    def __init__(self, ensemble: Any, log_every: int, *, keep_best: bool, patience: int | None):
        self.ensemble, self.keep_best, self.patience = ensemble, keep_best, patience
        device, models = ensemble.device, len(ensemble.seeds)
        self.rows = ensemble.observe(self._chosen(log_every))
        noise = [self._noise(seed) for seed in ensemble.seeds]
        self.noise = torch.stack(noise).to(device)
        ends = [values_at(recipe, float("inf")) for recipe in ensemble.recipes]
        self.values = torch.tensor(ends, device=device, dtype=torch.float32)
        self._look = vmap(
            partial(objective, ensemble.recipe, 0, ensemble.modules, ensemble.size), in_dims=(0, 0, None, 0, 0)
        )
        with torch.no_grad():
            self.names = [f"held_out_{name}" for name in self._quantities()[1]]
        self.by_bound = ensemble.judged_by == "bound"
        judged = ("held_out_recon", "held_out_kl") if self.by_bound else self.names[:1]
        self.judged = [self.names.index(name) for name in judged]
        self.best_loss, self.first_recon = (
            torch.full((models,), torch.inf, device=device, dtype=torch.float32) for _ in range(2)
        )
        self.best_step, self.stale, self.stopped_at = (
            torch.zeros(models, dtype=torch.long, device=device) for _ in range(3)
        )
        self.best = {name: p.detach().clone() for name, p in ensemble.parameters.items()} if keep_best else {}
        self.step = torch.zeros((), dtype=torch.long, device=device)
        self._replay: Callable[[], Tensor] | None = None
        self._all_stopped: bool | None = None  # known only after a look: asking the device takes time
        if self.by_bound and keep_best and ensemble.step == ensemble.began:
            self.look()  # a start that is good already is to be beaten

    def look(self) -> np.ndarray:
        """(quantities, E), and takes note of them."""
        self.step.fill_(self.ensemble.step)
        with torch.no_grad():
            *found, stopped = self._found().cpu()
        self._all_stopped = self.patience is not None and bool((stopped > 0).all())
        return torch.stack(found).numpy()

    @property
    def all_stopped(self) -> bool:
        if self._all_stopped is None:
            self._all_stopped = self.patience is not None and bool((self.stopped_at > 0).all())
        return self._all_stopped

    def state(self) -> dict[str, Tensor]:
        if not self.keep_best:
            return {}
        kept = {"loss": self.best_loss, "step": self.best_step, "stale": self.stale, "stopped": self.stopped_at}
        kept |= {"first_recon": self.first_recon} if self.by_bound else {}
        return {f"best/{name}": p for name, p in self.best.items()} | {f"held_out/{n}": v for n, v in kept.items()}

    def _note(self, judged: Tensor) -> None:
        going, loss = self.stopped_at == 0, judged.sum(0)
        better = going & (loss < self.best_loss)
        if self.by_bound:
            self.first_recon.copy_(torch.where(self.first_recon.isinf(), judged[0], self.first_recon))
            better &= judged[0] <= self.first_recon
        for name, kept in self.best.items():
            mask = better.view(-1, *[1] * (kept.dim() - 1))
            kept.copy_(torch.where(mask, self.ensemble.parameters[name].detach(), kept))
        self.best_loss.copy_(torch.where(better, loss, self.best_loss))
        self.best_step.copy_(torch.where(better, self.step, self.best_step))
        self.stale.copy_(torch.where(better, 0, self.stale + going.long()))
        if self.patience is not None:
            self.stopped_at.copy_(torch.where(going & (self.stale >= self.patience), self.step, self.stopped_at))

    def _found(self) -> Tensor:
        """(quantities and where each model stopped, E). On a GPU by one graph, which reads the parameters where they
        are; recording it looks several times, of which nothing is kept."""
        if self.ensemble.device.type != "cuda" or self.ensemble.ranks.size > 1:
            return self._looked()
        if self._replay is None:
            before = {name: value.clone() for name, value in self.state().items()}
            self._replay = recorded(self._looked)
            for name, value in self.state().items():
                value.copy_(before[name])
        return self._replay()

    def _looked(self) -> Tensor:
        found = torch.stack(list(self._quantities()[1].values()))
        self.ensemble.ranks.share([found])  # what is decided by it is decided alike
        if self.keep_best:
            self._note(found[self.judged])
        return torch.cat([found, self.stopped_at.to(found).unsqueeze(0)])

    def _quantities(self) -> tuple[Tensor, dict[str, Tensor], dict[str, Tensor]]:
        ensemble = self.ensemble
        return self._look(ensemble.parameters, ensemble.carried.overview(), self.rows, self.noise, self.values)

    def _chosen(self, log_every: int) -> Tensor:
        """All rows held out, or as many as the steps between two looks are worth, spread evenly over them."""
        rows, batch = self.ensemble.split.judging, self.ensemble.draws.batch_size
        most = max(2, min(len(rows), batch * max(1, log_every // STEPS_A_BATCH), self.ensemble.size))
        chosen = rows[np.linspace(0, len(rows) - 1, most).round().astype(int)]
        if self.ensemble.weight is not None:
            chosen = rows[in_proportion(self.ensemble.weight.cpu()[rows], most).numpy()]
        return torch.as_tensor(chosen, device=self.ensemble.device)

    def _noise(self, seed: int) -> Tensor:
        generator = torch.Generator().manual_seed(seed_of(seed, "held out"))
        columns = sum(self.ensemble.recipe.noise.values())  # no keys for dropout, so nothing is dropped
        return torch.randn(len(self.rows["x"]), columns, generator=generator, dtype=torch.float32)
