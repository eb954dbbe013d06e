"""The wheel, in a clean environment outside the repository: what `pip install partita` gives a stranger works.

The environment holds the wheel, the packages that it declares and those they declare, and no other: neither the
sources nor what only the tests need. They are linked from the environment of the tests, so that nothing is fetched.
"""

import json
import os
import re
import subprocess
import sys
import zipfile
from importlib.metadata import distribution
from pathlib import Path

import numpy as np
import pytest
from packaging.requirements import Requirement

import partita as pt

REPOSITORY = Path(__file__).parents[1]
pytestmark = pytest.mark.slow


def run(*words: str | Path, cwd: Path, **variables: str) -> str:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PARTITA", "PIP_"))}
    ended = subprocess.run([*words], cwd=cwd, env=kept | variables, capture_output=True, text=True, timeout=280)
    assert ended.returncode == 0, f"{words}\n{ended.stdout}\n{ended.stderr}"
    return ended.stdout


def declared(requirements: list[str], seen: set[str]) -> set[str]:
    """The names of the packages that these requirements bring, extras of ours left out."""
    for requirement in map(Requirement, requirements):
        name = re.sub(r"[-_.]+", "-", requirement.name).lower()
        wanted = requirement.marker is None or any(
            requirement.marker.evaluate({"extra": extra}) for extra in ("", *requirement.extras)
        )
        if wanted and name not in seen:
            seen.add(name)
            declared(distribution(name).requires or [], seen)
    return seen


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    pytest.importorskip("hatchling", reason="builds the wheel; pip install hatchling")
    folder = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    run(*pip, "--wheel-dir", folder, REPOSITORY, cwd=folder, PYTHONPATH=os.environ.get("PYTHONPATH", ""))
    (made,) = folder.glob("*.whl")
    return made


@pytest.fixture(scope="module")
def clean(wheel, tmp_path_factory):
    """The folder of programs of a new environment with the wheel and what it declares."""
    folder = tmp_path_factory.mktemp("clean") / "environment"
    run(sys.executable, "-m", "venv", folder, cwd=folder.parent)
    (packages,) = folder.glob("lib/python*/site-packages")
    with zipfile.ZipFile(wheel) as archive:
        (metadata,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        words = archive.read(metadata).decode().split("\n\n")[0]
    for name in declared(re.findall(r"^Requires-Dist: (.+)$", words, re.MULTILINE), set()):
        there = distribution(name)
        for top in {file.parts[0] for file in there.files or [] if file.parts[0] not in ("..", "__pycache__")}:
            if not (packages / top).exists():
                (packages / top).symlink_to(there.locate_file(top))
    run(folder / "bin/python", "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", wheel, cwd=folder.parent)
    return folder / "bin"


def test_the_wheel_holds_the_package_and_nothing_else(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0] for name in names} == {"partita", f"partita-{pt.__version__}.dist-info"}
    sources = {
        path.relative_to(REPOSITORY / "src").as_posix()
        for path in (REPOSITORY / "src").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert {name for name in names if name.startswith("partita/")} == sources


def test_a_stranger_trains_evaluates_and_reports(clean, tmp_path):
    np.save(tmp_path / "mine.npy", np.random.default_rng(0).laplace(size=(300, 3)) @ np.ones((3, 8)).cumsum(1))
    where = run(clean / "python", "-c", "import partita; print(partita.__file__)", cwd=tmp_path)
    assert str(clean.parent) in where
    assert run(clean / "partita", "--version", cwd=tmp_path) == f"partita {pt.__version__}\n"
    found = json.loads(run(clean / "partita", "doctor", "--json", cwd=tmp_path))
    assert found["problems"] == []
    assert {extra["name"] for extra in found["extras"] if extra["version"] is None} >= {"lightgbm", "pyarrow"}
    short = ["--steps", "30", "--latents", "3", "--seeds", "0:2", "--out", "study"]
    run(clean / "partita", "train", "vae", "--data", "mine.npy", *short, cwd=tmp_path)
    assert len(json.loads(run(clean / "partita", "evaluate", "study", "--json", cwd=tmp_path))["runs"]) == 2
    assert run(clean / "partita", "report", "study", cwd=tmp_path).strip() == "study/report.html"
    page = (tmp_path / "study/report.html").read_text()
    assert "<html" in page
    assert "data:image/png;base64," in page or "<svg" in page
    assert {path.name for path in tmp_path.iterdir()} == {"mine.npy", "study"}


def test_a_stranger_fits_an_array(clean, tmp_path):
    script = (
        "import numpy as np, partita as pt\n"
        "X = np.random.default_rng(0).laplace(size=(300, 3)) @ np.arange(24.0).reshape(3, 8) ** 0.5\n"
        "model = pt.Disentangler('pdisvae', groups=(2, 1), steps=30).fit(X)\n"
        "model.save('model.safetensors')\n"
        "print(pt.load('model.safetensors').transform(X).shape, len(model.groups_))\n"
    )
    assert run(clean / "python", "-c", script, cwd=tmp_path) == "(300, 3) 2\n"
