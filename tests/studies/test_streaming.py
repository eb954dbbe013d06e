"""A study trained from disk is the study trained from memory, byte for byte; and it is measured and shown like any."""

import h5py
import numpy as np
import pytest
import torch
from PIL import Image

from partita.data import load
from partita.data.rows import DiskRows
from partita.reports import write_page
from partita.studies import Store, evaluate_run, plan, reload, train
from partita.studies.source import described

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sources")
    sprites = load("pdsprites")
    images = (sprites.x[:240, 0] * np.uint8(255)).astype(np.uint8)
    with h5py.File(folder / "plain.h5", "w") as file:
        file["images"], file["factors"] = images, sprites.factors[:240]
    with h5py.File(folder / "packed.h5", "w") as file:
        file.create_dataset("images", data=images, chunks=(7, 32, 32), compression="gzip")
    with h5py.File(folder / "table.h5", "w") as file:
        file.create_dataset("x", data=np.random.default_rng(0).normal(size=(300, 6)))
    (folder / "images").mkdir()
    for number, image in enumerate(images):
        Image.fromarray(image).save(folder / f"images/{number:03d}.png")
    return folder


@pytest.mark.parametrize(
    ("name", "options"), [("plain.h5", {}), ("packed.h5", {}), ("table.h5", {}), ("images", {"size": 32})]
)
def test_the_same_weights_from_disk_and_from_memory(sources, tmp_path, monkeypatch, name, options):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    weights, ids = [], []
    for stream in (False, True):
        dataset = load(sources / name, stream=stream, **options)
        assert isinstance(dataset.x, DiskRows) == stream
        runs = plan(["beta_tcvae"], dataset, latents=3, hidden=(16,), network="mlp", seeds=(0, 1), steps=30)
        store = Store(tmp_path / str(stream))
        assert train(runs, dataset, store, device=CPU) == []
        weights.append([(store.folder_of(run) / "weights.safetensors").read_bytes() for run in runs])
        ids.append([run.id for run in runs])
    assert weights[0] == weights[1]
    assert ids[0] == ids[1]  # what a run is does not depend on where its rows were


def test_measured_and_shown(sources, tmp_path, monkeypatch):
    """As `partita evaluate` and `partita report` do, on a machine whose memory the array would fill."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("partita.data.rows.free_memory", lambda: 100_000)
    dataset = load(sources / "plain.h5")
    assert isinstance(dataset.x, DiskRows)
    runs = plan(["vae"], dataset, latents=3, hidden=(16,), network="mlp", steps=30)
    assert runs[0].architecture["likelihood"] == "bernoulli"
    store = Store(tmp_path / "study")
    train(runs, dataset, store, device=CPU)
    again = reload(runs[0].data)
    assert isinstance(again.x, DiskRows)
    scores = evaluate_run(store, runs[0], again)
    assert scores["n"] == 240
    assert scores["metrics"]["mig"]["value"] >= 0
    assert write_page(store, again, tmp_path / "page.html").stat().st_size > 10_000


def test_large_arrays_are_known_by_stretches_of_them(sources, monkeypatch):
    """The same hash in memory and on disk; a change in a stretch that is read shows."""
    monkeypatch.setattr("partita.studies.source.BYTES_READ_WHOLE", 1000)
    monkeypatch.setattr("partita.studies.source.BYTES_A_STRETCH", 4 * 1024)
    held, streamed = (load(sources / "plain.h5", stream=stream) for stream in (False, True))
    assert described(held)["digest"] == described(streamed)["digest"]
    changed = np.array(held.x)
    changed[-1, 0, 0, 0] += 1
    other = described(type(held)(name="plain", x=changed, description=held.description))
    assert other["digest"] != described(held)["digest"]
