"""A study's folder: one folder a run, each file whole or absent.

DIR/runs/<id>/run.json              what the run is
DIR/runs/<id>/history.jsonl         one line a log point
DIR/runs/<id>/weights.safetensors   the trained parameters
DIR/runs/<id>/result.json           how it ended; a run is finished when this exists
DIR/runs/<id>/scores.json           what `partita evaluate` measured
DIR/ensembles/<id>/                 checkpoints of runs under way (an execution detail)
"""

import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from partita.studies.run import Run
from partita.training import Checkpoints, History, Model
from partita.training.files import read_json, read_tensors, write_bytes, write_json, write_tensors
from partita.training.program import Trained


@dataclass(frozen=True)
class Store:
    folder: Path

    def folder_of(self, run: Run) -> Path:
        return self.folder / "runs" / run.id

    def runs(self) -> list[Run]:
        """Every run of the study; ValueError when the folder holds none."""
        files = sorted(self.folder.glob("runs/*/run.json"))
        if not files:
            raise ValueError(
                f"{self.folder} holds no runs; `partita train METHOD --data NAME --out {self.folder}` makes some"
            )
        runs = [Run.from_json(read_json(file)) for file in files]
        return sorted(runs, key=lambda run: (run.setting, run.seed))

    def begin(self, run: Run, history: History, position: int) -> None:
        """Writes what the run is, and its log as far as the checkpoint knows it."""
        self.folder_of(run).mkdir(parents=True, exist_ok=True)
        write_json(self.folder_of(run) / "run.json", run.as_json())
        rows = [_row(history, position, point) for point in range(len(history.steps))]
        write_bytes(self.folder_of(run) / "history.jsonl", "".join(rows).encode())

    def log(self, run: Run, history: History, position: int) -> None:
        with open(self.folder_of(run) / "history.jsonl", "a", encoding="utf-8") as file:
            file.write(_row(history, position, len(history.steps) - 1))

    def finish(self, run: Run, trained: Trained) -> None:
        """Writes the weights and how the run ended; where it found its groups, those with both, and the evidence; where
        several candidates were trained, whose weights these are; where rows were held out, of which step they are."""
        found: dict[str, Any] = {} if trained.groups is None else {"groups": [list(group) for group in trained.groups]}
        if trained.candidate:
            found["candidate"] = trained.candidate
        about = {"run": run.id, "step": trained.step, **found}
        write_tensors(self.folder_of(run) / "weights.safetensors", "weights", trained.model, about)
        status = "finished" if trained.diverged is None else "diverged"
        ending = {"status": status, "step": trained.step, "diverged_at": trained.diverged, **found}
        if run.program.hold_out:
            ending["kept_step"] = trained.kept_step
        if trained.groups is not None:
            ending["merges"] = list(trained.evidence)
        write_json(self.folder_of(run) / "result.json", ending)

    def forget(self, run: Run) -> None:
        for name in ("result.json", "weights.safetensors", "scores.json", "history.jsonl"):
            (self.folder_of(run) / name).unlink(missing_ok=True)

    def result(self, run: Run) -> dict | None:
        path = self.folder_of(run) / "result.json"
        return read_json(path) if path.exists() else None

    def finished(self) -> list[Run]:
        """The runs that ended well."""
        return [run for run in self.runs() if (self.result(run) or {}).get("status") == "finished"]

    def model(self, run: Run, x_scale: float = 1.0, device: torch.device | None = None) -> Model:
        tensors, about = read_tensors(self.folder_of(run) / "weights.safetensors", "weights")
        if about.get("run") != run.id:
            raise ValueError(f"{self.folder_of(run)} holds the weights of another run, {about.get('run')}")
        candidate = run.program.candidates[about.get("candidate", 0)]
        groups = tuple(tuple(group) for group in about["groups"]) if candidate.finds_groups else None
        return Model(candidate.last(groups), tensors, x_scale, device or "cpu")

    def history(self, run: Run) -> dict[str, np.ndarray]:
        """`step` and every logged quantity, an array each."""
        path = self.folder_of(run) / "history.jsonl"
        text = path.read_text("utf-8") if path.exists() else ""
        rows = [
            json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")
        ]  # not a cut last one
        names = rows[0].keys() if rows else ()
        return {name: np.array([np.nan if row[name] is None else row[name] for row in rows]) for name in names}

    def scores(self, run: Run) -> dict | None:
        path = self.folder_of(run) / "scores.json"
        return read_json(path) if path.exists() else None

    def save_scores(self, run: Run, scores: dict) -> None:
        write_json(self.folder_of(run) / "scores.json", scores)

    def checkpoints(self, runs: Sequence[Run]) -> Checkpoints:
        members = tuple(run.id for run in runs)
        name = hashlib.blake2b("\n".join(members).encode(), digest_size=8).hexdigest()
        return Checkpoints(self.folder / "ensembles" / name, members)

    def under_way(self) -> list[list[str]]:
        """The members of every ensemble that has a readable checkpoint."""
        found = []
        for folder in sorted(self.folder.glob("ensembles/*")):
            for name in ("newest", "previous", "warm/newest", "warm/previous"):
                try:
                    found.append(list(read_tensors(folder / f"{name}.safetensors", "checkpoint")[1]["members"]))
                    break
                except (OSError, ValueError, KeyError):
                    continue
        return found

    def check_writable(self) -> None:
        """OSError, naming the folder, when nothing can be written there."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            writable = os.access(self.folder, os.W_OK)
        except OSError as error:
            raise OSError(f"cannot write to {self.folder}: {error.strerror}; choose another --out") from None
        if not writable:
            raise OSError(f"cannot write to {self.folder}: permission denied; choose another --out")


def _row(history: History, position: int, point: int) -> str:
    values = history.row(point)[:, position]
    row = {name: float(v) if np.isfinite(v) else None for name, v in zip(history.names, values)}
    return json.dumps({"step": history.steps[point], **row}) + "\n"
