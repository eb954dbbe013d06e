"""partita compare, as a person uses it."""

import json

import pytest

from partita.studies import compare


@pytest.fixture
def study(partita, tmp_path):
    trained = partita("train", "vae,pca", "--data", "groups:size=60", "--steps", "3", "--seeds", "0:2", "--out", "a")
    assert trained.returncode == 0, trained.stderr
    measured = partita("evaluate", "a", "--metrics", "gaussian_tc")
    assert measured.returncode == 0, measured.stderr
    return tmp_path / "a"


def test_compares_a_study_and_refuses_in_one_line(study, partita, tmp_path):
    plain = partita("compare", "a")
    assert plain.returncode == 0, plain.stderr
    assert plain.stdout.startswith("2 settings, paired by seed and data: 2 pairs of runs on groups, seeds 0, 1; a\n")
    found = compare(study)
    printed = json.loads(partita("compare", "a", "--json").stdout)
    assert printed == json.loads(json.dumps(found.as_dict() | {"studies": ["a"]}))
    assert [score["score"] for score in printed["scores"]][:2] == ["R2", "latent MSE"]
    assert "gaussian_tc" in [score["score"] for score in printed["scores"]]
    some = partita("compare", "a", "--metric", "R2,gaussian_tc", "--by", "method", "--out", "out")
    assert some.stdout.splitlines()[-1] == "out/compare.html"
    assert (tmp_path / "out/differences.tex").exists()
    refused = [
        (["compare", "a", "--metric", "migg"], "no run has a score 'migg'"),
        (["compare", "nothing"], "holds no runs"),
        (["compare", "a", "--by", "setings"], "did you mean 'setting'"),
        (["compare"], "DIR"),
        (["compare", "a", "--margin", "x"], "--margin"),
    ]
    for words, said in refused:
        ended = partita(*words)
        assert ended.returncode == 2
        assert ended.stdout == ""
        assert len(ended.stderr.splitlines()) == 1
        assert said in ended.stderr
