"""The user's own tables from the command line: scale, covariates, exposures."""

import json

import numpy as np
import pytest

from .test_commands import refused


@pytest.fixture
def tables(tmp_path):
    """Cells of three donors as counts, and as measurements in odd units."""
    rng = np.random.default_rng(0)
    donor = rng.integers(0, 3, 120)
    rates = np.exp(rng.normal(size=(120, 2)) @ rng.normal(size=(2, 5)) * 0.5 + 2 + 0.5 * donor[:, None])
    counts, measured = rng.poisson(rates), rates * 10.0 ** np.arange(5)
    for name, x in (("counts", counts), ("measured", measured)):
        lines = ["a,b,c,d,e,donor,total"]
        lines += [
            ",".join([*(f"{value:.6g}" for value in row), "xyz"[d], f"{row.sum():.6g}"]) for row, d in zip(x, donor)
        ]
        (tmp_path / f"{name}.csv").write_text("\n".join(lines))
    return tmp_path


def described(folder) -> list[dict]:
    return [json.loads(path.read_text()) for path in folder.glob("runs/**/run.json")]


TRAIN = ["train", "vae", "--latents", "2", "--steps", "4"]
FACTORS = ":factors=donor,total"


def test_covariates_and_scale_by_name(partita, tables):
    words = ["--covariates", "donor,total", "--out", "study"]
    ended = partita(*TRAIN, "--data", "measured.csv" + FACTORS, *words)
    assert ended.returncode == 0, ended.stderr
    assert "partita: note: --scale standard: standard deviations from" in ended.stderr
    (run,) = described(tables / "study")
    assert run["scale"] == "standard"
    assert [each["name"] for each in run["covariates"]] == ["donor", "total"]
    assert len(run["covariates"][0]["levels"]) == 3
    assert partita("evaluate", "study").returncode == 0
    assert partita("report", "study").returncode == 0
    assert "Covariates of vae" in (tables / "study" / "report.html").read_text()


def test_columns_of_a_table_are_covariates_by_name_alone(partita, tables):
    ended = partita(*TRAIN, "--data", "measured.csv", "--covariates", "donor,total", "--out", "study")
    assert ended.returncode == 0, ended.stderr
    (run,) = described(tables / "study")
    assert [each["name"] for each in run["covariates"]] == ["donor", "total"]
    assert run["architecture"]["shape"] == [5]
    refused(partita(*TRAIN, "--data", "measured.csv", "--covariates", "dono", "--out", "study"), "no column 'dono'")


def test_counts_are_seen(partita, tables):
    ended = partita(*TRAIN, "--data", "counts.csv" + FACTORS, "--exposure", "total", "--out", "study")
    assert ended.returncode == 0, ended.stderr
    assert "partita: note: --likelihood negative_binomial" in ended.stderr
    assert "that vary as counts do" in ended.stderr
    assert "--scale standard: counts stay what they are" in ended.stderr
    (run,) = described(tables / "study")
    assert run["architecture"]["likelihood"].startswith("negative_binomial")
    assert run["exposure"] == "total"


def test_few_images_are_left_when_rows_held_out_gain_no_more(partita, tables):
    np.save(tables / "few.npy", (np.random.default_rng(0).random((110, 1, 8, 8)) < 0.3).astype(np.uint8))
    words = ["train", "pdisvae", "--data", "few.npy", "--latents", "2", "--learning-rate", "0.01", "--out", "study"]
    ended = partita(*words, "--patience", "2")
    assert ended.returncode == 0, ended.stderr
    assert "note: --likelihood bernoulli: images with values between 0 and 1" in ended.stderr
    assert "note: --validation 0.1: few images, so a tenth is held out" in ended.stderr
    (run,) = described(tables / "study")
    assert (run["steps"], run["options"]["validation"]) == (5000, 0.1)
    (result,) = (tables / "study").glob("runs/**/result.json")
    assert json.loads(result.read_text())["step"] < 5000
    assert "steps" not in (tables / "study" / "study.toml").read_text()  # so that --plan trains the same run
    again = partita("train", "--plan", "study/study.toml", "--out", "study")
    assert again.returncode == 0, again.stderr
    assert described(tables / "study") == [run]


def test_nothing_is_said_of_rows_held_out_where_a_plan_asks_for_them(partita, tables):
    np.save(tables / "few.npy", (np.random.default_rng(0).random((110, 1, 8, 8)) < 0.3).astype(np.uint8))
    plan = 'data = "few.npy"\nlatents = 2\n[[methods]]\nname = "vae"\n[[methods]]\nname = "pdisvae"\n'
    for asked, said in (("", True), ("validation = 0.2\n", False)):
        (tables / "study.toml").write_text(plan + asked)
        ended = partita("train", "--plan", "study.toml", "--device", "none")  # refused after everything was said
        assert ended.returncode == 2
        assert ("note: --validation" in ended.stderr) == said
        assert "--likelihood bernoulli" in ended.stderr
        assert "partita: unknown device 'none'" in ended.stderr  # no line of the plan says so


def test_no_scale_is_the_run_of_before(partita, tables):
    for scale in ("none", "auto"):
        words = ["--data", "groups:size=60", "--scale", scale, "--out", "study"]
        assert partita(*TRAIN, *words).returncode == 0
    (run,) = described(tables / "study")
    assert "scale" not in run


@pytest.mark.parametrize(
    ("data", "words", "said"),
    [
        ("counts.csv" + FACTORS, ["--covariates", "dono"], ["counts has no column 'dono'", "donor"]),
        ("counts.csv:columns=a,b", ["--covariates", "donor"], ["counts has no column 'donor'", "no factors"]),
        ("counts.csv" + FACTORS, ["--scale", "standrad"], ["unknown scale 'standrad'", "standard"]),
        ("measured.csv" + FACTORS, ["--exposure", "total"], ["exposure is for counts"]),
        ("measured.csv" + FACTORS, ["--likelihood", "poisson"], ["takes whole counts", "counts are whole"]),
        ("measured.csv" + FACTORS, ["--likelihood", "categorical:3,4"], ["blocks of 3, 4 are 7 columns"]),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(partita, tables, data, words, said):
    refused(partita(*TRAIN, "--data", data, *words, "--out", "study"), *said)


def test_defaults_are_those_of_the_estimator(partita, tables):
    words = ["--groups", "2,1", "--steps", "2", "--out", "study"]
    assert partita("train", "pdisvae", "--data", "counts.csv:columns=a,b,c,d,e", *words).returncode == 0
    assert (
        partita("train", "vae", "--data", "counts.csv:columns=a,b,c,d,e", *words[2:], "--hidden", "8").returncode == 0
    )
    by_method = {run["method"]: run for run in described(tables / "study")}
    assert by_method["pdisvae"]["options"] == {"latents": 3, "groups": [2, 1], "start": "unmixed"}
    assert by_method["vae"]["options"]["latents"] == 6
    assert by_method["vae"]["architecture"]["network"] == "mlp"
    assert by_method["vae"]["architecture"]["hidden"] == [8]


def test_hidden_layers_that_cannot_be_are_refused(partita, tables):
    data = ["--data", "measured.csv:columns=a,b"]
    refused(partita(*TRAIN, *data, "--hidden", "wide"), "--hidden wide: give widths of layers like 256,256")
    refused(partita(*TRAIN, *data, "--hidden", "8", "--network", "linear"), "hidden is for network 'mlp'")
