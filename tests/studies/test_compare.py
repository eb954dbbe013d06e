"""Studies beside each other: who is paired with whom, what is refused by name, and what the tables say."""

import csv
import json
from itertools import pairwise

import numpy as np
import pytest

from partita.studies import Run, Store, compare

GROUPS = {"name": "groups", "options": {"seed": 0}}
OTHER = {"name": "groups", "options": {"seed": 1}}


def made(
    folder, method="vae", *, seeds=range(6), values=(0.5,), data=None, status="finished", steps=10, n=50, protocol="p",
    version=3, metric="mig", **options,
):  # fmt: skip
    """Runs of a study as they are stored, with this score."""
    store = Store(folder)
    for place, seed in enumerate(seeds):
        run = Run(method, options, {"shape": [5]}, data or GROUPS, steps, 2, 0.001, seed)
        store.describe(run)
        (store.folder_of(run) / "result.json").write_text(json.dumps({"status": status, "step": 10}))
        if status == "finished" and metric:
            value = float(values[place % len(values)])
            scored = {metric: {"value": value, "protocol": protocol, "n": n}}
            store.save_scores(run, {"n": n, "scored": {"version": version}, "metrics": scored})
    return store


def only(found):
    (score,) = found.scores
    return score


def test_differences_are_taken_within_pairs(tmp_path):
    a, b = [0.1, 0.9, 0.5, 0.3, 0.7, 0.2], [0.16, 0.95, 0.54, 0.37, 0.78, 0.23]
    made(tmp_path, "vae", values=a)
    made(tmp_path, "pdisvae", values=b)
    (row,) = only(compare(tmp_path)).differences
    assert (row["first"], row["second"], row["pairs"]) == ("vae", "pdisvae", 6)
    assert row["mean"] == pytest.approx(np.mean(np.subtract(a, b)))
    assert row["low"] < row["mean"] < row["high"] < 0  # though the clouds lie over one another
    assert row["wilcoxon"] == row["holm"] == 0.03125
    assert row["verdict"] == "pdisvae is better"


def test_no_difference_is_shown_not_assumed(tmp_path):
    noise = [0.001, -0.002, 0.003, -0.001, 0.002, -0.003]
    made(tmp_path, "vae", values=[0.5] * 6)
    made(tmp_path, "pdisvae", values=np.add(0.5, noise))
    made(tmp_path, "hfvae", values=np.add(0.52, np.multiply(noise, 100)))
    rows = {(row["first"], row["second"]): row for row in only(compare(tmp_path)).differences}
    close, far = rows["vae", "pdisvae"], rows["vae", "hfvae"]
    assert close["tost"] < 0.05
    assert close["verdict"] == "no difference beyond 0.05"
    assert far["tost"] > 0.05
    assert far["verdict"] == "undecided"
    wide = compare(tmp_path, margin=1.0)
    assert {row["verdict"] for row in only(wide).differences} == {"no difference beyond 1"}


def test_lower_is_better_where_it_is(tmp_path):
    made(tmp_path, "vae", values=[1.0, 2, 3, 4, 5, 6], metric="gaussian_tc")
    made(tmp_path, "pdisvae", values=[0.5, 1, 1.5, 2, 2.5, 3.1], metric="gaussian_tc")
    score = only(compare(tmp_path))
    assert score.better == "lower"
    assert score.ranks["ranks"] == {"vae": 2.0, "pdisvae": 1.0}
    assert score.differences[0]["verdict"] == "pdisvae is better"
    assert score.margin == 0.1
    assert score.success_at is None
    three = compare(tmp_path, success=3.0)
    assert [row["succeeded"] for row in only(three).summaries] == [3, 5]


def test_success_counts_runs_that_diverged_as_failures(tmp_path):
    made(tmp_path, "vae", seeds=range(4), values=[0.95, 0.92, 0.5, 0.99])
    made(tmp_path, "pdisvae", seeds=range(3), values=[0.95])
    made(tmp_path, "pdisvae", seeds=[3], status="diverged")
    found = compare(tmp_path)
    rows = {row["contender"]: row for row in only(found).summaries}
    assert [(row["succeeded"], row["ended"]) for row in rows.values()] == [(3, 4), (3, 4)]
    assert rows["vae"]["runs"] == found.pairs == 3
    assert any("diverged" in note for note in found.notes)
    assert any("1 runs of vae are in no pair" in note for note in found.notes)


