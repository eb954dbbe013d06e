"""Small real studies, trained and measured here, and a server that really listens."""

import http.client
import json
import shutil
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from partita.data import load
from partita.explorer._study import StudyFolder
from partita.explorer.server import application
from partita.studies import Store, evaluate_run, plan, train

CPU = torch.device("cpu")
# Without the packages of partita[explore] there is nothing here to test.
NEEDED = ("starlette", "uvicorn", "onnx", "onnxscript", "onnxruntime", "anywidget")
collect_ignore_glob = ["test_*.py"] if any(find_spec(name) is None for name in NEEDED) else []


@pytest.fixture(scope="session")
def vectors_study(tmp_path_factory) -> Path:
    """VAE and PDisVAE, linear, two seeds each, on rows whose truth is known; measured."""
    folder, data = tmp_path_factory.mktemp("vectors"), load("groups", size=300, groups=(2, 1), features=5)
    settings = {"groups": (2, 1), "network": "linear", "steps": 30, "seeds": [0, 1], "options": {"restarts": [1]}}
    store = Store(folder)
    runs = plan(["vae", "pdisvae"], data, **settings)
    train(runs, data, store, device=CPU)
    for run in runs:
        evaluate_run(store, run, data, metrics="gaussian_tc", device=CPU)
    return folder


@pytest.fixture(scope="session")
def images_study(tmp_path_factory) -> Path:
    """Bytes of 16 x 16 pixels from a file beside the study, with two factors; not measured."""
    folder = tmp_path_factory.mktemp("images")
    rng = np.random.default_rng(0)
    place, size = np.meshgrid(np.arange(8), np.arange(3), indexing="ij")
    factors = np.repeat(np.stack([place.ravel(), size.ravel()], 1), 5, 0)
    x = rng.integers(0, 30, (len(factors), 1, 16, 16)).astype(np.uint8)
    for row, (left, extent) in enumerate(factors):
        x[row, 0, 4 : 6 + extent, left : left + 2 + extent] = 255
    np.savez(folder / "squares.npz", x=x, factors=factors, factor_names=np.array(["place", "size"]))
    data = load(str(folder / "squares.npz"))
    runs = plan(["pdisvae"], data, groups=(2, 1), network="conv", steps=3, seeds=[0], options={"restarts": [1]})
    train(runs, data, Store(folder / "study"), device=CPU)
    return folder


@pytest.fixture
def copied(tmp_path):
    """A study to break."""

    def copy(folder: Path) -> Path:
        return Path(shutil.copytree(folder, tmp_path / "copy"))

    return copy


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class Served:
    """A server of this process that listens on a port of its own."""

    port: int
    token: str | None = None
    connections: set = field(default_factory=set)  # as the server knows them

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def get(self, path: str, **headers: str) -> Answer:
        return self.ask("GET", path, **headers)

    def post(self, path: str, body: bytes, **headers: str) -> Answer:
        return self.ask("POST", path, body, **({"Origin": self.origin} | headers))

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request(method, path, body, named)
            said = connection.getresponse()
            return Answer(said.status, {k.lower(): v for k, v in said.getheaders()}, said.read())
        finally:
            connection.close()


@contextmanager
def serving(explored: Any, host: str = "127.0.0.1", token: str | None = None) -> Iterator[Served]:
    import uvicorn

    from partita.explorer._connections import more_files, settings

    more_files()
    server = uvicorn.Server(settings(application(explored, host=host, token=token), host, 0))
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]}, daemon=True)
        thread.start()
        while not server.started:
            assert thread.is_alive(), "the server did not start"
            thread.join(0.01)
        yield Served(bound.getsockname()[1], token, server.server_state.connections)
        server.should_exit = True
        thread.join(10)
        assert not thread.is_alive(), "the server did not end"


@pytest.fixture(scope="session")
def served(vectors_study) -> Iterator[Served]:
    with serving(StudyFolder(vectors_study)) as server:
        yield server


@pytest.fixture(scope="session")
def run_id(vectors_study) -> str:
    return next(run.id for run in Store(vectors_study).runs() if run.method == "pdisvae")
