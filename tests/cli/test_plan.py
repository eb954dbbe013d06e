"""A study in one file: what it says is what the command line says, and what is wrong in it is said with its line."""

import json
import tomllib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from partita.cli.plan_file import _as_flag, _toml, _value, keep, metrics_of, read_plan, written

KNOWN = ["method", "data", "steps", "seeds", "groups", "labels", "metrics", "out", "device", "learning_rate"]

TRAINED = [
    "vae,pdisvae --data groups:size=40,seed=3 --seeds 0:2",
    "ours:own_method --data rows.npy --latents 2 --beta 3",
]
ASKED = [
    "beta_vae --data groups:size=40 --beta 1,2.5,4 --seeds 1,4,7",
    "vae --data groups:size=40",
    "vae --data groups:size=40,groups=[2,2] --latents 4 --seeds 3",
    "pdisvae --data groups:size=40 --groups [[0,3],[1],[2,4,5]] --beta=8 --by mss",
    "pdisvae --data groups:size=40 --groups 3,3 --by bank:20 --anneal 1 --restarts 2 --judge median",
    "pdisvae --data groups:size=40 --groups auto --posterior diagonal",
    "pdisvae,hfvae,factor_vae --data rows.npy --groups 2,1 --restarts 3 --posterior full",
    "vae --data rows.npy --latents 2 --network mlp --likelihood gaussian:0.25 --scale standard --learning-rate 3e-4",
    "vae --data rows.npy --latents 3 --validation blocks:0.2 --patience 3 --batch-size 7 --log-metrics gaussian_tc",
    "vae --data rows.npy --latents 3 --validation 0.10,0.2 --precision bf16 --prior laplace",
    "annealed_vae --data rows.npy --latents 2 --gamma 1e3,+5,.5 --learning-rate 1e-05",
    "control_vae,dip_vae_i,dip_vae_ii,beta_stcvae --data rows.npy --latents 2 --disintegration 0",
    "ss_ivae --data table.csv:columns=a,b,c,labels=d --labelled 0.5 --latents 2 --network linear",
    "vae --data table.csv:factors=c,d --covariates c,d --latents 2 --scale one",
    "factor_vae --data rows.npy --gamma 1e1,20 --latents 2 --width 8 --depth 1 --start random",
    "pca,ica --data groups:size=40 --latents 3 --metrics gaussian_tc",
    "infogan --data rows.npy --latents 2 --metrics all --seeds 0:3",
]
OWN = """
from partita.measures.elbo import kl, reconstruction
from partita.recipes import one_player

def own_method(*, beta: float = 2.0, latents: int = 2, **architecture):
    groups = tuple((k,) for k in range(latents))
    return one_player((reconstruction, kl), {"recon": 1, "kl": beta}, groups=groups, latents=latents, **architecture)
"""


@pytest.fixture
def files(tmp_path):
    np.save(tmp_path / "rows.npy", np.random.default_rng(0).standard_normal((40, 5)).astype(np.float32))
    rows = "".join(f"{i},{i % 7},{i * i % 11},{i % 2}\n" for i in range(40))
    (tmp_path / "table.csv").write_text(f"a,b,c,d\n{rows}")
    (tmp_path / "ours.py").write_text(OWN)
    return tmp_path


@pytest.mark.parametrize("command", ASKED)
def test_a_command_line_and_the_plan_it_writes_ask_for_the_same_runs(command, files, monkeypatch, capsys):
    """All but the training, which the tests below do."""
    from partita.cli.main import app

    asked = []
    monkeypatch.chdir(files)
    monkeypatch.setattr("partita.studies.train", lambda runs, *_, **__: asked.append([run.id for run in runs]) or [])
    app(["train", *command.split(), "--steps", "1", "--out", "first"], standalone_mode=False)
    app(["train", "--plan", "first/study.toml", "--out", "second"], standalone_mode=False)
    assert asked[0]
    assert asked[0] == asked[1]
    assert (files / "second/study.toml").read_bytes() == (files / "first/study.toml").read_bytes()


