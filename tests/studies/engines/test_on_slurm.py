"""Slurm by submitit: its local executor, and the commands of a Slurm that pre-empts."""

import signal
import time
from contextlib import suppress
from pathlib import Path

import pytest

from partita.data import Dataset
from partita.studies import Store, plan
from partita.studies._status import status_of
from partita.studies._train_on import train_on
from partita.studies.engines.on_slurm import SlurmEngine
from partita.training import Interrupted
from tests.studies.engines.conftest import weights

submitit = pytest.importorskip("submitit")


@pytest.mark.slow
def test_submitits_local_executor(data, runs, quiet, tmp_path, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    store = Store(tmp_path / "study")
    engine = SlurmEngine.at("executor=local", store.folder)
    assert train_on(engine, runs, data, store, device="cpu") == []
    engine.close()
    assert weights(store) == quiet
    assert not list(store.folder.glob("slurm"))


def test_a_job_that_is_preempted_goes_on(fake_slurm, data, runs, quiet, tmp_path):
    store = Store(tmp_path / "study")
    engine = SlurmEngine.at("partition=cpu,time=10", store.folder)
    assert engine.words == "Slurm's partition cpu"
    train_on(engine, runs, data, store, device="cpu", checkpoint_seconds=0.05)
    engine.close()
    assert weights(store) == quiet
    task = (fake_slurm / "preempted").read_text()
    assert (fake_slurm / f"requeued-{task}").exists()
    assert "--partition=cpu" in (fake_slurm / "job-100").read_text()
    assert len(list(fake_slurm.glob("job-*"))) == 1  # nobody had to ask again


def wait_for(true, seconds=120.0):
    deadline = time.monotonic() + seconds
    while not true() and time.monotonic() < deadline:
        time.sleep(0.1)
    return true()


def under_way(store):
    with suppress(ValueError):
        return any(worker.step for worker in status_of(store).workers)
    return False


@pytest.fixture
def lasting(fake_slurm):
    """Slurm's commands of one that pre-empts nobody."""
    (fake_slurm / "preempting").touch()
    return fake_slurm


@pytest.mark.slow
def test_work_that_is_left_to_it_goes_on(lasting, data, runs, quiet, tmp_path):
    store = Store(tmp_path / "study")
    engine = SlurmEngine.at("partition=cpu", store.folder)
    assert train_on(engine, runs, data, store, device="cpu", detach=True) == []
    engine.close()  # the jobs' files stay
    assert wait_for(lambda: all(store.has_ended(run.id) for run in runs))
    assert weights(store) == quiet
    again = SlurmEngine.at("partition=cpu", store.folder)
    assert train_on(again, runs, data, store, device="cpu") == []
    assert wait_for(lambda: not again._under_way())
    again.close()
    assert not again.folder.exists()
    assert len(list(lasting.glob("job-*"))) == 1


@pytest.mark.slow
@pytest.mark.parametrize("left", [True, False])
def test_ctrl_c_ends_it_also_what_was_left_before(lasting, data, tmp_path, left):
    long = plan(["vae"], data, latents=3, steps=20_000, batch_size=32, seeds=range(2))
    store = Store(tmp_path / "study")
    if left:
        train_on(SlurmEngine.at("partition=cpu", store.folder), long, data, store, device="cpu", detach=True)
        assert wait_for(lambda: under_way(store))
    engine = SlurmEngine.at("partition=cpu", store.folder)

    def tell():
        if under_way(store):
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(Interrupted, match="stopped the cluster's work"):
        train_on(engine, long, data, store, device="cpu", tell=tell)
    engine.close()
    assert not engine.folder.exists()
    assert wait_for(lambda: not store.leases().held(), 20)
    assert len(store.under_way()) == 1  # what was trained is saved
    processes = [int(path.read_text()) for path in lasting.glob("pid-*")]
    assert len(processes) == 1
    assert wait_for(lambda: not any(Path(f"/proc/{each}/cmdline").exists() for each in processes), 20)


def test_what_is_wrong_is_said_before_anything_runs(fake_slurm, tmp_path):
    with pytest.raises(ValueError, match="no partition 'gup' .did you mean 'gpu'.*there are cpu, gpu"):
        SlurmEngine.at("partition=gup", tmp_path)
    with pytest.raises(ValueError, match="'partitoin=gpu' is no option"):
        SlurmEngine.at("partitoin=gpu", tmp_path)
    with pytest.raises(ValueError, match="gpus=1"):
        SlurmEngine.at("partition=gpu", tmp_path, "cuda")
    assert not list(fake_slurm.iterdir())


def test_without_slurm(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(OSError, match="no Slurm here"):
        SlurmEngine.at("partition=gpu", tmp_path)


def test_data_in_memory_are_refused(tmp_path, data):
    engine = SlurmEngine.at("executor=local", tmp_path)
    assert isinstance(data, Dataset)
    with pytest.raises(ValueError, match="save them to a file"):
        engine.share(data)
