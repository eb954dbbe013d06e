import json
import shutil
import signal
import subprocess
import time

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from .conftest import COMMAND


def refused(ended, *words):
    """Exit 2, one line on stderr that says what, no traceback, nothing on stdout."""
    assert ended.returncode == 2, ended.stderr
    assert ended.stderr.count("\n") == 1, ended.stderr
    assert "Traceback" not in ended.stderr
    for word in words:
        assert word in ended.stderr, ended.stderr
    return True


def test_listings(partita):
    for command in ("methods", "data", "metrics"):
        assert partita(command).returncode == 0
        rows = json.loads(partita(command, "--json").stdout)
        assert all(row["name"] and row["summary"] for row in rows)


def test_methods_show_their_objective(partita):
    assert "+ beta * PC(z)" in partita("methods").stdout


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """A small study made by the command: two methods, two seeds, two weights."""
    out = tmp_path_factory.mktemp("study") / "runs"
    words = ["train", "pdisvae", "--data", "groups:size=300", "--groups", "2,2,2", "--steps", "60", "--seeds", "0:2"]
    ended = subprocess.run([*COMMAND, *words, "--beta", "1,4", "--out", str(out)], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    assert "4 of 4 runs" in ended.stdout
    return out


def test_a_study_has_a_folder_a_run_and_nothing_left_over(study):
    folders = list((study / "runs").glob("*/*"))
    assert len(folders) == 4
    for folder in folders:
        assert {path.name for path in folder.iterdir()} >= {
            "run.json",
            "history.jsonl",
            "weights.safetensors",
            "result.json",
        }
        rows = [json.loads(line) for line in (folder / "history.jsonl").read_text().splitlines()]
        assert rows[-1]["step"] == 60
        assert set(rows[0]) == {"step", "loss", "recon", "kl", "pc"}
    assert not list(study.glob("ensembles/*"))


def test_asking_twice_trains_once(study, partita):
    before = {path: path.stat().st_mtime_ns for path in study.rglob("weights.safetensors")}
    words = ["train", "pdisvae", "--data", "groups:size=300", "--groups", "2,2,2", "--steps", "60", "--seeds", "0:2"]
    assert partita(*words, "--beta", "1,4", "--out", str(study)).returncode == 0
    assert {path: path.stat().st_mtime_ns for path in study.rglob("weights.safetensors")} == before


def test_evaluate_as_json_prints_one_document(study, partita):
    ended = partita("evaluate", str(study), "--json")
    assert ended.returncode == 0, ended.stderr
    runs = json.loads(ended.stdout)["runs"]
    assert len(runs) == 4
    for run in runs:
        assert 0 <= run["alignment"]["r2"] <= 1
        assert run["correlation"]["n"] == 300
        assert run["correlation"]["null"]["pc"]["mean"] > 0
        assert run["correlation"]["tc"] == pytest.approx(run["correlation"]["pc"] + run["correlation"]["within_tc"])


def test_a_run_gone_astray_is_named_and_the_others_are_measured(study, partita, tmp_path):
    mine = tmp_path / "mine"
    shutil.copytree(study, mine, ignore=shutil.ignore_patterns("*scores*"))  # as if nobody had measured it yet
    first, *others = sorted(mine.glob("runs/**/weights.safetensors"))
    weights = load_file(first)
    save_file({name: 1e6 * value for name, value in weights.items()}, first)
    ended = partita("evaluate", "mine", "--json")
    assert ended.returncode == 1, ended.stderr
    measured = {run["run"] for run in json.loads(ended.stdout)["runs"]}
    assert measured == {path.parent.name for path in others}
    assert "cannot be measured" in ended.stderr
    assert "seed" in ended.stderr
    for other in others:
        shutil.rmtree(other.parent)
    ended = partita("evaluate", "mine")
    assert ended.returncode == 1
    assert "cannot be measured" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_evaluate_prints_a_table(study, partita):
    said = partita("evaluate", str(study)).stdout
    for words in ("2 seeds", "PC null", "recon R2", "exact aggregated posterior of 300 rows"):
        assert words in said


def test_report_writes_one_page(study, partita, tmp_path):
    partita("evaluate", str(study))
    ended = partita("report", str(study), "--out", str(tmp_path / "page.html"))
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.strip() == str(tmp_path / "page.html")
    assert "<html" in (tmp_path / "page.html").read_text()


def test_a_users_own_array(partita, tmp_path):
    np.save(tmp_path / "mine.npy", np.random.default_rng(0).normal(size=(80, 5)))
    assert partita("train", "vae", "--data", "mine.npy", "--latents", "2", "--steps", "10").returncode == 0
    assert partita("evaluate", "runs").returncode == 0
    np.save(tmp_path / "mine.npy", np.zeros((80, 5)))
    ended = partita("evaluate", "runs")
    assert ended.returncode == 1
    assert ended.stdout == ""
    assert ended.stderr.count("\n") == 1
    assert "mine.npy" in ended.stderr
    assert "changed" in ended.stderr


def test_arrays_from_anywhere_are_scored(partita, tmp_path):
    factors = np.stack(np.meshgrid(range(6), range(5), indexing="ij"), -1).reshape(-1, 2).repeat(20, 0)
    np.save(tmp_path / "codes.npy", factors + 0.0)
    np.save(tmp_path / "factors.npy", factors)
    ended = partita("evaluate", "--codes", "codes.npy", "--factors", "factors.npy", "--metrics", "mig,mcc", "--json")
    assert ended.returncode == 0, ended.stderr
    scores = json.loads(ended.stdout)
    assert scores["mig"]["value"] == pytest.approx(1)
    assert scores["mig"]["protocol"]
    assert "mig" in partita("evaluate", "--codes", "codes.npy", "--factors", "factors.npy").stdout
    assert refused(partita("evaluate", "--codes", "nowhere.npy", "--factors", "factors.npy"), "nowhere.npy")
    assert refused(partita("evaluate"), "--codes")


def test_a_data_set_has_a_card(partita):
    said = partita("data", "cars3d").stdout
    for words in ("azimuth (24)", "17,568 rows of 3 x 64 x 64", "licence", "citation", "nips2015-analogy-data.tar.gz"):
        assert words in said
    assert refused(partita("data", "cars3"), "did you mean 'cars3d'")


def test_a_data_set_is_drawn(partita, tmp_path):
    ended = partita("data", "pdsprites", "--show", "sheet.png")
    assert ended.returncode == 0, ended.stderr
    assert "size (5)" in ended.stdout
    assert (tmp_path / "sheet.png").stat().st_size > 10_000
    np.save(tmp_path / "movie.npy", np.random.default_rng(0).normal(size=(30, 6, 5)))
    facts = json.loads(partita("data", "movie.npy", "--samples", "pixels", "--show", "movie.png", "--json").stdout)
    assert facts["size"] == 30
    assert facts["shape"] == [30]
    assert facts["factors"] == {"row": 6, "column": 5}
    assert refused(partita("data", "pdsprites", "--show", "sheet.doc"), "sheet.doc", ".png")
    assert refused(partita("data", "--show", "sheet.png"), "NAME")
    assert refused(partita("data", "pdsprite", "--show", "sheet.png"), "did you mean 'pdsprites'")


def test_own_files_with_options(partita, tmp_path):
    """Columns, labels and samples as a person writes them."""
    rows = "\n".join(f"{k % 7},{k * k % 11},{k % 3},{'ab'[k % 2]}" for k in range(60))
    (tmp_path / "table.csv").write_text(f"height,weight,age,sex\n{rows}\n")
    where = "table.csv:columns=height,weight,labels=age,factors=sex"
    facts = json.loads(partita("data", where, "--json").stdout)
    assert (facts["shape"], facts["labels"], facts["factors"]) == ([2], 1, {"sex": 2})
    assert partita("train", "vae", "--data", where, "--steps", "5", "--latents", "2").returncode == 0
    assert refused(partita("train", "vae", "--data", "table.csv"), "text in column 'sex'")
    np.save(tmp_path / "movie.npy", np.random.default_rng(0).normal(size=(30, 6, 5)))
    ended = partita("train", "vae", "--data", "movie.npy", "--samples", "pixels", "--steps", "5", "--out", "movie")
    assert ended.returncode == 0, ended.stderr
    assert json.loads(partita("evaluate", "movie", "--json").stdout)["runs"][0]["n"] == 30
    assert refused(partita("train", "vae", "--data", "movie.npy", "--samples", "rows"), "'frames' or 'pixels'")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["train", "pdisva", "--data", "groups"], ["did you mean 'pdisvae'"]),
        (["train", "pdisvae", "--data", "grops"], ["did you mean 'groups'"]),
        (["train", "pdisvae"], ["--data"]),
        (["train", "pdisvae", "--data", "groups", "--bta", "4"], ["did you mean --beta"]),
        (["train", "pdisvae", "--data", "groups", "--beta", "four"], ["--beta four", "number"]),
        (["train", "pdisvae", "--data", "groups", "--beta", "-1"], ["beta must be"]),
        (["train", "pdisvae", "--data", "groups", "--beta"], ["needs a value"]),
        (["train", "pdisvae", "--data", "groups", "--groups", "2,2", "--latents", "6"], ["add up to 4"]),
        (["train", "pdisvae", "--data", "groups", "--groups", "[[0,1],[1,2]]", "--latents", "3"], ["latent 1"]),
        (["train", "pdisvae", "--data", "groups", "--groups", "two"], ["--groups two"]),
        (["train", "pdisvae", "--data", "groups", "--groups", "2.5,1.5"], ["groups must be sizes"]),
        (["train", "vae,beta_tcvae", "--data", "groups", "--groups", "2,2,2"], ["has no groups: leave groups out"]),
        (["train", "pca", "--data", "groups", "--restarts", "2"], ["restarts are for methods that are trained"]),
        (["train", "pdisvae", "--data", "groups", "--seeds", "5:5"], ["at least one seed"]),
        (["train", "pdisvae", "--data", "groups", "--steps", "0"], ["steps must be"]),
        (["train", "pdisvae", "--data", "groups", "--steps", "many"], ["--steps", "integer"]),
        (["train", "pdisvae", "--data", "groups", "--by", "exactly"], ["exactly"]),
        (["train", "pdisvae", "--data", "groups", "--device", "cuda:99"], ["cuda"]),
        (["train", "pdisvae", "--data", "groups", "--likelihood", "poisson"], ["poisson"]),
        (["train", "pdisvae", "--data", "groups", "--network", "burgess"], ["32 x 32"]),
        (["train", "pdisvae", "--data", "nowhere.npy"], ["nowhere.npy"]),
        (["train", "pdisvae", "--data", "groups:colour=red"], ["colour"]),
        (["train", "pdisvae", "--data", "groups", "--out", "/proc/here"], ["/proc/here"]),
        (["evaluate", "nothing"], ["nothing", "holds no runs"]),
        (["report", "nothing"], ["nothing", "holds no runs"]),
        (["sing"], ["sing"]),
    ],
    ids=lambda value: " ".join(value[-2:]) if isinstance(value, list) else None,
)
def test_bad_input_is_one_line_and_leaves_nothing(partita, tmp_path, words, expected):
    assert refused(partita(*words), *expected)
    assert not list(tmp_path.rglob("run.json"))


