"""Tasks as Slurm job arrays, by submitit. A job that is pre-empted is queued again and goes on from its checkpoint."""

import shutil
import subprocess
import time
from collections.abc import Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from partita.data import Dataset
from partita.data._nearest import nearest
from partita.studies.engines._task import Ending, Node, Task
from partita.training import Interrupted

# What may stand behind `slurm:`, and what submitit calls it.
OPTIONS = {
    "partition": "slurm_partition",
    "time": "timeout_min",
    "gpus": "gpus_per_node",
    "cpus": "cpus_per_task",
    "memory": "mem_gb",
    "account": "slurm_account",
    "qos": "slurm_qos",
    "parallel": "slurm_array_parallelism",
    "executor": "cluster",
}
NUMBERS = ("time", "gpus", "cpus", "memory", "parallel")
USUAL: dict[str, Any] = {"timeout_min": 240, "cpus_per_task": 1, "slurm_array_parallelism": 64}
# Pre-empted, a job is told to end first, and to queue itself again a moment later.
SECONDS_TO_BE_QUEUED_AGAIN = 60.0


@dataclass
class SlurmEngine:
    executor: Any
    folder: Path
    words: str
    device: str
    parallel: int
    stays: bool = True
    jobs: dict[Any, Task] = field(default_factory=dict)
    ended_here: set[str] = field(default_factory=set)

    @classmethod
    def at(cls, text: str, folder: Path, device: str = "auto") -> "SlurmEngine":
        """That of "partition=gpu,gpus=1,time=120": minutes, GPUs, cores and GB a job."""
        try:
            import submitit
        except ModuleNotFoundError:
            raise ValueError("--on slurm needs submitit: pip install 'partita[slurm]'") from None
        settings: dict[str, Any] = USUAL | _settings(text)
        kind = settings.pop("cluster", "slurm")
        if kind == "slurm":
            _check_partition(settings.get("slurm_partition"))
        submitted = folder.absolute() / "slurm"
        executor = submitit.AutoExecutor(folder=submitted, cluster=kind)
        executor.update_parameters(name="partita", **settings)
        gpus = bool(settings.get("gpus_per_node"))
        if device.startswith("cuda") and not gpus:
            raise ValueError(f"device {device!r} was asked for: say --on slurm:{text},gpus=1, or use --device cpu")
        words = f"Slurm's partition {settings['slurm_partition']}" if "slurm_partition" in settings else "Slurm"
        parallel = int(settings["slurm_array_parallelism"])
        return cls(executor, submitted, words, "cuda" if gpus and device != "cpu" else "cpu", parallel)

    def workers(self) -> int:
        return self.parallel

    def nodes(self, store: str, token: str, data: Mapping[str, Any]) -> list[Node]:
        return []  # who will run a job is known when it runs: a worker says in one line what it lacks

    def share(self, dataset: Dataset) -> Any:
        raise ValueError(f"{dataset.name} are only in memory here: save them to a file that Slurm's nodes can read")

    def start(self, tasks: Sequence[Task]) -> list[Hashable]:
        jobs = self.executor.map_array(_Work(), tasks)
        self.jobs.update(zip(jobs, tasks))
        return list(jobs)

    def ended(self, seconds: float) -> list[tuple[Hashable, Ending]]:
        deadline = time.monotonic() + seconds
        while True:
            over = [job for job in self.jobs if job.done()]
            if over or time.monotonic() > deadline:
                self.ended_here.update(job.job_id for job in over)
                return [(job, _ending(job, self.jobs.pop(job))) for job in over]
            time.sleep(min(0.2, seconds))

    def stop(self, job: Hashable, *, force: bool = False) -> None:
        with suppress(subprocess.SubprocessError, OSError):
            job.cancel(check=False)  # type: ignore[attr-defined]
        if force and self.jobs.pop(job, None) is not None:
            self.ended_here.add(job.job_id)  # type: ignore[attr-defined]

    def detach(self, request: Mapping[str, Any]) -> None:
        from partita.studies.engines._drive import Drive
        from partita.studies.store import Store

        store = Store(Path(request["store"]))
        runs = [store.run_in(store.folder_named(name)) for name in request["runs"]]
        Drive(store, self, request["settings"]).hand_out(runs)

    def recall(self, store: Path) -> None:
        left = self._under_way()
        if left:
            with suppress(OSError):
                subprocess.run(["scancel", *sorted({name.partition("_")[0] for name in left})], capture_output=True)
            self.ended_here.update(left)

    def close(self) -> None:
        """Removes what was submitted, unless some of it may still run, or wait to."""
        if not self._under_way():
            shutil.rmtree(self.folder, ignore_errors=True)

    def _under_way(self) -> set[str]:
        """Jobs of this study, by whomever they were submitted, that have left no result."""
        names = {path.name.removesuffix("_submitted.pkl") for path in self.folder.glob("*_submitted.pkl")}
        return {name for name in names - self.ended_here if not list(self.folder.glob(f"{name}_*_result.pkl"))}


class _Work:
    """What a job calls; and, pre-empted, is queued again as."""

    def __call__(self, task: Task) -> list[str]:
        from partita.studies.engines._worker import work

        try:
            return work(task)
        except Interrupted:
            time.sleep(SECONDS_TO_BE_QUEUED_AGAIN)
            raise

    def checkpoint(self, task: Task) -> Any:
        from submitit.helpers import DelayedSubmission

        return DelayedSubmission(self, task)


def _ending(job: Any, task: Task) -> Ending:
    from submitit.core.utils import FailedJobError

    try:
        return Ending(task, taken=tuple(job.result()))
    except FailedJobError as error:
        said = [line for line in str(error).splitlines() if line.strip()]
        named = next((line for line in reversed(said) if not line.startswith((" ", "\t", "-"))), said[-1])
        kind, _, words = named.partition(": ")
        known = ("OSError", "LeaseLost", "FileNotFoundError", "Interrupted", "PermissionError")
        return Ending(task, error=words or kind, fatal=not kind.rpartition(".")[2].startswith(known))
    except Exception as error:
        return Ending(task, error=type(error).__name__, lost=True)


def _settings(text: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for piece in filter(None, text.split(",")):
        key, equals, value = piece.partition("=")
        if key not in OPTIONS or not equals or not value:
            hint = nearest(key, OPTIONS)
            raise ValueError(f"--on slurm:{text}: {piece!r} is no option{hint}; there are {', '.join(OPTIONS)}")
        if key in NUMBERS and not value.isdigit():
            raise ValueError(f"--on slurm:{text}: {key} must be a whole number, got {value!r}")
        found[OPTIONS[key]] = int(value) if key in NUMBERS else value
    return found


def _check_partition(name: str | None) -> None:
    """OSError where there is no Slurm, ValueError where it has no such partition."""
    if shutil.which("sbatch") is None or shutil.which("sinfo") is None:
        raise OSError("no Slurm here: sbatch and sinfo are not found; run this where jobs are submitted")
    asked = subprocess.run(["sinfo", "--noheader", "--format=%R"], capture_output=True, text=True, timeout=60)
    if asked.returncode:
        raise OSError(f"Slurm does not answer: {' '.join(asked.stderr.split()) or 'sinfo failed'}")
    there = sorted(set(asked.stdout.split()))
    if name is not None and name not in there:
        raise ValueError(
            f"Slurm has no partition {name!r}{nearest(name, there)}; there are {', '.join(there) or 'none'}"
        )
