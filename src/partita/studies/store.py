"""A study's folder: one folder a run, each file whole or absent.

DIR/runs/<shard>/<id>/run.json              what the run is
DIR/runs/<shard>/<id>/history.jsonl         one line a log point
DIR/runs/<shard>/<id>/weights.safetensors   the trained parameters
DIR/runs/<shard>/<id>/result.json           how it ended; a run is finished when this exists
DIR/runs/<shard>/<id>/scores.json           what `partita evaluate` measured
DIR/ensembles/<id>/                 checkpoints of runs under way (an execution detail)
DIR/leases/                         who trains which run now (`_leases`)
DIR/index/                          what the folders hold, in short, and made from them (`_index`)
DIR/damaged/<id>/                   what `partita verify --repair` put aside

A shard is the first two digits of the digest in a run's id. Folders of partita 0.1 lie beside the shards, and stay.
A run.json is checked by its folder's name, which is a digest of it; result.json has a digest of itself and of the
history, scores.json and the safetensors files have one of themselves.
"""

import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch

from partita.distributions import as_likelihood
from partita.studies._index import SHARD, Entry, Known, folders_with_age, look_up, note, shard_of
from partita.studies._kept_scores import KeptScores, in_short_of, keep, read_scores
from partita.studies._leases import Leases
from partita.studies.run import Run
from partita.training import Checkpoints, History, Model
from partita.training.checkpoint import company_of
from partita.training.files import append_line, digest_of, make_folder, read_json, remove, write_bytes, write_json
from partita.training.model import check_parameters
from partita.training.program import Trained
from partita.training.scale import UNSCALED, Scale
from partita.training.tensors import read_tensors, write_tensors

# Of names of tensors that are no weights, but the units that a model sees data in.
SCALE = "scale."
# What result.json of partita 0.1 says, which had no digest.
RESULT_OF_0_1 = {"status", "step", "diverged_at", "groups", "merges"}


