"""Tasks on a Ray cluster. Ray only carries them: what was lost is asked for again by `_drive`, from its checkpoint."""

import hashlib
import os
import socket
import threading
import time
from collections.abc import Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from partita.data import Dataset
from partita.studies.engines._task import Ending, Node, Task
from partita.training import Interrupted

OBJECT_STORE = 100 << 20  # of a cluster started for one study; data go by path or description where they can
SECONDS_TO_CONNECT = 5.0
SECONDS_TO_ANSWER = 180.0  # a worker loads PyTorch first
SECONDS_TO_STOP = 60.0
QUIET = {"include_dashboard": False, "log_to_driver": False, "logging_level": "ERROR", "configure_logging": False}


@dataclass
class RayEngine:
    ray: Any
    words: str
    device: str
    stays: bool
    jobs: dict[Any, Task] = field(default_factory=dict)

    @classmethod
    def at(cls, address: str | None, device: str = "auto") -> "RayEngine":
        """A cluster's, or, without an address, that of one started here, with a worker a core or GPU."""
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        try:
            import ray
        except ModuleNotFoundError:
            raise ValueError("--on ray needs Ray: pip install 'partita[ray]'") from None
        address = address or os.environ.get("RAY_ADDRESS")
        if not ray.is_initialized():
            _connect(ray, address)
        gpus = ray.cluster_resources().get("GPU", 0)
        if device.startswith("cuda") and not gpus:
            raise ValueError(f"device {device!r} was asked for, but the Ray cluster has no GPU; use --device cpu")
        kind = "cuda" if gpus and device != "cpu" else "cpu"
        words = "the Ray cluster" if address is None else f"the Ray cluster at {address}"
        return cls(ray, words, kind, stays=address is not None)

    def workers(self) -> int:
        resources = self.ray.cluster_resources()
        return int(resources.get("GPU" if self.device == "cuda" else "CPU", 0))

    def nodes(self, store: str, token: str, data: Mapping[str, Any]) -> list[Node]:
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        look, alive = self.ray.remote(_look), [node for node in self.ray.nodes() if node["Alive"]]
        asked = {}
        for node in alive:
            there = NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
            ref = look.options(num_cpus=0, max_retries=0, scheduling_strategy=there).remote(store, token, dict(data))
            asked[ref] = node["NodeManagerHostname"]
        answers = []
        for ref, name in asked.items():
            try:
                answers.append(self.ray.get(ref, timeout=SECONDS_TO_ANSWER))
            except self.ray.exceptions.GetTimeoutError:
                raise OSError(f"{name} of {self.words} does not answer within {SECONDS_TO_ANSWER:.0f} s") from None
            except (self.ray.exceptions.TaskUnschedulableError, self.ray.exceptions.NodeDiedError):
                continue  # it has left the cluster, which Ray learns a while later
            except Exception as error:
                reason = str(getattr(error, "cause", None) or error).strip().splitlines()[-1]
                raise OSError(f"{name} of {self.words} cannot run partita: {reason}") from None
        return answers

    def share(self, dataset: Dataset) -> Any:
        return [self.ray.put(dataset)]  # in a list: the task's own worker asks for it, and not whoever carries the task

    def start(self, tasks: Sequence[Task]) -> list[Hashable]:
        options = {"num_cpus": 1, "max_retries": 0} | ({"num_gpus": 1} if self.device == "cuda" else {})
        work = self.ray.remote(_work)
        refs = [work.options(name=f"partita {task.kind}", **options).remote(task) for task in tasks]
        self.jobs.update(zip(refs, tasks))
        return refs

    def ended(self, seconds: float) -> list[tuple[Hashable, Ending]]:
        if not self.jobs:
            time.sleep(seconds)
            return []
        ready, _ = self.ray.wait(list(self.jobs), num_returns=1, timeout=seconds)
        return [(ref, self._ending(ref, self.jobs.pop(ref))) for ref in ready]

    def _ending(self, ref: Any, task: Task) -> Ending:
        try:
            return Ending(task, taken=tuple(self.ray.get(ref)))
        except self.ray.exceptions.RayTaskError as error:
            cause = getattr(error, "cause", None) or error
            words = " ".join(str(cause).split())
            return Ending(task, error=words, fatal=not isinstance(cause, OSError))
        except self.ray.exceptions.RayError as error:
            return Ending(task, error=type(error).__name__, lost=True)

    def stop(self, job: Hashable, *, force: bool = False) -> None:
        with suppress(Exception):  # of one that is over, or whose node is gone
            self.ray.cancel(job, force=force, recursive=False)
        if force:
            self.jobs.pop(job, None)

    def detach(self, request: Mapping[str, Any]) -> None:
        name = driver_name(request["store"])
        driver = self.ray.remote(_Driver).options(
            name=name, namespace="partita", lifetime="detached", num_cpus=0, get_if_exists=True
        )
        self.ray.get(driver.remote(self.words, self.device).start.remote(dict(request)), timeout=SECONDS_TO_ANSWER)

    def recall(self, store: Path) -> None:
        """Ends a drive that was left to the cluster before: it saves what it has, and goes."""
        with suppress(ValueError, self.ray.exceptions.RayError):
            driver = self.ray.get_actor(driver_name(str(store)), namespace="partita")
            with suppress(self.ray.exceptions.RayError):
                self.ray.get(driver.stop.remote(), timeout=SECONDS_TO_STOP)
            self.ray.kill(driver)

    def close(self) -> None:
        self.ray.shutdown()


