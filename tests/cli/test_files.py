"""A person's own files by the command: where they are, in which units, and which flag was meant."""

import sys

import numpy as np
import pytest
from PIL import Image

from partita.cli.main import _explained, app

from ..data import layouts

TRAIN = ["train", "vae", "--network", "linear", "--latents", "2", "--steps", "10", "--out", "study"]


def refused(ended, *words):
    assert ended.returncode == 2, ended.stderr
    assert ended.stderr.count("\n") == 1, ended.stderr
    for word in words:
        assert word in ended.stderr, ended.stderr


def test_a_study_on_a_file_goes_on_by_any_path_and_is_measured_from_any_folder(partita, tmp_path):
    np.save(tmp_path / "rows.npy", np.random.default_rng(0).normal(size=(60, 4)))
    assert partita(*TRAIN, "--data", "rows.npy").returncode == 0
    assert partita(*TRAIN, "--data", str(tmp_path / "rows.npy")).returncode == 0
    assert len(list((tmp_path / "study/runs").iterdir())) == 1
    (tmp_path / "elsewhere").mkdir()
    ended = partita("evaluate", "../study", cwd=tmp_path / "elsewhere")
    assert ended.returncode == 0, ended.stderr
    for name in ("study", "rows.npy"):
        (tmp_path / name).rename(tmp_path / "elsewhere" / name)
    ended = partita("report", "elsewhere/study")
    assert ended.returncode == 0, ended.stderr
    (tmp_path / "elsewhere/rows.npy").rename(tmp_path / "elsewhere/other.npy")
    ended = partita("report", "elsewhere/study")
    assert ended.returncode != 0
    assert ended.stderr.count("\n") == 1
    assert all(word in ended.stderr for word in ("rows.npy", "content", "PARTITA_DATA"))


def test_units_are_said_when_data_are_loaded(partita, tmp_path):
    np.savez(tmp_path / "movie.npz", frames=np.random.default_rng(0).normal(100, 50, (30, 8, 9)).astype(np.int16))
    words = ["--data", "movie.npz", "--samples", "pixels", "--steps", "1"]
    assert "partita: note: --scale one: standard deviations from" in partita(*TRAIN, *words).stderr
    looked = partita("data", "movie.npz", "--samples", "pixels")
    assert "note: features of movie" in looked.stderr
    assert looked.returncode == 0


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["train", "vae", "--data", "groups", "--step", "3"], "--step (did you mean --steps?)"),
        (["train", "vae", "--data", "groups", "--batch-siz=3"], "--batch-siz (did you mean --batch-size?)"),
        (["train", "beta_vae", "--data", "groups", "--betta", "3"], "--betta (did you mean --beta?)"),
        (["train", "vae", "--dat", "groups"], "is --data what you meant by --dat?"),
        (["demo", "--step", "3"], "--step (did you mean --steps?)"),
        (["evaluate", "x", "--metric", "mig"], "--metric (did you mean --metrics?)"),
        (["data", "--jso"], "--jso (did you mean --json?)"),
    ],
)
def test_flags_are_suggested(monkeypatch, words, meant):
    monkeypatch.setattr(sys, "argv", ["partita", *words])
    with pytest.raises(Exception) as caught:
        app(standalone_mode=False)
    said, status = _explained(caught.value)
    assert meant in said
    assert status == 2


def test_folders_of_images_keep_their_size(partita, tmp_path):
    (tmp_path / "pictures").mkdir()
    Image.effect_noise((28, 28), 60).save(tmp_path / "pictures/a.png")
    assert "1 rows of 1 x 28 x 28" in partita("data", "pictures").stdout
    assert "options    size, channels, fit, stream" in partita("data", "images").stdout
    (tmp_path / "images").symlink_to(tmp_path / "pictures")
    assert "images: 1 rows" in partita("data", "images").stdout  # what is there goes before the kind of file
    Image.effect_noise((20, 28), 60).save(tmp_path / "pictures/b.png")
    refused(partita("data", "pictures"), "pictures: images of different sizes", "size=64")
    assert "2 rows of 1 x 16 x 24" in partita("data", "pictures:size=[16,24]").stdout


def test_files_of_single_cells_from_the_shell(partita, tmp_path):
    layouts.h5ad(tmp_path / "cells.h5ad")
    assert "options    layer, genes, factors, labels, stream" in partita("data", ".h5ad").stdout
    said = partita("data", "cells.h5ad:genes=7").stdout
    assert "60 rows of 7 float32; factors donor (3), doublet (2); columns total, age, donor, doublet" in said
    ended = partita("train", "vae", "--data", "cells.h5ad:genes=7", "--steps", "5", "--latents", "2")
    assert ended.returncode == 0, ended.stderr
    assert partita("evaluate", "runs").returncode == 0
    (tmp_path / "wrong.h5ad").write_bytes(b"barcode,gene\n" * 40)
    refused(partita("train", "vae", "--data", "wrong.h5ad"), "wrong.h5ad: ", "not of the format its name says")
    layouts.h5ad(tmp_path / "normal.h5ad", table=np.log1p(0.3 * layouts.COUNTS))
    ended = partita("data", "normal.h5ad")
    assert ended.returncode == 0
    assert "normal.h5ad: the numbers of X are not counts" in ended.stderr
    assert "already normalised" in ended.stderr


def test_a_table_of_very_many_columns_is_refused_in_few_words(partita, tmp_path):
    (tmp_path / "wide.csv").write_text(",".join(f"column{k}" for k in range(100_000)) + "\n" + "1," * 99_999 + "x\n")
    for words in (
        ["data", "wide.csv:labels=columm"],
        ["data", "wide.csv"],
        ["data", "wide.csv:columns=columm1,columm2"],
    ):
        ended = partita(*words)
        refused(ended, "wide.csv")
        assert len(ended.stderr) < 500
    refused(partita("data", "wide.csv:labels=columm"), "column0, column1", "... and 99,990 more")