def test_profiles_are_the_shares_at_every_threshold(tmp_path):
    a, b = RNG.random(6), RNG.random(6)
    made(tmp_path, "vae", values=a)
    made(tmp_path, "pdisvae", values=b)
    rows = only(compare(tmp_path)).profiles
    for row in rows:
        own = a if row["contender"] == "vae" else b
        assert row["share"] == np.mean(own >= row["at"])
        assert row["low"] <= row["share"] <= row["high"]
    falling = [row["share"] for row in rows if row["contender"] == "vae"]
    assert falling[0] in (1.0, 5 / 6)
    assert all(first >= second for first, second in pairwise(falling))


RNG = np.random.default_rng(3)


def test_across_studies_and_data(tmp_path):
    """Two studies on two data sets: a block is data and seed; what was chosen for the data makes no other setting."""
    for folder, data in (("one", GROUPS), ("two", OTHER)):
        made(
            tmp_path / folder,
            "vae",
            values=[0.4, 0.5, 0.6, 0.3, 0.2, 0.1],
            data=data,
            latents=4 if data is GROUPS else 6,
        )
        made(tmp_path / folder, "pdisvae", values=[0.5, 0.7, 0.9, 0.7, 0.7, 0.7], data=data)
    found = compare([tmp_path / "one", tmp_path / "two"])
    assert found.contenders == ("vae", "pdisvae")
    assert found.data == ("groups seed=0", "groups seed=1")
    assert found.pairs == 12
    assert only(found).differences[0]["wilcoxon"] < 0.001


def test_a_run_in_two_studies_counts_once(tmp_path):
    for folder in ("one", "two"):
        made(tmp_path / folder, "vae")
        made(tmp_path / folder, "pdisvae", values=[0.7])
    assert compare([tmp_path / "one", tmp_path / "two"]).pairs == 6


def test_settings_methods_and_options(tmp_path):
    for beta, value in ((1.0, 0.3), (4.0, 0.5)):
        made(tmp_path, "beta_vae", values=[value + 0.01, value, value - 0.01], seeds=range(3), beta=beta)
        made(tmp_path, "pdisvae", values=[value + 0.2], seeds=range(3), beta=beta)
    settings = compare(tmp_path)
    assert len(settings.contenders) == 4
    methods = compare(tmp_path, by="method")
    assert methods.contenders == ("beta_vae", "pdisvae")
    assert only(methods).summaries[0]["mean"] == pytest.approx(0.4)
    options = compare(tmp_path, by="beta")
    assert options.contenders == ("beta=1.0", "beta=4.0")
    assert options.pairs == 6  # two methods and three seeds
    assert only(options).differences[0]["mean"] == pytest.approx(-0.2)
    against = compare(tmp_path, against="pdisvae beta=4.0")
    assert len(only(against).differences) == 3
    curve = [row for row in only(settings).curves if row["method"] == "beta_vae"]
    assert [(row["weight"], row["at"], row["runs"]) for row in curve] == [("beta", 1.0, 3), ("beta", 4.0, 3)]
    assert [row["median"] for row in curve] == pytest.approx([0.3, 0.5])
    assert [row["quartile_1"] for row in curve] == pytest.approx([0.295, 0.495])


def test_says_where_contenders_are_not_alike_and_pairs_too_few(tmp_path):
    made(tmp_path, "vae", seeds=range(4), steps=10)
    made(tmp_path, "pdisvae", seeds=range(4), values=[0.7], steps=20, restarts=8)
    notes = " | ".join(compare(tmp_path).notes)
    assert "not alike in steps: vae 10; pdisvae 20" in notes
    assert "not alike in restarts: vae 1; pdisvae 8" in notes
    assert "cannot fall below 0.12" in notes


def test_says_whose_groups_the_truth_was_aligned_by(tmp_path):
    for method, grouping in (("vae", "best grouping by the truth"), ("pdisvae", "own groups")):
        store = made(tmp_path, method)
        for run in store.runs():
            if run.method == method:
                store.save_scores(run, store.scores(run) | {"alignment": {"r2": 0.5, "grouping": grouping}})
    assert not [note for note in compare(tmp_path, metric="mig").notes if "origin" in note]
    (note,) = [note for note in compare(tmp_path, metric="R2").notes if "origin" in note]
    assert note.endswith("vae: best grouping by the truth; pdisvae: own groups")


