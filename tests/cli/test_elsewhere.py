"""`partita status`, and `--on` where it is not to be had: one line, and nothing is written."""

import json

import pytest

WORDS = ["train", "vae", "--data", "groups:size=60", "--latents", "2", "--steps", "2", "--device", "cpu"]
WORDS += ["--out", "study"]


def test_status(partita, tmp_path):
    assert partita(*WORDS).returncode == 0
    found = json.loads(partita("status", "study", "--json").stdout)
    assert {key: found[key] for key in ("runs", "finished", "under_way", "waiting")} == {
        "runs": 1, "finished": 1, "under_way": 0, "waiting": 0,
    }  # fmt: skip
    ended = partita("status", "nothing")
    assert ended.returncode == 2
    assert ended.stderr.startswith("partita: nothing holds no runs")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--on ray:127.0.0.1:1", "no Ray cluster answers at 127.0.0.1:1: "),
        ("--on slurm:partition=gpu", "no Slurm here: sbatch and sinfo are not found"),
        ("--on rai", "--on rai: no such engine (did you mean 'ray'?); choose local, ray, "),
        ("--detach", "--detach needs a cluster that stays when this command ends"),
    ],
)
def test_no_such_cluster(partita, tmp_path, words, said):
    if words.startswith("--on ray"):
        pytest.importorskip("ray")
    if "slurm" in words:
        pytest.importorskip("submitit")
    ended = partita(*WORDS, *words.split())
    assert ended.returncode == 2
    assert ended.stderr.startswith(f"partita: {said}")
    assert ended.stderr.count("\n") == 1
    assert not (tmp_path / "study").exists()
