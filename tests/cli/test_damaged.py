"""One bad file neither stops nor silently shrinks a study; what each command exits with."""

import json
import shutil
import signal
from pathlib import Path

import pytest
import torch

from partita.data import load
from partita.studies import Store, plan, train
from partita.training import Interrupted

from ..studies.damages import DAMAGES

WORDS = ["train", "vae", "--data", "groups:size=64", "--latents", "3", "--steps", "4", "--batch-size", "32"]
WORDS += ["--seeds", "0:3", "--device", "cpu", "--out", "study"]


@pytest.fixture(scope="module")
def trained(tmp_path_factory) -> Path:
    data, folder = load("groups", size=64), tmp_path_factory.mktemp("trained") / "study"
    runs = plan(["vae"], data, latents=3, steps=4, batch_size=32, seeds=range(3))
    train(runs, data, Store(folder), device=torch.device("cpu"))
    return folder


@pytest.fixture
def study(trained, tmp_path) -> Path:
    shutil.copytree(trained, tmp_path / "study")
    return tmp_path / "study"


def folders(study: Path) -> list[Path]:
    return sorted((study / "runs").glob("*/*"))


@pytest.mark.parametrize("how", DAMAGES)
def test_a_damaged_run_is_named_and_the_others_go_on(partita_here, study, how, caplog):
    damage, name = DAMAGES[how]
    first, hurt, last = folders(study)
    damage(hurt)
    ended = partita_here("evaluate", "study", "--json", "--metrics", "gaussian_tc")
    assert ended.returncode == 1
    assert {run["run"] for run in json.loads(ended.stdout)["runs"]} == {first.name, last.name}
    assert hurt.name in ended.stderr
    assert name in ended.stderr
    ended = partita_here("verify", "study")
    assert ended.returncode == 1
    assert hurt.name in ended.stdout
    assert name in ended.stdout
    assert not {first.name, last.name} & set(ended.stdout.replace(":", " ").split())
    assert partita_here(*WORDS).returncode == 0
    assert f"{hurt.name}/{name}" in caplog.text  # which goes to stderr where nobody else listens
    assert partita_here("verify", "study").returncode == 0
    ended = partita_here("evaluate", "study", "--json", "--metrics", "gaussian_tc")
    assert ended.returncode == 0
    assert len(json.loads(ended.stdout)["runs"]) == 3


@pytest.mark.parametrize("how", ["weights of wrong shapes", "steps changed", "result a list", "data null"])
def test_the_page_is_written_and_says_what_is_missing(partita_here, study, how):
    damage, name = DAMAGES[how]
    hurt = folders(study)[0]  # the one whose data the page would show
    damage(hurt)
    ended = partita_here("report", "study")
    assert ended.returncode == 1
    assert ended.stdout == "study/report.html\n"
    assert hurt.name in ended.stderr
    assert name in ended.stderr
    assert hurt.name in (study / "report.html").read_text()


def test_when_every_run_is_damaged_each_is_named(partita_here, study):
    for folder in folders(study):
        (folder / "weights.safetensors").unlink()
    ended = partita_here("evaluate", "study")
    assert ended.returncode == 1
    assert ended.stdout == ""
    assert all(folder.name in ended.stderr for folder in folders(study))
    for folder in folders(study):
        (folder / "run.json").write_text("[]")
    for command in ("evaluate", "verify"):
        assert partita_here(command, "study").returncode == 1
    assert partita_here("report", "study").returncode == 2


def test_evaluate_says_when_nothing_is_finished(partita_here, tmp_path):
    data = load("groups", size=64)
    runs = plan(["vae"], data, latents=3, steps=4, batch_size=32)

    def watch(runs, history, step, steps):
        signal.raise_signal(signal.SIGTERM)

    with pytest.raises(Interrupted):
        train(runs, data, Store(tmp_path / "study"), device=torch.device("cpu"), watch=watch)
    ended = partita_here("evaluate", "study")
    assert ended.returncode == 1
    assert "no run in study is finished" in ended.stderr
    ended = partita_here("verify", "study")
    assert ended.returncode == 0
    assert f"unfinished  {runs[0].id}" in ended.stdout


