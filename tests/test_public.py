"""What users import: names that a type checker knows, and packages that say what they are made of."""

import importlib
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

import partita as pt

PYRIGHT = Path(sys.executable).parent / "pyright"
SOURCE = Path(pt.__file__).parents[1]
RIGHT = """
import numpy as np

import partita as pt


def mine(*, beta: float = 2.0, latents: int = 6, **architecture) -> pt.recipes.Recipe:
    groups = pt.distributions.as_groups(None, latents)
    measures = (pt.measures.reconstruction, pt.measures.kl)
    return pt.recipes.one_player(measures, {"recon": 1, "kl": beta}, groups=groups, latents=latents, **architecture)


x = np.zeros((10, 3))
model = pt.Disentangler(mine, latents=2, callbacks=[lambda step, quantities: step > 3]).fit(x)
model.save("model")
codes = pt.load("model", method=mine).transform(x)
print(pt.correlation(codes, codes, codes).tc, pt.gaussian_tc(codes), pt.RECIPES["vae"], pt.trace.Carry((0.0,)))
print(pt.studies.plan([mine, "vae"], pt.data.load("groups")), pt.metrics.mig, pt.networks.Architecture((3,), 2))
"""


@pytest.mark.skipif(not PYRIGHT.exists(), reason="pyright is not installed beside this Python")
def test_a_typo_is_an_error_to_a_type_checker(tmp_path):
    (tmp_path / "pyrightconfig.json").write_text(f'{{"extraPaths": ["{SOURCE}"]}}')
    (tmp_path / "right.py").write_text(RIGHT)
    (tmp_path / "wrong.py").write_text(RIGHT.replace("pt.Disentangler(", "pt.Disentanglr("))
    (tmp_path / "deep.py").write_text(RIGHT.replace("pt.measures.kl", "pt.measures.kll"))
    command = [str(PYRIGHT), "--pythonpath", sys.executable, "-p", "."]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=250)
    errors = [line for line in ended.stdout.splitlines() if " - error: " in line]
    assert len(errors) == 2, ended.stdout
    assert "deep.py" in errors[0]
    assert '"kll" is not a known attribute' in errors[0]
    assert "wrong.py" in errors[1]
    assert '"Disentanglr" is not a known attribute of module "partita"' in errors[1]


def test_types_are_part_of_the_package():
    assert (Path(pt.__file__).parent / "py.typed").exists()


@pytest.mark.parametrize("room", ["partita", *(f"partita.{name}" for name in pt.__all__ if name.islower())])
def test_public_names_are_there_and_said_once(room):
    try:
        module = importlib.import_module(room)
    except ModuleNotFoundError:  # a function
        return
    assert len(set(module.__all__)) == len(module.__all__)
    for name in module.__all__:
        assert getattr(module, name) is not None


def test_what_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'Disentanglr'"):
        pt.Disentanglr  # noqa: B018
    assert sorted(pt.__all__) == sorted(dir(pt))


SCRIPT = """
import sys

import partita as pt


class Spread:
    def __call__(self, trace):
        return {"spread": trace.z.square().mean()}

    def __eq__(self, other):
        return isinstance(other, Spread)

    def __hash__(self):
        return 0


def mine(*, gamma: float = 0.5, latents: int = 3, **architecture) -> pt.recipes.Recipe:
    measures = (pt.measures.reconstruction, pt.measures.kl, Spread())
    weights = {"recon": 1, "kl": 1, "spread": pt.recipes.Ramp(0.0, gamma, 5)}
    groups = pt.distributions.as_groups(None, latents)
    return pt.recipes.one_player(measures, weights, groups=groups, latents=latents, **architecture)


folder = sys.argv[1]
data = pt.data.load("groups", size=100)
model = pt.Disentangler(mine, options={"gamma": 2.0}, steps=5, device="cpu").fit(data.x)
model.save(folder + "/model.safetensors")
back = pt.load(folder + "/model.safetensors")
same = (back.transform(data.x) == model.transform(data.x)).all()

import pathlib

import torch

runs = pt.studies.plan([mine], data, options={"gamma": [0.5, 2.0]}, steps=5)
store = pt.studies.Store(pathlib.Path(folder) / "study")
pt.studies.train(runs, data, store, device=torch.device("cpu"))
scores = [pt.studies.evaluate_run(store, run, data) for run in store.runs()]
"""


def test_a_method_in_a_script_needs_nothing_but_partita(tmp_path, monkeypatch):
    (tmp_path / "script.py").write_text(SCRIPT)
    monkeypatch.setattr(sys, "argv", ["script.py", str(tmp_path)])
    found = runpy.run_path(str(tmp_path / "script.py"), run_name="__main__")
    assert found["same"]
    assert len(found["scores"]) == 2
    assert "spread" in found["model"].history_
    with pytest.raises(ValueError, match=r"__main__:mine.*load\(path, method="):
        pt.load(tmp_path / "model.safetensors")
    assert pt.load(tmp_path / "model.safetensors", method=found["mine"]).options == {"gamma": 2.0}