@dataclass(frozen=True)
class Store:
    folder: Path

    def __post_init__(self) -> None:
        object.__setattr__(self, "folder", Path(self.folder))  # a name will do

    def folder_of(self, run: Run) -> Path:
        return self.folder_named(run.id)

    def folder_named(self, name: str) -> Path:
        runs = self.folder / "runs"
        return runs / name if name in self._beside_shards else runs / shard_of(name) / name

    @cached_property
    def _beside_shards(self) -> frozenset[str]:
        runs = self.folder / "runs"
        return frozenset(path.name for path in runs.glob("*") if not SHARD.fullmatch(path.name))

    def folders(self) -> list[Path]:
        """Those of the runs; ValueError when there are none."""
        folders = sorted(Path(path) for _, path, _ in folders_with_age(self.folder / "runs"))
        found = [path for path in folders if any(path.iterdir())]
        if not found:
            raise self._nothing()
        return found

    def folders_of_0_1(self) -> list[Path]:
        return sorted(self.folder / "runs" / name for name in self._beside_shards)

    def entries(self) -> list[Entry]:
        """Every run of the study that says what it is, by the index; ValueError when none does."""
        found = self.look_up()
        if not found.entries:
            raise ValueError(*list(found.trouble.values())[:1]) if found.trouble else self._nothing()
        return found.entries

    def look_up(self) -> Known:
        """The same, and what other folders there are; nothing where there is nothing."""
        return look_up(self.folder, lambda folder: ((run := self.run_in(folder)), self._ending(run)))

    def _nothing(self) -> ValueError:
        return ValueError(
            f"{self.folder} holds no runs; `partita train METHOD --data NAME --out {self.folder}` makes some"
        )

    def run_in(self, folder: Path) -> Run:
        """What the run in a folder is; ValueError, naming the file, when it does not say, or says it of another."""
        path = folder / "run.json"
        if not path.exists():
            raise ValueError(f"{path} is missing")
        content = read_json(path)
        try:
            run = Run.from_json(content)
            same = run.id == folder.name
        except (ValueError, TypeError) as error:
            raise ValueError(f"{path} is damaged: {error}") from None
        if not same:
            raise ValueError(f"{path} was changed: it describes {run.id}, not the run of its folder")
        return run

    def runs(self) -> list[Run]:
        """Every run of the study that says what it is; ValueError when none does."""
        return [entry.run for entry in self.entries()]

    def begin(self, run: Run, history: History, position: int) -> None:
        """Writes what the run is, and its log as far as the checkpoint knows it."""
        self.describe(run)
        self._write_history(run, history, position, synced=False)

    def describe(self, run: Run) -> bool:
        """Writes what the run is, and whether that was necessary: where its file was is no part of what it is."""
        try:
            if self.run_in(self.folder_of(run)).id == run.id:
                return False
        except (OSError, ValueError):
            pass
        write_json(self.folder_of(run) / "run.json", run.as_json())
        self.note(run)
        return True

    def note(self, run: Run, *, whole: bool = False) -> None:
        """Tells the index how the run stands; of files that were just read or written, that they are `whole`."""
        note(self.folder / "index", self.folder_of(run), run, self._ending(run), whole=whole)

    def _write_history(self, run: Run, history: History, position: int, *, synced: bool) -> str:
        content = "".join(_row(history, position, point) for point in range(len(history.steps))).encode()
        write_bytes(self.folder_of(run) / "history.jsonl", content, synced=synced)
        return digest_of(content)

    def log(self, run: Run, history: History, position: int) -> None:
        append_line(self.folder_of(run) / "history.jsonl", _row(history, position, len(history.steps) - 1))

    def finish(self, run: Run, trained: Trained, scale: Scale = UNSCALED) -> None:
        """Writes the log, the weights with the scale of the data and, last, how the run ended. Where it found its
        groups, those with both, and the evidence; where several candidates were trained, whose weights these are; where
        rows were held out, of which step they are; where it was trained several times, how far the others agree."""
        log = self._write_history(run, trained.history, 0, synced=True)
        found: dict[str, Any] = {} if trained.groups is None else {"groups": [list(group) for group in trained.groups]}
        if trained.candidate:
            found["candidate"] = trained.candidate
        about = {"run": run.id, "step": trained.step, **found}
        units = {f"{SCALE}{name}": value for name, value in scale.tensors().items()}
        write_tensors(self.folder_of(run) / "weights.safetensors", "weights", trained.model | units, about)
        status = "finished" if trained.diverged is None else "diverged"
        ending = {"status": status, "step": trained.step, "diverged_at": trained.diverged, **found}
        if trained.groups is not None:
            ending["merges"] = list(trained.evidence)
        if trained.restarts:
            ending["restarts"] = [round(r2, 4) for r2 in trained.restarts]
        if run.program.hold_out:
            ending["kept_step"] = trained.kept_step
        write_json(self.folder_of(run) / "result.json", {**ending, "history": log}, sealed=True)
        self.note(run, whole=True)

    def forget(self, run: Run) -> None:
        for name in ("result.json", "weights.safetensors", "scores.json", "history.jsonl"):
            remove(self.folder_of(run) / name)

    def result(self, run: Run) -> dict[str, Any] | None:
        """How the run ended, None where it did not; ValueError, naming the file, when it is damaged."""
        path = self.folder_of(run) / "result.json"
        if not path.exists():
            return None
        result = read_json(path)
        known = result.get("status") in ("finished", "diverged") and isinstance(result.get("step"), int)
        if not known or not ("digest" in result or result.keys() <= RESULT_OF_0_1):
            raise ValueError(f"{path} is damaged: it does not say how the run ended")
        return result

    def finished(self) -> list[Run]:
        """The runs that ended well, of those that can say so."""
        return [entry.run for entry in self.entries() if entry.status == "finished"]

    def has_ended(self, name: str) -> bool:
        """Whether a run of this id has its last file."""
        return (self.folder_named(name) / "result.json").exists()

    def _ending(self, run: Run) -> dict[str, Any] | None:
        try:
            return self.result(run)
        except ValueError:
            return None

    def model(self, run: Run, x_scale: float = 1.0, device: torch.device | None = None) -> Model:
        path = self.folder_of(run) / "weights.safetensors"
        tensors, about = self.weights(run)
        if (lacking := run.lacks) is not None:
            raise ValueError(lacking)
        units = {name.removeprefix(SCALE): tensors.pop(name) for name in list(tensors) if name.startswith(SCALE)}
        try:
            candidate = run.program.candidates[about.get("candidate", 0)]
            groups = tuple(tuple(group) for group in about["groups"]) if candidate.finds_groups else None
            recipe = candidate.last(groups)
            check_parameters(recipe, tensors)
        except (ValueError, TypeError, KeyError, IndexError) as error:
            raise ValueError(f"{path} does not fit what the run is: {error}") from None
        scale = Scale(run.scale, **units, counts=as_likelihood(recipe.architecture.likelihood).counts)
        known = run.known_covariates
        average = None if known is None else known.average(1)[0]
        return Model(recipe, tensors, x_scale, device or "cpu", scale=scale, average=average)

    def weights(self, run: Run) -> tuple[dict[str, torch.Tensor], dict[str, Any]]:
        """The trained parameters, and what their file says of them; ValueError where they are not this run's."""
        path = self.folder_of(run) / "weights.safetensors"
        tensors, about = read_tensors(path, "weights")
        if about.get("run") != run.id:
            raise ValueError(f"{path} holds the weights of another run, {about.get('run')}")
        return tensors, about

    def history(self, run: Run) -> dict[str, np.ndarray]:
        """`step` and every logged quantity, an array each."""
        path = self.folder_of(run) / "history.jsonl"
        lines = path.read_text("utf-8", "replace").splitlines(keepends=True) if path.exists() else []
        try:
            rows = [json.loads(line) for line in lines if line.endswith("\n")]  # not a cut last one
            names = rows[0].keys() if rows else ()
            columns = {name: [np.nan if row[name] is None else row[name] for row in rows] for name in names}
            return {name: np.array(column, np.int64 if name == "step" else np.float64)
                    for name, column in columns.items()}  # fmt: skip
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError) as error:
            raise ValueError(f"{path} is damaged: {error}") from None

    def scores(self, run: Run) -> dict | None:
        folder = self.folder_of(run)
        return read_scores(folder) if (folder / "scores.json").exists() else None

    def save_scores(self, run: Run, scores: dict) -> None:
        folder = self.folder_of(run)
        write_json(folder / "scores.json", scores, sealed=True)
        self.note(run)
        keep(self.folder / "index", folder, str(folder.stat().st_mtime_ns), scores)

    def scores_in_short(self, entries: Sequence[Entry]) -> list[tuple[Entry, KeptScores]]:
        """The scores of those of these runs that have some which can be read, as tables need them."""
        return in_short_of(self.folder / "index", entries)

    def checkpoints(self, runs: Sequence[Run]) -> Checkpoints:
        return self.checkpoints_of(tuple(run.id for run in runs))

    def checkpoints_of(self, members: tuple[str, ...]) -> Checkpoints:
        name = hashlib.blake2b("\n".join(members).encode(), digest_size=8).hexdigest()
        return Checkpoints(self.folder / "ensembles" / name, members)

    def under_way(self) -> list[tuple[str, ...]]:
        """The members of every ensemble that has a readable checkpoint, the largest first: where memory did not
        suffice for it, its halves are not complete before it is gone."""
        found = [company_of(folder) for folder in sorted(self.folder.glob("ensembles/*"))]
        return sorted((members for members in found if members is not None), key=len, reverse=True)

    def leases(self, **settings) -> Leases:
        """Who trains which run now."""
        return Leases(self.folder / "leases", **settings)

    def check_writable(self) -> None:
        """OSError, naming the folder, when nothing can be written there."""
        try:
            make_folder(self.folder)
            writable = os.access(self.folder, os.W_OK)
        except OSError as error:
            raise OSError(f"cannot write to {self.folder}: {error.strerror}; choose another --out") from None
        if not writable:
            raise OSError(f"cannot write to {self.folder}: permission denied; choose another --out")


def _row(history: History, position: int, point: int) -> str:
    values = history.row(point)[:, position]
    row = {name: float(v) if np.isfinite(v) else None for name, v in zip(history.names, values)}
    return json.dumps({"step": history.steps[point], **row}) + "\n"
