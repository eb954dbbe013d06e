"""Where an ensemble stands, kept so that it goes on after anything that may happen to the process."""

import logging
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from partita.training.ensemble import Ensemble
from partita.training.files import read_tensors, write_tensors
from partita.training.history import History

log = logging.getLogger("partita")


@dataclass(frozen=True)
class Checkpoints:
    """The newest checkpoint of one ensemble and the one before it, in `folder`.

    `members` say whose state it is: a checkpoint of other runs is refused. Both files are whole or absent; when the
    newest cannot be read, the previous one is used.
    """

    folder: Path
    members: tuple[str, ...]

    @property
    def newest(self) -> Path:
        return self.folder / "newest.safetensors"

    @property
    def previous(self) -> Path:
        return self.folder / "previous.safetensors"

    def save(self, ensemble: Ensemble, history: History) -> None:
        about = {"step": ensemble.step, "members": list(self.members), "names": history.names, "steps": history.steps}
        fresh = self.folder / "fresh.safetensors"
        values = torch.as_tensor(history.values())
        write_tensors(fresh, "checkpoint", ensemble.state() | {"history": values}, about)
        if self.newest.exists():
            os.replace(self.newest, self.previous)
        os.replace(fresh, self.newest)

    def restore(self, ensemble: Ensemble, history: History) -> bool:
        """Puts the ensemble where the best checkpoint was; False when there is none to use."""
        for path in (self.newest, self.previous):
            try:
                tensors, about = read_tensors(path, "checkpoint")
                self._check(path, about, tensors, ensemble)
            except FileNotFoundError:
                continue
            except ValueError as error:
                log.warning("%s; trying the one before it", error)
                continue
            history.restore(about["steps"], tensors.pop("history").numpy(), about["names"])
            ensemble.load_state(tensors, about["step"])
            return True
        return False

    def phase(self, number: int, phases: int) -> "Checkpoints":
        """Those of one phase of the same runs: of the last these, of the one before it those in "warm", and so on."""
        return self if number == phases - 1 else self._in("warm").phase(number, phases - 1)

    def candidate(self, number: int) -> "Checkpoints":
        """Those of one candidate of the same runs."""
        return self._in(f"candidate-{number}") if number else self

    def _in(self, name: str) -> "Checkpoints":
        return Checkpoints(self.folder / name, self.members)

    def _nested(self) -> list[str]:
        return [path.name for path in sorted(self.folder.iterdir()) if path.is_dir()] if self.folder.exists() else []

    def divide(self, parts: Sequence[tuple["Checkpoints", int]]) -> None:
        """Gives each part, a number of runs in order, a checkpoint of its own, and is gone."""
        for name in self._nested():
            self._in(name).divide([(part._in(name), count) for part, count in parts])
        found = self._readable(self.newest) or self._readable(self.previous)
        if found is not None:
            tensors, about = found
            replicas = tensors["history"].shape[-1] // sum(count for _, count in parts)
            start = 0
            for part, runs in parts:
                count = runs * replicas
                own = Ensemble.part(tensors, slice(start, start + count))
                write_tensors(part.newest, "checkpoint", own, {**about, "members": list(part.members)})
                start += count
        self.clear()

    def _readable(self, path: Path) -> tuple[dict[str, torch.Tensor], dict] | None:
        try:
            tensors, about = read_tensors(path, "checkpoint")
        except (FileNotFoundError, ValueError):
            return None
        return (tensors, about) if tuple(about.get("members", ())) == self.members else None

    def exist(self) -> bool:
        return self.newest.exists() or self.previous.exists()

    def clear(self) -> None:
        for name in self._nested():
            self._in(name).clear()
        for path in (self.newest, self.previous):
            path.unlink(missing_ok=True)
        if self.folder.exists() and not any(self.folder.iterdir()):
            self.folder.rmdir()

    def _check(self, path: Path, about: dict, tensors: dict, ensemble: Ensemble) -> None:
        if tuple(about.get("members", ())) != self.members:
            raise ValueError(f"{path} belongs to other runs")
        expected = {name: (t.shape, t.dtype) for name, t in ensemble.state().items()}
        found = {name: (t.shape, t.dtype) for name, t in tensors.items() if name != "history"}
        if expected != found:
            raise ValueError(f"{path} holds other tensors than these runs have")