@pytest.mark.parametrize("content", [b"", b"garbage", b"\x93NUMPY\x01\x00"], ids=["empty", "garbage", "cut short"])
def test_a_damaged_data_file_is_named(partita, tmp_path, content):
    (tmp_path / "bad.npy").write_bytes(content)
    assert refused(partita("train", "vae", "--data", "bad.npy"), "bad.npy")


@pytest.mark.parametrize(
    ("array", "word"),
    [(np.zeros((0, 3)), "empty"), (np.full((5, 2), np.nan), "NaN"), (np.zeros((1, 3)), "row")],
    ids=["empty", "nan", "one row"],
)
def test_unusable_arrays_are_named(partita, tmp_path, array, word):
    np.save(tmp_path / "odd.npy", array)
    assert refused(partita("train", "vae", "--data", "odd.npy"), "odd", word)


def test_a_full_disk_is_one_line(partita):
    """Every write past 2000 bytes fails, as on a full disk."""
    import resource

    def small_files():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))

    ended = partita("train", "vae", "--data", "groups:size=100", "--steps", "5", preexec_fn=small_files)
    assert refused(ended, ".safetensors: File too large")


def test_interrupted_and_continued_ends_in_the_same_bytes(partita, started, tmp_path):
    words = ["train", "pdisvae", "--data", "groups:size=400", "--steps", "400", "--seeds", "0:2", "--device", "cpu"]
    assert partita(*words, "--out", "straight").returncode == 0

    def weights(out):
        return {p.parent.name: p.read_bytes() for p in (tmp_path / out).glob("runs/**/weights.safetensors")}

    assert len(weights("straight")) == 2
    for sign in (signal.SIGINT, signal.SIGTERM):
        out = sign.name
        process = started(*words, "--out", out)
        log = tmp_path / out / "runs"
        deadline = time.monotonic() + 120
        while not [path for path in log.rglob("history.jsonl") if path.stat().st_size] and time.monotonic() < deadline:
            time.sleep(0.02)
        process.send_signal(sign)
        _, said = process.communicate(timeout=60)
        assert process.returncode == 130
        assert "the same command goes on" in said
        assert partita(*words, "--out", out).returncode == 0
        assert weights(out) == weights("straight")


def test_a_start_on_the_command_line(partita, tmp_path):
    words = ["train", "pdisvae", "--data", "groups:size=300", "--groups", "auto", "--steps", "20", "--out", "runs"]
    ended = partita(*words, "--start", "unmixed")
    assert ended.returncode == 0, ended.stderr
    (folder,) = (tmp_path / "runs" / "runs").glob("*/*")
    assert json.loads((folder / "run.json").read_text())["architecture"]["network"] == "auto"
    assert "groups" in json.loads((folder / "result.json").read_text())
    assert partita("evaluate", "runs").returncode == 0
    assert partita("verify", "runs").returncode == 0
    assert refused(partita(*words, "--start", "unmixd"), "unknown start 'unmixd'", "unmixed")
    assert refused(partita(*words, "--start", "unmixed", "--network", "mlp"), 'needs network "auto"')
