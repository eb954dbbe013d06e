"""A study's folder as documents: its table of runs, and each run opened when it is asked for."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from threading import RLock
from typing import Any

import numpy as np

from partita.data import Dataset
from partita.explorer._documents import plain
from partita.explorer._rows import rows_of
from partita.explorer._subject import Subject
from partita.studies import Run, Store, reload
from partita.studies._seen import beside_of
from partita.studies.scores import COLUMNS
from partita.training import Model

MOST_OPEN = 6  # models, with the codes of their rows
METRIC_NOTE = "Scores are those that `partita evaluate` stored; nothing is measured by looking."


class StudyFolder:
    """What `partita explore DIR` serves. The folder is only read, and only what lies in it: a run or file that a
    symbolic link leads elsewhere is refused. Data sets are found as `studies.reload` finds them, by their content."""

    kind = "study"

    def __init__(self, folder: Path):
        self.folder, self.store = folder, Store(folder)
        self._opening = RLock()
        self._open: dict[str, tuple[Any, Subject]] = {}
        self._datasets: dict[str, Dataset] = {}
        self._jacobians: dict[str, float] = {}
        self.runs = self._found()  # an empty folder is said at once

    def _found(self) -> dict[str, Run | str]:
        """Every run by its id; in words, why one cannot be read."""
        found: dict[str, Run | str] = {}
        self._folders = {folder.name: folder for folder in self.store.folders()}
        for folder in self._folders.values():
            try:
                _check_inside(folder, self.folder)
                found[folder.name] = self.store.run_in(folder)
            except (ValueError, OSError) as error:
                found[folder.name] = str(error)
        return found

    def study(self) -> dict[str, Any]:
        """The table of runs, as they are now: a study may be growing."""
        self.runs = self._found()
        runs = [self._row(name, run) for name, run in self.runs.items()]
        runs.sort(key=lambda row: (row["method"], str(sorted(row["settings"].items())), row["seed"] or 0))
        named = [column.name for column in COLUMNS]
        seen = dict.fromkeys(name for row in runs for name in row["scores"])
        names = [name for name in named if name in seen] + [name for name in seen if name not in named]
        about = {column.name: {"better": column.better, "explanation": column.explanation} for column in COLUMNS}
        return plain(
            {
                "title": self.folder.resolve().name, "kind": self.kind, "runs": runs, "score_names": names,
                "score_about": {name: about[name] for name in names if name in about}, "metrics_note": METRIC_NOTE,
            }
        )  # fmt: skip

    def subject(self, name: str) -> Subject:
        """The run of this id, opened; KeyError when there is none."""
        run = self.runs[name]
        with self._opening:
            written = _written(self._folders[name])
            kept = self._open.pop(name, None)
            if kept is None or kept[0] != written:
                while len(self._open) >= MOST_OPEN:
                    self._open.pop(next(iter(self._open)))
                opened = Subject(name, "", name, problem=run) if isinstance(run, str) else self._opened(run)
                kept = written, opened
            self._open[name] = kept  # the last one used is the last to go
            return kept[1]

    def best(self, method: str | None = None) -> tuple[str, str]:
        """The run (of this method, where one is said) with the best bound on rows held out, or as evaluated where none
        were; and why it is this one."""
        rows = [row for row in self.study()["runs"] if row["state"] == "finished" and method in (None, row["method"])]
        if not rows:
            raise ValueError(f"no run in {self.folder} is finished, so there is none to export")
        known = [row for row in rows if row["bound"] is not None]
        if not known:
            raise ValueError(
                f"no run in {self.folder} has a bound to choose by: run `partita evaluate {self.folder}`, or say --run"
            )
        if any(row["bound_of"] == "held-out" for row in known):
            known = [row for row in known if row["bound_of"] == "held-out"]  # the others knew their rows
        best = max(known, key=lambda row: row["bound"])
        among = (
            f"the best {best['bound_of']} bound of {len(known)} runs" if len(known) > 1 else "the only one to choose"
        )
        return best["id"], f"{among}, {best['bound']:.4g} nats a row"

    def _row(self, name: str, run: Run | str) -> dict[str, Any]:
        if isinstance(run, str):
            return {
                "id": name, "method": "", "data": "", "state": "damaged", "seed": None, "settings": {}, "scores": {},
                "bound": None, "bound_of": None, "verdict": None, "problem": run,
            }  # fmt: skip
        state, problem, scores, result = self._ending(run)
        row = {
            "id": name, "method": run.method, "data": _data_name(run),
            "state": state, "seed": run.seed, "settings": settings_of(run), "scores": scores_of(scores),
            "verdict": _verdict(scores), "problem": problem,
        }  # fmt: skip
        return row | self._bound(run, result, scores)

    def _ending(self, run: Run) -> tuple[str, str | None, Mapping[str, Any], Mapping[str, Any]]:
        """How it ended, what is wrong in words, its scores, and its result."""
        try:
            for file in self.store.folder_of(run).iterdir():
                _check_inside(file, self.folder)
            result = self.store.result(run)
        except (ValueError, OSError) as error:
            return "damaged", str(error), {}, {}
        if result is None:
            words = "not finished yet: the `partita train` that began it goes on with it"
            return "unfinished", words, {}, {}
        if result["status"] == "diverged":
            at = result.get("diverged_at")
            return "diverged", f"diverged: the loss was no longer finite at step {at} of {run.steps}", {}, {}
        if not (self.store.folder_of(run) / "weights.safetensors").exists():
            words = "its weights are gone (weights.safetensors): put the file back, or train the run again"
            return "damaged", words, self._scores(run), {}
        return "finished", None, self._scores(run), result

    def _scores(self, run: Run) -> Mapping[str, Any]:
        try:
            found = self.store.scores(run)
        except (ValueError, OSError):
            return {}
        return found if isinstance(found, dict) else {}

    def _bound(self, run: Run, result: Mapping[str, Any], scores: Mapping[str, Any]) -> dict[str, Any]:
        """Of the rows held out, where there were any, at the step whose weights were kept; else the ELBO as evaluated.
        Nats of the data as they are."""
        if "kept_step" in result:
            history = self._history(run)
            if {"held_out_recon", "held_out_kl"} <= history.keys():
                bounds = -(history["held_out_recon"] + history["held_out_kl"])
                kept = bounds[history["step"] == result["kept_step"]]
                bound = float(kept[-1]) if len(kept) else float(bounds[-1])
                return {"bound": bound + self._jacobian(run), "bound_of": "held-out"}
        elbo = scores.get("elbo")
        return {"bound": elbo, "bound_of": None if elbo is None else "evaluated"}

    def _jacobian(self, run: Run) -> float:
        """What turns nats of the model's units into those of the data: the same for all runs that see them alike."""
        if run.scale == "none":
            return 0.0
        key = repr((sorted(run.data.items()), run.scale, run.covariates, run.architecture.get("likelihood")))
        if key not in self._jacobians:
            try:
                scale = self.store.model(run).scale
            except (ValueError, OSError):
                return float("nan")
            self._jacobians[key] = float(scale.log_jacobian(tuple(run.architecture["shape"])))
        return self._jacobians[key]

    def _history(self, run: Run) -> dict[str, np.ndarray]:
        try:
            return self.store.history(run)
        except (ValueError, OSError):
            return {}

    def _opened(self, run: Run) -> Subject:
        _, problem, scores, _ = self._ending(run)
        about: dict[str, Any] = {
            "id": run.id, "method": run.method, "title": f"{run.setting}, seed {run.seed}", "scores": scores,
            "history": self._history(run),
        }  # fmt: skip
        if problem is not None:
            return Subject(**about, problem=problem)
        try:
            data, problem = self._data(run), None
        except (ValueError, OSError) as error:
            data, problem = None, f"its data set is not to be had, so there are no codes: {error}"
        try:
            model = self.store.model(run, 1.0 if data is None else data.x_scale)
        except (ValueError, OSError) as error:
            return Subject(**about, problem=f"its model cannot be opened: {error}")
        covariates = tuple(each["name"] for each in run.covariates)
        rows = None if data is None else rows_of(data, partial(_encoded, model, run, data))
        names = () if data is None else data.feature_names
        beside: dict[str, Any] = {"covariates": covariates, "exposure": run.exposure, "feature_names": names}
        return Subject(**about, model=model, rows=rows, problem=problem, **beside)

    def _data(self, run: Run) -> Dataset:
        """Read once for all runs on the same data."""
        key = repr(sorted(run.data.items()))
        if key not in self._datasets:
            if "path" in run.data and "digest" not in run.data:
                raise ValueError("the run names a file without a digest of its content, which is not opened")
            self._datasets.clear()  # one at a time: runs of a study mostly share theirs
            self._datasets[key] = reload(run.data, self.folder)
        return self._datasets[key]


