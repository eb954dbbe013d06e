"""The command under torchrun: two processes on the CPU that train one study."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "-m", "partita"]
WORDS = ["train", "pdisvae", "--data", "groups:size=300", "--groups", "2,2,2", "--device", "cpu"]


@pytest.fixture
def start(tmp_path):
    def started(*words: str) -> subprocess.Popen:
        environment = os.environ | {"OMP_NUM_THREADS": "1"}
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        return subprocess.Popen([*TORCHRUN, *words], cwd=tmp_path, env=environment, **pipes)

    return started


def finish(process: subprocess.Popen) -> str:
    said, errors = process.communicate(timeout=200)
    assert process.returncode == 0, errors
    return said


def weights(out: Path) -> dict[str, Path]:
    return {path.parent.name: path for path in out.glob("runs/**/weights.safetensors")}


def same_models(one: Path, other: Path) -> bool:
    assert weights(one).keys() == weights(other).keys()
    for name, path in weights(one).items():
        for key, value in load_file(path).items():
            torch.testing.assert_close(load_file(weights(other)[name])[key], value, rtol=1e-5, atol=1e-5)
    return True


def test_processes_share_the_runs_of_a_study(start, partita, tmp_path):
    words = [*WORDS, "--steps", "60", "--seeds", "0:3"]
    assert finish(start(*words, "--out", "two")) == "3 of 3 runs are in two; next: partita evaluate two\n"
    assert not list((tmp_path / "two" / "ensembles").glob("*"))
    assert partita(*words, "--out", "one").returncode == 0
    assert len(weights(tmp_path / "one")) == 3
    assert same_models(tmp_path / "one", tmp_path / "two")


def test_what_cannot_be_shared_is_refused_by_every_process(start, tmp_path):
    process = start(*WORDS, "--steps", "10", "--batch-size", "15", "--out", "none")
    said, errors = process.communicate(timeout=200)
    assert process.returncode != 0
    assert not said
    ours = [line for line in errors.splitlines() if line.startswith("partita: ")]
    assert any(line.startswith("partita: 2 processes cannot share a batch of 15 rows") for line in ours), errors
    assert not any("Error" in line for line in ours)
    assert not weights(tmp_path / "none")


def test_an_unknown_split_is_refused(partita, tmp_path):
    ended = partita(*WORDS, "--split", "models")
    assert ended.returncode == 2
    assert ended.stderr == "partita: unknown split 'models': choose from auto, runs, rows\n"


@pytest.mark.slow
@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
def test_one_run_over_two_processes_stopped_and_continued(start, partita, tmp_path, sign):
    """In the bytes of two processes that were never stopped, within rounding those of one."""
    words = [*WORDS, "--steps", "600"]
    finish(start(*words, "--out", "straight"))
    process = start(*words, "--out", "stopped")
    deadline = time.monotonic() + 120
    log = tmp_path / "stopped" / "runs"
    while not [path for path in log.rglob("history.jsonl") if path.stat().st_size] and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(sign)
    _, errors = process.communicate(timeout=100)
    assert process.returncode != 0
    assert errors.count("the same command goes on from here") == 1
    assert not weights(tmp_path / "stopped")
    finish(start(*words, "--out", "stopped"))
    (one,), (other,) = (list(weights(tmp_path / out).values()) for out in ("straight", "stopped"))
    assert one.read_bytes() == other.read_bytes()
    assert partita(*words, "--out", "alone").returncode == 0
    assert same_models(tmp_path / "alone", tmp_path / "stopped")
    found = json.loads(partita("evaluate", "stopped", "--json").stdout)["runs"]
    assert len(found) == 1
    assert 0 <= found[0]["alignment"]["r2"] <= 1