REFUSED = {
    "protocol": (lambda f: made(f, "pdisvae", protocol="q"), "mig of vae-seed0-.* by another protocol, p and q"),
    "rows": (lambda f: made(f, "pdisvae", n=60), "by another number of rows, 50 and 60"),
    "version": (lambda f: made(f, "pdisvae", version=2), "by another version, 3 and 2.*--again"),
    "data": (lambda f: made(f, "pdisvae", data=OTHER), "no measured run on groups seed=1, which pdisvae has"),
    "seeds": (lambda f: made(f, "pdisvae", seeds=[7, 8]), "no seed is shared by all.*pdisvae has seeds 7, 8"),
    "unmeasured": (lambda f: made(f, "pdisvae", metric=None), "6 finished runs are not measured.*partita evaluate"),
    "one method": (lambda f: None, r"only one setting with finished runs \(vae\)"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_refuses_what_was_not_measured_alike(kind, tmp_path):
    make, words = REFUSED[kind]
    made(tmp_path, "vae")
    make(tmp_path)
    with pytest.raises(ValueError, match=words):
        compare(tmp_path)


@pytest.mark.parametrize(("asked", "words"), [
    ({"metric": "migg"}, "no run has a score 'migg'.*did you mean 'mig'"),
    ({"metric": "R2"}, "vae-seed0-.* has no R2: partita evaluate"),
    ({"metric": "udr"}, "udr is one number of all seeds"),
    ({"by": "methd"}, "cannot compare by 'methd'.*did you mean 'method'"),
    ({"against": "ivae"}, "no 'ivae' to compare with"),
    ({"margin": 0.0}, "margin must be above 0"),
    ({"success": float("nan")}, "success must be a number"),
])  # fmt: skip
def test_refuses_what_it_does_not_know(asked, words, tmp_path):
    made(tmp_path, "vae")
    made(tmp_path, "pdisvae")
    with pytest.raises(ValueError, match=words):
        compare(tmp_path, **asked)


def test_needs_a_study(tmp_path):
    with pytest.raises(ValueError, match="holds no runs"):
        compare(tmp_path / "nothing")
    with pytest.raises(ValueError, match="at least one study"):
        compare([])


@pytest.fixture
def found(tmp_path):
    for beta in (1.0, 4.0):
        made(tmp_path / "study", "beta_vae", values=RNG.random(6), beta=beta)
    return compare(tmp_path / "study")


def test_tables_say_the_same_in_every_form(found, tmp_path):
    pyarrow = pytest.importorskip("pyarrow.parquet")
    paths = {path.name: path for path in found.write(tmp_path / "out")}
    for name, rows in found.tables.items():
        assert rows
        with open(paths[f"{name}.csv"], newline="") as file:
            read = list(csv.DictReader(file))
        assert [row["score"] for row in read] == ["mig"] * len(rows)
        from_parquet = pyarrow.read_table(paths[f"{name}.parquet"]).to_pylist()
        for row, text, other in zip(rows, read, from_parquet, strict=True):
            for key, value in row.items():
                assert other[key] == value
                read_back = float(text[key]) if isinstance(value, float) else text[key]
                assert read_back == ("" if value is None else value if isinstance(value, float) else str(value))
    assert json.loads(paths["comparison.json"].read_text()) == json.loads(json.dumps(found.as_dict()))
    assert paths["comparison.txt"].read_text().strip() == str(found)


def test_latex_is_a_tabular_of_as_many_columns(found, tmp_path):
    lines = next(p for p in found.write(tmp_path / "out") if p.name == "differences.tex").read_text().splitlines()
    columns = lines[0].removeprefix(r"\begin{tabular}{").removesuffix("}")
    rows = [line for line in lines if line.endswith(r"\\")]
    assert {line.count(" & ") + 1 for line in rows} == {len(columns)}
    assert r"beta\_vae beta=1.0" in rows[1]
    assert lines[-1] == r"\end{tabular}"


def test_text_has_every_statistic(found):
    text = str(found)
    for word in ("IQM", "Wilcoxon", "Holm", "TOST 0.05", "critical difference of ranks", "at beta 4", ">= 0.9"):
        assert word in text
