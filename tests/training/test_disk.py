"""Models trained from disk are the models trained from memory."""

import threading

import numpy as np
import pytest
import torch

from partita.data.rows import DiskRows
from partita.recipes import RECIPES, build
from partita.training import Ensemble
from partita.training.disk import STEPS_AHEAD, OnDisk
from partita.training.program import train_models

CPU = torch.device("cpu")


def on_disk(x, read=None):
    return DiskRows(x.shape, x.dtype, read or (lambda rows: x[rows]))


def images(n=50):
    return np.random.default_rng(0).integers(0, 256, (n, 1, 4, 4), np.uint8)


@pytest.mark.parametrize(("method", "options"), [("vae", {}), ("factor_vae", {}), ("pca", {}), ("idvae", {})])
def test_the_same_bytes(method, options):
    """Scaled 8-bit images, several models, an uneven number of epochs, labels where the method takes them."""
    x, labels = images(), build(method, shape=(1,)).recipe.labels != "none"
    house = {"latents": 3, "shape": (1, 4, 4), "network": "mlp", "hidden": (16,), "likelihood": "gaussian"}
    program = build(method, labels=2 * labels, **house, **options)
    recipe, finish = program.recipe, program.candidates[0].finish
    u = np.random.default_rng(1).uniform(0.1, 0.9, (50, 2)).astype(np.float32) if labels else None
    settings = {"x_scale": 1 / 255, "u": u, "batch_size": 16, "device": CPU, "finish": finish}
    held, streamed = (Ensemble([recipe] * 2, [3, 4], source, **settings) for source in (x, on_disk(x)))
    for count in (10, 10, 3, 7):
        held.advance(count)
        streamed.advance(count)
    for name, tensor in held.state().items():
        assert torch.equal(tensor, streamed.state()[name]), name
    for name, tensor in held.model(1).items():
        assert torch.equal(tensor, streamed.model(1)[name]), name


def test_restarts_look_at_the_same_rows(x):
    program = build("pdisvae", latents=4, groups=(2, 2), shape=(8,), network="linear", restarts=2)
    found = []
    for source in (x, on_disk(x)):
        make = lambda recipes, seeds, *_, source=source: Ensemble(recipes, seeds, source, batch_size=20, device=CPU)  # noqa: E731
        found.append(train_models([program], [0], make, 40, log_every=10)[0].model)
    for name, tensor in found[0].items():
        assert torch.equal(tensor, found[1][name]), name


def test_rows_are_read_ahead_on_another_thread_and_only_once():
    x, calls = images(), []

    def read(rows):
        calls.append((threading.current_thread().name, rows.tolist()))
        return x[rows]

    rows = OnDisk(on_disk(x, read), CPU)
    indices = torch.randperm(50, generator=torch.Generator().manual_seed(0)).reshape(10, 1, 5)
    rows.expect(indices[:9])
    for step in range(5):
        np.testing.assert_array_equal(rows[indices[step]].numpy(), x[indices[step].numpy()])
    rows.expect(indices[5:])
    for step in range(5, 10):
        np.testing.assert_array_equal(rows[indices[step]].numpy(), x[indices[step].numpy()])
    assert [index for _, index in calls] == indices.reshape(10, 5).tolist()
    assert all(name.startswith("partita-rows") for name, _ in calls)
    assert len(rows._waiting) == 0


def test_another_index_than_expected_is_read_all_the_same():
    x = images()
    rows = OnDisk(on_disk(x), CPU)
    rows.expect(torch.arange(50).reshape(10, 1, 5))
    other = torch.tensor([[7, 7, 1]])
    np.testing.assert_array_equal(rows[other].numpy(), x[other.numpy()])
    rows.expect(torch.arange(40, 50).reshape(2, 1, 5))
    np.testing.assert_array_equal(rows[torch.arange(40, 45)[None]].numpy(), x[None, 40:45])


def test_no_more_is_read_ahead_than_memory_bears(monkeypatch):
    rows = OnDisk(on_disk(images()), CPU)
    assert rows._steps_ahead(torch.zeros(2, 16)) == STEPS_AHEAD
    monkeypatch.setattr("partita.training.disk.BYTES_AHEAD", 2 * 16 * 2 * 16)
    assert rows._steps_ahead(torch.zeros(2, 16)) == 2
    assert rows._steps_ahead(torch.zeros(64, 16)) == 1


def test_a_row_that_is_not_finite_is_named(x):
    x[17, 3] = np.nan
    recipe = RECIPES["vae"](latents=2, shape=(8,), network="linear")
    runs = Ensemble([recipe], [0], on_disk(x), batch_size=20, device=CPU)
    with pytest.raises(ValueError, match="row 17 of the data on disk holds NaN"):
        runs.advance(10)


@pytest.mark.gpu
def test_on_a_gpu_too():
    """Steps of streamed rows are taken one by one, steps of held rows as a graph: the same numbers to rounding."""
    x = images(200)
    recipe = RECIPES["beta_tcvae"](latents=3, shape=(1, 4, 4), network="mlp", hidden=(16,), likelihood="gaussian")
    settings = {"x_scale": 1 / 255, "batch_size": 16, "device": torch.device("cuda")}
    held, streamed = (Ensemble([recipe] * 2, [3, 4], source, **settings) for source in (x, on_disk(x)))
    for count in (10, 10, 3):
        held.advance(count)
        streamed.advance(count)
    for name, tensor in held.model(1).items():
        torch.testing.assert_close(tensor, streamed.model(1)[name], rtol=1e-3, atol=1e-5)