class _Driver:
    """Drives a study inside the cluster, and ends with it."""

    def __init__(self, words: str, device: str):
        import ray

        self.engine = RayEngine(ray, words, device, stays=True)
        self.asked, self.drives = threading.Event(), []

    def start(self, request: Mapping[str, Any]) -> None:
        drive = threading.Thread(target=self._drive, args=(request,), daemon=True)
        drive.start()
        self.drives.append(drive)

    def stop(self) -> None:
        self.asked.set()
        for drive in self.drives:
            drive.join()

    def _drive(self, request: Mapping[str, Any]) -> None:
        from partita.studies.engines._drive import Drive
        from partita.studies.store import Store

        store = Store(Path(request["store"]))
        runs = [store.run_in(store.folder_named(name)) for name in request["runs"]]
        try:
            drive = Drive(store, self.engine, request["settings"], request["shared"], asked=self.asked.is_set)
            drive.train(runs)
        except Interrupted:
            return  # whoever asked ends the rest
        finally:
            ray = self.engine.ray
            if not self.asked.is_set():
                ray.kill(ray.get_runtime_context().current_actor)


def driver_name(store: str) -> str:
    return f"drive-{hashlib.blake2b(str(Path(store).absolute()).encode(), digest_size=8).hexdigest()}"


def _look(*arguments: Any) -> Node:
    from partita.studies.engines._worker import look

    return look(*arguments)


def _work(task: Task) -> list[str]:
    import ray

    from partita.studies.engines._worker import work

    return work(task, None if task.shared is None else ray.get(task.shared[0]))


def _be_quiet(ray: Any) -> None:
    """Ray prints whatever raylets say of dead workers to stdout, also with log_to_driver=False."""
    if hasattr(ray._private.worker, "print_to_stdstream"):
        ray._private.worker.print_to_stdstream = lambda *data, **how: None


def _connect(ray: Any, address: str | None) -> None:
    _be_quiet(ray)
    if address is None:
        ray.init(address="local", object_store_memory=OBJECT_STORE, **QUIET)  # never one that happens to run here
        return
    host, _, port = address.rpartition(":")
    if port.isdigit() and "://" not in address:
        try:
            socket.create_connection((host or "127.0.0.1", int(port)), SECONDS_TO_CONNECT).close()
        except OSError as error:
            raise OSError(f"no Ray cluster answers at {address}: {error.strerror or error}") from None
    try:
        ray.init(address=address, **{key: value for key, value in QUIET.items() if key != "include_dashboard"})
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise OSError(f"no Ray cluster to work with at {address}: {' '.join(str(error).split())}") from None
