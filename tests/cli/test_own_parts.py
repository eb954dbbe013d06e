"""module:function on the command line."""

import json

import numpy as np
import pytest

MODULE = """
from torch import nn
import partita as pt


def narrow(*, beta: float = 2.0, latents: int = 2, **architecture):
    return pt.RECIPES["beta_vae"](beta=beta, latents=latents, **architecture)


def affine(shape, outputs, inputs):
    return nn.Linear(shape[0], outputs), nn.Linear(inputs, shape[0])


waiting = pt.distributions.Likelihood(
    "exponential",
    log_density=lambda x, log_rate: log_rate - x * log_rate.exp(),
    mean=lambda log_rate: (-log_rate).exp(),
    suits=lambda values: values >= 0,
    takes="numbers of 0 or more",
)
"""
TRAIN = ("--data", "groups:size=100", "--steps", "4", "--out", "study", "--device", "cpu")


@pytest.fixture
def module(tmp_path):
    (tmp_path / "mine.py").write_text(MODULE)
    return tmp_path / "mine.py"


def test_from_training_to_a_report(partita, module, tmp_path):
    ended = partita("train", "mine:narrow,vae", "--network", "mine:affine", "--latents", "2", *TRAIN)
    assert (ended.returncode, ended.stderr) == (0, "")
    contents = [json.loads(path.read_text()) for path in tmp_path.glob("study/runs/**/run.json")]
    assert {content["architecture"]["network"] for content in contents} == {"mine:affine"}
    assert {content["method"]: sorted(content["sources"]) for content in contents} == {
        "mine:narrow": ["mine:affine", "mine:narrow"],
        "vae": ["mine:affine"],
    }
    again = partita("train", "mine:narrow", "--network", "mine:affine", "--latents", "2", "--beta", "1,2", *TRAIN)
    assert again.returncode == 0, again.stderr
    assert len(list(tmp_path.glob("study/runs/*/*"))) == 4
    measured = partita("evaluate", "study")
    assert measured.returncode == 0, measured.stderr
    assert "mine:narrow(beta=1.0,latents=2)" in measured.stdout.replace(", ", ",")
    assert partita("report", "study").returncode == 0
    assert partita("verify", "study").returncode == 0
    module.write_text(MODULE.replace("def narrow(", "def other("))
    for command in ("evaluate", "report"):
        ended = partita(command, "study")
        assert ended.returncode == 1
        assert "mine:narrow is gone" in ended.stderr
        assert "Traceback" not in ended.stderr
    said = partita("verify", "study")
    assert said.returncode == 0
    assert said.stdout.count("lacking ") == 3
    changed = partita("train", "vae", "--network", "mine:affine", "--latents", "2", *TRAIN)
    assert changed.returncode == 0
    module.unlink()
    ended = partita("evaluate", "study")
    assert ended.returncode == 1
    assert "import mine first (commands find it in the folder they are run in)" in ended.stderr


def test_a_likelihood_from_training_to_a_report(partita, module, tmp_path):
    times = np.random.default_rng(0).exponential(size=(60, 4)).astype(np.float32)
    np.save(tmp_path / "times.npy", times)
    options = ("--data", "times.npy", "--likelihood", "mine:waiting", "--latents", "2", *TRAIN[2:])
    ended = partita("train", "vae", *options)
    assert (ended.returncode, ended.stderr) == (0, "")
    (content,) = [json.loads(path.read_text()) for path in tmp_path.glob("study/runs/**/run.json")]
    assert content["architecture"]["likelihood"] == "mine:waiting"
    assert list(content["sources"]) == ["mine:waiting"]
    for command in ("evaluate", "report", "verify"):
        ended = partita(command, "study")
        assert ended.returncode == 0, ended.stderr
    module.write_text(MODULE.replace("log_rate - x", "2 * log_rate - x"))
    ended = partita("evaluate", "study")
    assert ended.returncode == 1
    assert "mine:waiting has changed since" in ended.stderr


def test_what_comes_with_a_study_is_not_run(partita, module, tmp_path):
    assert partita("train", "mine:narrow", *TRAIN).returncode == 0
    (tmp_path / "study" / "mine.py").write_text(MODULE + "print('run')\n")
    module.unlink()
    ended = partita("evaluate", ".", cwd=tmp_path / "study")
    assert ended.returncode == 1
    assert ended.stdout == ""
    assert "import mine first" in ended.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["mine:nothing"], "mine:nothing: mine has no nothing"),
        (["mine:narow"], "did you mean 'narrow'"),
        (["nowhere:narrow"], "nowhere:narrow: No module named 'nowhere'"),
        (["broken:narrow"], "broken:narrow: importing broken failed: ZeroDivisionError"),
        (["vae", "--network", "mine:narrow"], "network narrow failed: TypeError"),
        (["mine:narrow", "--gamma", "3"], "narrow has no option --gamma"),
        (["vae", "--likelihood", "mine:nothing"], "mine has no nothing"),
        (["vae", "--likelihood", "gaussian:x"], "unknown likelihood 'gaussian:x'"),
        (["vae", "--likelihood", "mine:affine"], "unknown likelihood <function affine"),
        (["vae", "--likelihood", "mine:waiting"], "'exponential' takes numbers of 0 or more, and the data"),
    ],
)
def test_bad_names_are_refused_in_one_line(partita, module, tmp_path, words, said):
    (tmp_path / "broken.py").write_text("1 / 0\n")
    ended = partita("train", *words, *TRAIN)
    assert ended.returncode == 2
    assert said in ended.stderr
    assert len(ended.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "study").exists()
