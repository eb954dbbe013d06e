"""A small study, trained once; copies of it to be damaged."""

import shutil
from pathlib import Path

import pytest
import torch

from partita.data import Dataset, load
from partita.studies import Run, Store, plan, train


@pytest.fixture(scope="session")
def small_data() -> Dataset:
    return load("groups", size=64)


@pytest.fixture(scope="session")
def small_runs(small_data) -> list[Run]:
    return plan(["vae"], small_data, latents=3, steps=4, batch_size=32, seeds=range(3))


@pytest.fixture(scope="session")
def trained_once(small_data, small_runs, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("trained") / "study"
    train(small_runs, small_data, Store(folder), device=torch.device("cpu"))
    return folder


@pytest.fixture
def small_study(trained_once, tmp_path) -> Store:
    shutil.copytree(trained_once, tmp_path / "study")
    return Store(tmp_path / "study")
