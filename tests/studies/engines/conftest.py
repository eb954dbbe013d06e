from pathlib import Path

import pytest
import torch

from partita.data import Dataset, load
from partita.studies import Run, Store, plan, train

FAKE = Path(__file__).with_name("fake_slurm.py")
NAMES = ("sbatch", "srun", "sinfo", "sacct", "scontrol", "scancel")


@pytest.fixture(scope="session")
def data() -> Dataset:
    return load("groups", size=200)


@pytest.fixture(scope="session")
def runs(data) -> list[Run]:
    return plan(["vae", "beta_vae"], data, latents=3, steps=400, batch_size=32, seeds=range(2))


@pytest.fixture(scope="session")
def quiet(data, runs, tmp_path_factory) -> dict[str, bytes]:
    """The weights of a local study that nobody disturbs."""
    store = Store(tmp_path_factory.mktemp("quiet"))
    train(runs, data, store, device=torch.device("cpu"))
    return weights(store)


def weights(store: Store) -> dict[str, bytes]:
    return {path.parent.name: path.read_bytes() for path in store.folder.glob("runs/**/weights.safetensors")}


@pytest.fixture
def fake_slurm(tmp_path, monkeypatch) -> Path:
    """Slurm's commands on the path; what they did is in the folder returned."""
    state, commands = tmp_path / "slurm", tmp_path / "bin"
    state.mkdir()
    commands.mkdir()
    for name in NAMES:
        (commands / name).symlink_to(FAKE)
    monkeypatch.setenv("FAKE_SLURM", str(state))
    monkeypatch.setenv("FAKE_SLURM_STUDY", str(tmp_path / "study"))
    monkeypatch.setenv("PATH", str(commands), prepend=":")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    return state
