"""Slurm by submitit: its local executor, and the commands of a Slurm that pre-empts."""

import pytest

from partita.data import Dataset
from partita.studies import Store
from partita.studies._train_on import train_on
from partita.studies.engines.on_slurm import SlurmEngine
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