@pytest.mark.parametrize("command", TRAINED)
def test_a_command_line_and_the_plan_it_writes_are_the_same_runs(command, partita, files, tmp_path):
    first = partita("train", *command.split(), "--steps", "1", "--out", "first")
    assert first.returncode == 0, first.stderr
    runs = {path: path.stat().st_mtime_ns for path in (tmp_path / "first/runs").rglob("*.*")}
    assert runs
    # asked for again by its plan, every run is there already: the ids are the same, so nothing is trained or written
    again = partita("train", "--plan", "first/study.toml", "--out", "first")
    assert again.returncode == 0, again.stderr
    assert again.stdout == first.stdout
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "first/runs").rglob("*.*")} == runs
    assert len(list((tmp_path / "first").glob("*.toml"))) == 1


def test_elsewhere_a_plan_trains_the_same_bytes(partita, tmp_path):
    assert partita("train", "vae", "--data", "groups:size=40", "--steps", "2", "--out", "first").returncode == 0
    assert partita("train", "--plan", "first/study.toml", "--out", "second").returncode == 0
    first, second = (sorted((tmp_path / out / "runs").rglob("*.*")) for out in ("first", "second"))
    assert [path.name for path in first] == [path.name for path in second]
    assert all(one.read_bytes() == other.read_bytes() for one, other in zip(first, second) if one.is_file())


PLAN = """# a study
data = "groups:size=40"   # small
steps = 1
seeds = [0, 1]
metrics = ["gaussian_tc"]

[[methods]]
name = "beta_vae"
beta = [1, 4]

[[methods]]
name = "pdisvae"
beta = 8.0
restarts = 2

[[methods]]
name = "pdisvae"
"""


def test_every_method_has_its_own_weights_and_the_plan_its_metrics(partita, tmp_path):
    (tmp_path / "mine.toml").write_text(PLAN)
    trained = partita("train", "--plan", "mine.toml", "--out", "study", "--device", "cpu")
    assert trained.returncode == 0, trained.stderr
    assert (tmp_path / "study/study.toml").read_text() == PLAN  # as it was, with its comments
    runs = [json.loads(path.read_text()) for path in (tmp_path / "study/runs").rglob("run.json")]
    asked = [(run["method"], run["options"].get("beta"), run["options"].get("restarts", 1)) for run in runs]
    expected = [("beta_vae", 1.0, 1), ("beta_vae", 4.0, 1), ("pdisvae", 8.0, 2), ("pdisvae", None, 1)]
    assert sorted(asked, key=str) == sorted(expected * 2, key=str)
    measured = partita("evaluate", "study", "--json")
    assert measured.returncode == 0, measured.stderr
    assert all(set(run["metrics"]) == {"gaussian_tc"} for run in json.loads(measured.stdout)["runs"])


WRONG = [
    ("steps = 1", "step = 1", 3, "a study has no 'step' (did you mean 'steps'?)"),
    ("steps = 1", "steps = 'many'", 3, "--steps"),
    ("steps = 1", "steps = 0", 3, "steps must be a whole number"),
    ("steps = 1", "steps = ", 3, "Invalid value"),
    ("steps = 1", "device = 'cpu'", 3, "give --device on the command line"),
    ("steps = 1", "steps = {a = 1}", 3, "must be text, a number"),
    ("seeds = [0, 1]", "seeds = '5:5'", 4, "at least one seed"),
    ('"groups:size=40"', '"grops"', 2, "did you mean 'groups'"),
    ('["gaussian_tc"]', '["gausian_tc"]', 5, "did you mean 'gaussian_tc'"),
    ("beta = [1, 4]", "bta = [1, 4]", 9, "did you mean --beta?"),
    ("beta = [1, 4]", "beta = ['four']", 9, "expected a number"),
    ("beta = 8.0", "beta = -8.0", 13, "beta must be a finite number"),
    ("restarts = 2", "restarts = 0", 14, "restarts must be a whole number"),
    ('name = "beta_vae"', 'name = "beta_vea"', 8, "did you mean 'beta_vae'"),
    ('name = "beta_vae"', "name = 3", 7, "a method has a name"),
    ('name = "beta_vae"', 'name = "nowhere:method"', 8, "nowhere:method"),
    ("beta = [1, 4]", "beta = [1, 4]\nbeta = 2", 10, "Cannot overwrite"),
]


