"""Damaged files of every format give a clean error or a valid data set: no crash, no hang, no foreign exception."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

FUZZ = Path(__file__).parent / "fuzz.py"
FORMATS = "npy npz csv parquet h5 tif picture idx norb matlab tar attributes".split()  # noqa: SIM905
FORMATS += "h5ad tenx nwb mat mat73 safetensors trace shard".split()  # noqa: SIM905


def run(kind, count, seed, folder):
    command = [sys.executable, str(FUZZ), kind, str(count), str(seed), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


@pytest.mark.parametrize("kind", FORMATS)
def test_some_damaged_files(kind, tmp_path):
    found = run(kind, 120, 7, tmp_path)
    assert found["refused"] > 30
    assert found["valid"] > 0  # the undamaged ones are among them


@pytest.mark.slow
@pytest.mark.parametrize("kind", FORMATS)
def test_2000_damaged_files(kind, tmp_path):
    assert sum(run(kind, 2000, 8, tmp_path).values()) == 2000
