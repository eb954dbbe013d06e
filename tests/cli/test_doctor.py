"""`partita doctor`, `partita --version`, and `partita` alone."""

import json
import os
import re
import tomllib
from pathlib import Path

import pytest

import partita as pt
from partita.cli.doctor import EXTRAS, REQUIRED

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]


def packages(requirements: list[str]) -> set[str]:
    return {re.match(r"[\w-]+", each)[0] for each in requirements}


def test_the_version_is_that_of_the_package(partita):
    assert partita("--version").stdout == f"partita {pt.__version__}\n"
    assert PROJECT["version"] == pt.__version__


def test_the_command_alone_shows_what_there_is(partita):
    ended = partita()
    assert ended.returncode == 0
    assert ended.stderr == ""
    assert all(command in ended.stdout for command in ("train", "evaluate", "report", "doctor", "--version"))


def test_every_package_of_the_project_is_looked_for():
    assert set(REQUIRED) == packages(PROJECT["dependencies"])
    extras = [each for name, each in PROJECT["optional-dependencies"].items() if name not in ("dev", "docs")]
    assert set().union(*map(packages, extras)) <= set(EXTRAS)


def test_doctor_prints_one_document(partita):
    ended = partita("doctor", "--json")
    assert ended.returncode == 0, ended.stdout
    found = json.loads(ended.stdout)
    assert found["partita"] == pt.__version__
    assert all(found["versions"].values())
    assert found["device"]["auto"] == ("cuda" if found["device"]["gpus"] else "cpu")
    assert 0 < found["memory"]["free"] <= found["memory"]["total"]
    assert {cache["name"] for cache in found["caches"]} >= {"kernels", "compiled steps", "data sets"}
    assert [extra["name"] for extra in found["extras"]] == list(EXTRAS)
    assert found["problems"] == []


def test_doctor_speaks_to_a_person(partita):
    said = partita("doctor").stdout
    for word in ("packages", "device", "compiler", "memory", "cache", "extra", "everything that partita needs works"):
        assert word in said


def test_a_compiler_that_is_not_there_is_a_note(partita):
    ended = partita("doctor", "--json", env=os.environ | {"CC": "no-such-compiler"})
    found = json.loads(ended.stdout)
    assert (ended.returncode, found["compiler"]["cc"], found["compiler"]["kernels"]) == (0, None, False)
    assert any("name one by CC" in note for note in found["notes"])


@pytest.mark.parametrize(("programs", "threads", "said"), [(9.0, 2, True), (9.0, 1, False), (0.5, 2, False)])
def test_a_busy_computer_is_a_note_where_threads_would_wait(partita_here, monkeypatch, programs, threads, said):
    monkeypatch.setattr("os.getloadavg", lambda: (programs, 0.0, 0.0))
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    monkeypatch.setattr("torch.get_num_threads", lambda: threads)
    assert ("9 programs at a time want these 2 cores" in partita_here("doctor").stdout) == said


def test_what_partita_needs_and_has_not_is_a_problem(partita_here, monkeypatch, tmp_path):
    monkeypatch.setenv("PARTITA_DATA", str(tmp_path / "nowhere"))
    monkeypatch.setattr("partita.cli.doctor.REQUIRED", ("torch", "no-such-package"))
    ended = partita_here("doctor")
    assert ended.returncode == 1
    assert "PROBLEM   no-such-package is not installed: pip install no-such-package" in ended.stdout
    assert f"PROBLEM   PARTITA_DATA names {tmp_path / 'nowhere'}, which is no folder" in ended.stdout
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize(("left_out", "bytes_there"), [([], 7), (["kernels"], 3)])
def test_a_cache_is_measured_without_what_has_a_line_of_its_own(tmp_path, left_out, bytes_there):
    from partita.cli.doctor import _size

    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels/one.so").write_bytes(b"1234")
    (tmp_path / "set.npz").write_bytes(b"123")
    assert _size(tmp_path, [tmp_path / name for name in left_out]) == bytes_there
