"""Where an ensemble stands, kept so that it goes on after anything that may happen to the process."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from partita.training.ensemble import Ensemble
from partita.training.files import move, remove, remove_folder
from partita.training.history import History
from partita.training.tensors import read_tensors, write_tensors

log = logging.getLogger("partita")

KIND = "checkpoint"
# From the newest on. The fresh one becomes the newest at once, unless a crash comes between.
NAMES = ("fresh.safetensors", "newest.safetensors", "previous.safetensors")


@dataclass(frozen=True)
class Checkpoints:
    """The newest checkpoint of one ensemble and the one before it, in `folder`.

    `members` say whose state it is: a checkpoint of other runs is refused. Files are whole or absent; when the newest
    cannot be used, the one before it is.
    """

    folder: Path
    members: tuple[str, ...]

    @property
    def newest(self) -> Path:
        return self.folder / "newest.safetensors"

    def save(self, ensemble: Ensemble, history: History) -> None:
        about = {"step": ensemble.step, "members": list(self.members), "names": history.names, "steps": history.steps}
        fresh, newest, previous = (self.folder / name for name in NAMES)
        write_tensors(fresh, KIND, ensemble.state() | {"history": torch.as_tensor(history.values())}, about)
        if newest.exists():
            move(newest, previous)
        move(fresh, newest)

    def restore(self, ensemble: Ensemble, history: History, steps: int | None = None) -> bool:
        """Puts the ensemble, which has `steps` to take, where the best checkpoint was; False when there is none."""
        found = self._usable(ensemble, steps)
        if found is None:
            return False
        tensors, about = found
        history.restore(about["steps"], tensors.pop("history").numpy(), about["names"])
        ensemble.load_state(tensors, about["step"])
        return True

    def usable(self, ensemble: Ensemble, steps: int) -> bool:
        """Whether `restore` would find one."""
        return self._usable(ensemble, steps) is not None

    def exist(self) -> bool:
        return any((self.folder / name).exists() for name in NAMES)

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
        self._hand_out(parts)
        self.clear()

    def clear(self) -> None:
        """From the oldest on, so that what a crash leaves is the newest."""
        for name in self._nested():
            self._in(name).clear()
        for name in reversed(NAMES):
            remove(self.folder / name)
        remove_folder(self.folder)

    def _hand_out(self, parts: Sequence[tuple["Checkpoints", int]]) -> None:
        for name in self._nested():
            self._in(name)._hand_out([(part._in(name), count) for part, count in parts])
        found = self._usable()
        if found is None:
            return
        tensors, about = found
        replicas = tensors["history"].shape[-1] // sum(count for _, count in parts)
        start = 0
        for part, runs in parts:
            count = runs * replicas
            own = Ensemble.part(tensors, slice(start, start + count))
            write_tensors(part.newest, KIND, own, {**about, "members": list(part.members)})
            start += count

    def _usable(
        self, ensemble: Ensemble | None = None, steps: int | None = None
    ) -> tuple[dict[str, torch.Tensor], dict[str, Any]] | None:
        for name in NAMES:
            path = self.folder / name
            try:
                tensors, about = read_checkpoint(path)
                self._check(path, tensors, about, ensemble, steps)
                return tensors, about
            except FileNotFoundError:
                continue
            except ValueError as error:
                log.warning("%s; trying the one before it", error)
        return None

    def _check(self, path: Path, tensors: dict, about: dict, ensemble: Ensemble | None, steps: int | None) -> None:
        if tuple(about["members"]) != self.members:
            raise ValueError(f"{path} belongs to other runs")
        if steps is not None and about["step"] > steps:
            raise ValueError(f"{path} says it is at step {about['step']} of {steps}")
        if ensemble is None:
            return
        expected = {name: (t.shape, t.dtype) for name, t in ensemble.state().items()}
        found = {name: (t.shape, t.dtype) for name, t in tensors.items() if name != "history"}
        if expected != found:
            raise ValueError(f"{path} holds other tensors than these runs have")


def read_checkpoint(path: Path) -> tuple[dict[str, torch.Tensor], dict[str, Any]]:
    """Tensors and what they are; ValueError, naming the file, where the two do not go together."""
    tensors, about = read_tensors(path, KIND)
    step: Any = about.get("step")
    steps: Any = about.get("steps")
    if not (_texts(about.get("members")) and _texts(about.get("names")) and _rising(steps) and _whole(step)):
        raise ValueError(f"{path} is damaged: it does not say whose it is, or where they stand")
    # The log is never further behind than from one of its points to the next.
    if steps and not 0 <= step - steps[-1] < max(after - before for before, after in zip([0, *steps], steps)):
        raise ValueError(f"{path} is damaged: it says step {step}, and its log ends at {steps[-1]}")
    shape = tensors["history"].shape if "history" in tensors else ()
    if len(shape) != 3 or tuple(shape[:2]) != (len(steps), len(about["names"])):
        raise ValueError(f"{path} is damaged: its log is not of the shape it should have")
    return tensors, about


def company_of(folder: Path) -> tuple[str, ...] | None:
    """Whose checkpoints are in a folder; None where none can be read."""
    for path in [path for name in NAMES for path in sorted(folder.rglob(name))]:
        try:
            return tuple(read_checkpoint(path)[1]["members"])
        except (OSError, ValueError):
            continue
    return None


def _texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _rising(value: Any) -> bool:
    return isinstance(value, list) and all(map(_whole, value)) and all(a < b for a, b in zip([0, *value], value))