def test_a_diverged_run_is_status_1(partita_here):
    words = ["--learning-rate", "1e30", "--steps", "20", "--latents", "3", "--out", "study", "--device", "cpu"]
    ended = partita_here("train", "vae", "--data", "groups:size=64", *words)
    assert ended.returncode == 1
    assert "1 runs diverged: vae-seed0-" in ended.stderr
    ended = partita_here("evaluate", "study")
    assert ended.returncode == 1
    assert "1 that diverged" in ended.stderr


def test_repaired_and_trained_again_a_study_is_whole(partita_here, study):
    hurt = folders(study)[0]
    (hurt / "weights.safetensors").write_bytes(b"")
    (study / "ensembles" / "0123456789abcdef").mkdir(parents=True)
    ended = partita_here("verify", "study", "--repair")
    assert ended.returncode == 1
    assert hurt.name in ended.stdout
    assert (study / "damaged" / hurt.name / "weights.safetensors").exists()
    assert not list(study.glob("ensembles/*"))
    ended = partita_here("verify", "study")
    assert ended.returncode == 0
    assert f"unfinished  {hurt.name}" in ended.stdout
    assert partita_here(*WORDS).returncode == 0
    ended = partita_here("verify", "study")
    assert ended.returncode == 0
    assert "3 runs finished" in ended.stdout


def test_what_is_no_study_is_bad_input(partita_here, tmp_path):
    for command in ("verify", "evaluate", "report"):
        ended = partita_here(command, "nothing")
        assert ended.returncode == 2
        assert "holds no runs" in ended.stderr


def test_evaluate_again(partita_here, study):
    words = ["evaluate", "study", "--metrics", "gaussian_tc"]
    assert partita_here(*words).returncode == 0
    written = {path: path.stat().st_mtime_ns for path in study.glob("runs/**/scores.json")}
    assert len(written) == 3
    assert partita_here(*words).returncode == 0
    assert {path: path.stat().st_mtime_ns for path in written} == written
    assert partita_here(*words, "--again").returncode == 0
    assert all(path.stat().st_mtime_ns > before for path, before in written.items())


def test_a_colleague_may_read_what_was_written(partita_here, study):
    for path in study.rglob("*"):
        assert path.stat().st_mode & 0o044 == 0o044, path


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--latents", "0"], "latents must be at least 1, got 0"),
        (["--latents", "-3"], "latents must be at least 1, got -3"),
        (["--groups", "100000"], "latents must be at most 10,000, got 100,000"),
    ],
)
def test_impossible_numbers_of_latents_are_refused(partita_here, tmp_path, words, expected):
    ended = partita_here("train", "pdisvae", "--data", "groups:size=64", "--steps", "1", *words)
    assert ended.returncode == 2
    assert ended.stderr == f"partita: {expected}\n"
    assert not list(tmp_path.rglob("run.json"))


def test_a_line_about_very_many_columns_stays_a_line(partita_here, tmp_path):
    names = ",".join(f"column{k}" for k in range(20_000))
    (tmp_path / "wide.csv").write_text(f"{names}\n{','.join(['1'] * 20_000)}\n{','.join(['2'] * 20_000)}\n")
    ended = partita_here("train", "vae", "--data", "wide.csv:columns=colour")
    assert ended.returncode == 2
    assert "no column 'colour'" in ended.stderr
    assert "and 19,990 more" in ended.stderr
    assert len(ended.stderr) < 700
    (tmp_path / "wide.csv").write_text(f"{names}\n{','.join(['a'] * 20_000)}\n")
    assert len(partita_here("train", "vae", "--data", "wide.csv").stderr) < 700
    groups = json.dumps([list(range(5000))])
    assert len(partita_here("train", "pdisvae", "--data", "groups", "--groups", groups, "--latents", "9").stderr) < 700
