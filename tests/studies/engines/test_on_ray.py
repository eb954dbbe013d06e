"""A real Ray cluster of two nodes, in a process of its own; faults are benchmarks/trial_cluster.py's."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import partita
from partita.studies import Store
from partita.studies.engines import engine_named
from tests.studies.engines.conftest import weights

pytest.importorskip("ray")

HERE = Path(__file__).parent
SOURCE = Path(partita.__file__).parent


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("ray")


@pytest.fixture(scope="module")
def found(folder):
    other = folder / "other version"
    shutil.copytree(SOURCE, other / "partita", ignore=shutil.ignore_patterns("__pycache__"))
    about = other / "partita" / "__init__.py"
    about.write_text(re.sub(r'__version__ = ".*"', '__version__ = "9.9.9"', about.read_text()))
    return answers("on_a_cluster.py", folder, other)


def answers(script, *words):
    command = [sys.executable, str(HERE / script), *map(str, words)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=280)
    (line,) = [line for line in ended.stdout.splitlines() if line.startswith("FOUND")] or [ended.stderr]
    assert line.startswith("FOUND"), line
    return json.loads(line.removeprefix("FOUND"))


def test_a_cluster_started_for_it(quiet, tmp_path):
    """The same command with and without --on ray gives the same bytes."""
    words = "train vae,beta_vae --data groups:size=200 --latents 3 --steps 400 --batch-size 32 --seeds 0:2 --on ray"
    program = "from partita.cli.main import main; main()"
    command = [sys.executable, "-c", program, *words.split(), "--device", "cpu", "--out", str(tmp_path / "study")]
    ended = subprocess.run(
        command, capture_output=True, text=True, timeout=280, env={**os.environ, "OMP_NUM_THREADS": "1"}
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.startswith("4 of 4 runs are in ")
    assert weights(Store(tmp_path / "study")) == quiet


@pytest.mark.slow
def test_the_bytes_of_a_local_study(found, folder, quiet):
    assert found["workers"] == 2
    assert found["diverged"] == []
    assert weights(Store(folder / "named")) == quiet


@pytest.mark.slow
def test_asking_twice_trains_once(found):
    assert found["again"] is True


@pytest.mark.slow
def test_measuring_is_spread_too(found):
    assert found["measured"] == 4


@pytest.mark.slow
def test_data_in_memory_go_through_the_object_store(found):
    assert found["in memory"] == 1


@pytest.mark.slow
def test_a_store_that_a_node_cannot_see(found):
    """For real: a node with mounts of its own, for which the folder is empty."""
    if "blind" not in found:
        pytest.skip("no node with mounts of its own: unshare --mount is not allowed here")
    assert re.fullmatch(r"OSError: .* does not see .*: choose an --out that is shared by all nodes", found["blind"])
    assert found["blind wrote"] == []


@pytest.mark.slow
def test_a_file_that_a_node_cannot_see_goes_through_the_object_store(found):
    if "unseen data" not in found:
        pytest.skip("no node with mounts of its own: unshare --mount is not allowed here")
    assert found["unseen data"] == [4, 1]  # runs, and how often the data were handed over


@pytest.mark.slow
def test_nodes_of_another_version(found, folder):
    said = (
        rf"ValueError: .* has partita 9\.9\.9 \(here {re.escape(partita.__version__)}\): install the same on all nodes"
    )
    assert re.fullmatch(said, found["versions"])
    assert not list((folder / "other").glob("runs/**/run.json"))


@pytest.mark.slow
def test_ctrl_c_stops_the_work_and_detach_leaves_it(tmp_path):
    found = answers("left_and_stopped.py", tmp_path)
    assert found["began"]
    assert found["status"] == 130
    assert found["said"] == "partita: stopped the cluster's work; the same command goes on from here\n"
    assert found["held"] == 0
    assert found["saved"] >= 1
    assert found["left"].startswith("4 runs are left to the Ray cluster at ")
    assert found["ended"]
    assert found["recalled"] == "partita: stopped the cluster's work; the same command goes on from here\n"
    assert found["held then"] == 0
    assert found["saved then"] >= 1


@pytest.mark.slow
def test_a_slurm_array_beside_ray_trains_nothing_twice():
    """Both on one store, by a trial of benchmarks/trial_cluster.py, which counts who trained what to its end."""
    script = HERE.parents[2] / "benchmarks" / "trial_cluster.py"
    command = [sys.executable, str(script), "--trials", "1", "--kinds", "Slurm beside it"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=280)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "1 trials of 8 runs: 0 lost, 0 trained twice to the end, 0 other" in ended.stdout


def test_no_cluster_at_the_address(tmp_path):
    with pytest.raises(OSError, match="no Ray cluster answers at 127.0.0.1:1: "):
        engine_named("ray:127.0.0.1:1", tmp_path)


def test_no_such_engine(tmp_path):
    with pytest.raises(ValueError, match="--on rai: no such engine .did you mean 'ray'"):
        engine_named("rai", tmp_path)
    assert engine_named("local", tmp_path) is None
