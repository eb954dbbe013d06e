"""Training from disk keeps up with training from memory."""

import time

import h5py
import numpy as np
import pytest
import torch
from PIL import Image

from partita.data import batches, load

BATCH, STEPS = 64, 40


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stream")
    rng = np.random.default_rng(0)
    images = np.repeat(load("dsprites", every=(1, 1, 8, 4, 4)).x[:, 0, :, :, None] * np.uint8(200), 3, -1)
    images = images + rng.integers(0, 50, images.shape, np.uint8)
    with h5py.File(folder / "plain.h5", "w") as file:
        file["images"] = images
    with h5py.File(folder / "packed.h5", "w") as file:
        file.create_dataset("images", data=images, chunks=(16, 64, 64, 3), compression="gzip")
    (folder / "images").mkdir()
    for number, image in enumerate(images):
        Image.fromarray(image).save(folder / f"images/{number:06d}.png")
    return folder


def seconds_a_step(data, model):
    rng = np.random.default_rng(1)
    start = time.perf_counter()
    for x in batches(data, (rng.integers(0, data.size, BATCH) for _ in range(STEPS))):
        model(torch.from_numpy(x)).square().mean().backward()
    return (time.perf_counter() - start) / STEPS


@pytest.mark.slow
@pytest.mark.parametrize("name", ["plain.h5", "packed.h5", "images"])
def test_streaming_keeps_a_model_busy(sources, name, monkeypatch, tmp_path):
    """A convolutional encoder on one core, forwards and backwards: at least 0.7 of its rate from memory."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    torch.manual_seed(0)
    layers = [torch.nn.Conv2d(c, 32, 4, 2, 1) for c in (3, 32, 32, 32)]
    model = torch.nn.Sequential(*(part for layer in layers for part in (layer, torch.nn.ReLU())), torch.nn.Flatten())
    memory, disk = (load(sources / name, stream=stream) for stream in (False, True))
    np.testing.assert_array_equal(memory.observations([5, 3]), disk.observations([5, 3]))
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        seconds_a_step(memory, model)
        ratios = [seconds_a_step(memory, model) / seconds_a_step(disk, model) for _ in range(4)]
    finally:
        torch.set_num_threads(threads)
    print(f"{name}: {ratios[0]:.2f} of the rate from memory at first, then {np.median(ratios[1:]):.2f}")
    assert max(ratios) > 0.7
