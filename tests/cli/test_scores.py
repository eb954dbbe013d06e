"""Scores on the command line: of arrays from anywhere, and on the way through training."""

import json

import numpy as np
import pytest


@pytest.fixture
def arrays(tmp_path):
    factors = np.stack([column.ravel() for column in np.indices((4, 5, 6))], 1)
    codes = factors + 0.1 * np.random.default_rng(0).standard_normal(factors.shape)
    for name, values in {"codes": codes, "factors": factors, "widths": np.full(codes.shape, -3.0)}.items():
        np.save(tmp_path / f"{name}.npy", values)
    return ("evaluate", "--codes", "codes.npy", "--factors", "factors.npy")


def test_arrays_with_groups_posteriors_protocol_and_interval(partita, arrays):
    words = ("--log-variance", "widths.npy", "--groups", "2,1", "--factor-groups", "[[0,1],[2]]", "--interval", "0.9")
    ended = partita(*arrays, *words, "--metrics", "mig,exact_tc,mcc", "--json")
    found = json.loads(ended.stdout)
    assert list(found) == ["mig", "exact_tc", "mcc"]
    assert all(score["interval"][0] <= score["value"] <= score["interval"][1] for score in found.values())
    assert found["mig"]["settings"]["neighbours"] == 10
    other = json.loads(partita(*arrays, "--protocol", "ubisoft-2020", "--json").stdout)
    assert other["mig"]["protocol"] == "ubisoft-2020"


def test_sorted_arrays_are_scored_in_random_order(partita, arrays):
    ended = partita(*arrays, "--metrics", "explicitness,beta_vae", "--json")
    assert json.loads(ended.stdout)["explicitness"]["value"] > 0.95
    assert ended.stderr == ""


def test_what_was_never_trained_on_is_said_once(partita, arrays, tmp_path):
    factors = np.load(tmp_path / "factors.npy")
    factors[::12, 0] = np.arange(100, 110)  # one row a value: some are bound to be tested alone
    np.save(tmp_path / "factors.npy", factors)
    ended = partita(*arrays, "--metrics", "sap,explicitness,dci")
    assert ended.returncode == 0
    assert ended.stderr.count("\n") == 1
    assert ended.stderr.startswith("partita: factor 0: ")
    assert "never trained on" in ended.stderr


def test_arrays_of_different_lengths_are_refused_in_words(partita, arrays, tmp_path):
    np.save(tmp_path / "factors.npy", np.load(tmp_path / "factors.npy")[:-1])
    ended = partita(*arrays)
    assert ended.returncode == 2
    assert ended.stderr == "partita: codes has 120 rows but factors has 119: they must describe the same data\n"


def test_groups_and_scores_are_found_on_the_way(partita, tmp_path):
    words = ("--data", "groups:size=200", "--groups", "auto", "--steps", "20", "--log-metrics", "alignment")
    assert partita("train", "pdisvae", *words, "--out", "study").returncode == 0
    (folder,) = (tmp_path / "study/runs").glob("*/*")
    groups = json.loads((folder / "result.json").read_text())["groups"]
    last = json.loads((folder / "history.jsonl").read_text().splitlines()[-1])
    assert 0 <= last["alignment"] <= 1
    scores = json.loads(partita("evaluate", "study", "--json").stdout)["runs"][0]
    assert scores["groups"] == groups
    refused = partita("train", "vae", *words, "--out", "other")
    assert refused.returncode == 2
    assert refused.stderr == (
        "partita: vae has no groups: leave groups out, or use pdisvae, which finds them, or hfvae\n"
    )