@pytest.mark.parametrize(("right", "wrong", "line", "words"), WRONG, ids=[f"{w[1][:24]}" for w in WRONG])
def test_what_is_wrong_is_said_with_its_line_before_anything_runs(right, wrong, line, words, partita, tmp_path):
    (tmp_path / "mine.toml").write_text(PLAN.replace(right, wrong, 1))
    ended = partita("train", "--plan", "mine.toml", "--out", "study")
    assert ended.returncode == 2
    assert ended.stdout == ""
    assert len(ended.stderr.splitlines()) == 1
    assert f"mine.toml, line {line}: " in ended.stderr
    assert words in ended.stderr
    assert not (tmp_path / "study").exists()


@pytest.mark.parametrize(("words", "said"), [
    (["--plan", "nothing.toml"], "nothing.toml: No such file"),
    (["--plan", "mine.toml", "--steps", "3"], "--steps stands in the plan"),
    (["--plan", "mine.toml", "--beta=3"], "--beta stands in the plan"),
    (["vae", "--plan", "mine.toml"], "leave"),
    (["--plan"], "--plan"),
    (["--plan", "empty.toml"], "methods are missing"),
    (["--plan", "no_data.toml"], "data is missing"),
    (["--plan", "bytes.toml"], "is no text"),
])  # fmt: skip
def test_other_ways_to_go_wrong(words, said, partita, tmp_path):
    (tmp_path / "mine.toml").write_text(PLAN)
    (tmp_path / "empty.toml").write_text("")
    (tmp_path / "no_data.toml").write_text('methods = ["vae"]\n')
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe\x00")
    ended = partita("train", *words)
    assert ended.returncode == 2
    assert len(ended.stderr.splitlines()) == 1
    assert said in ended.stderr


@pytest.mark.parametrize(
    "flag", ["--log-metrics=migg", "--device=gpu", "--split=all", "--track=nobody", "--metrics=migg"]
)
def test_what_is_refused_leaves_no_plan_behind(flag, partita, tmp_path):
    ended = partita("train", "vae", "--data", "groups:size=40", "--steps", "1", flag)
    assert ended.returncode == 2
    assert len(ended.stderr.splitlines()) == 1
    assert not list(tmp_path.iterdir())


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)


@given(texts)
def test_any_text_is_toml_and_read_again(text):
    assert tomllib.loads(f"a = {_toml(text)}")["a"] == text
    assert _as_flag(tomllib.loads(f"a = {_toml(_value(text))}")["a"], "") == text or text.startswith("[")


@given(
    st.lists(
        st.one_of(st.integers(-9, 10**9), st.floats(allow_nan=False, allow_infinity=False)), min_size=1, max_size=4
    )
)
def test_numbers_are_read_as_they_were_typed(numbers):
    text = ",".join(map(repr, numbers))
    content = tomllib.loads(written({"method": "vae", "data": "groups"}, ["--beta", text]))
    assert _as_flag(content["methods"][0]["beta"], "") == text


def test_short_form_and_other_spellings(tmp_path):
    path = tmp_path / "short.toml"
    path.write_text(
        'data = "groups"\nlearning-rate = 1e-2\ngroups = [[0, 1], [2]]\nlabels = "a,b"\nmethods = ["vae", "pca"]\n'
    )
    found = read_plan(path, KNOWN)
    words = ["vae,pca", "--data", "groups", "--learning-rate", "0.01", "--groups", "[[0,1],[2]]", "--labels", "a,b"]
    assert found.words() == words


def test_other_plans_lie_beside_the_first(tmp_path):
    names = [keep(tmp_path, content).name for content in (b"a = 1\n", b"b = 1\n", b"a = 1\n", b"c = 1\n", b"b = 1\n")]
    assert names == ["study.toml", "study-2.toml", "study.toml", "study-3.toml", "study-2.toml"]


def test_metrics_of_all_plans_of_a_study(tmp_path):
    assert metrics_of(tmp_path) == "mig"
    keep(tmp_path, b'metrics = ["mig", "dci"]\n')
    keep(tmp_path, b'metrics = "sap"\n')
    assert metrics_of(tmp_path) == "mig,dci,sap"
    Path(tmp_path / "study-3.toml").write_bytes(b'metrics = "all"\n')
    assert metrics_of(tmp_path) == "all"