def settings_of(run: Run) -> dict[str, Any]:
    """What tells runs apart, by name."""
    house = {name: run.architecture[name] for name in ("latents", "network", "hidden") if name in run.architecture}
    beside = {"scale": run.scale} if run.scale != "none" else {}
    if run.covariates:
        beside["covariates"] = ", ".join(each["name"] for each in run.covariates)
    return {**run.options, **house, "steps": run.steps, "batch size": run.batch_size, **beside}


def scores_of(scores: Mapping[str, Any]) -> dict[str, Any]:
    """Numbers by name, with interval and protocol where they have one."""
    found: dict[str, Any] = {}
    for column in COLUMNS:
        if (value := column.value(scores)) is not None:
            found[column.name] = {"value": value, "low": None, "high": None, "protocol": None}
    for name, score in (scores.get("metrics") or {}).items():
        if isinstance(score, Mapping) and "value" in score:
            low, high = score.get("interval") or (None, None)
            about = {"value": score["value"], "low": low, "high": high, "protocol": score.get("protocol")}
            found["MIG" if name == "mig" else name] = about
    return found


def _data_name(run: Run) -> str:
    return Path(str(run.data["path"])).name if "path" in run.data else str(run.data.get("name", ""))


def _verdict(scores: Mapping[str, Any]) -> str | None:
    found = scores.get("diagnosis")
    return found.get("verdict") if isinstance(found, Mapping) else None


def _encoded(model: Model, run: Run, data: Dataset, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    parts = [rows[i : i + 1000] for i in range(0, len(rows), 1000)]
    found = [model.posterior(data.x[part], beside=beside_of(run, data, part)) for part in parts]
    return np.concatenate([mean for mean, _ in found]), np.concatenate([widths for _, widths in found])


def _written(folder: Path) -> tuple[tuple[str, int], ...]:
    """When each file of a run was last written: what is open of an older state is opened again."""
    try:
        return tuple(sorted((file.name, file.stat().st_mtime_ns) for file in folder.iterdir()))
    except OSError:  # a file that is being put in its place
        return ()


def _check_inside(path: Path, folder: Path) -> None:
    if not path.resolve().is_relative_to(folder.resolve()):
        raise ValueError(f"{path.name} leads out of {folder.name} by a symbolic link, and is not opened")
