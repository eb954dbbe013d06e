import numpy as np
import pytest
from PIL import Image

from partita.data import info, load

NAMES = ("Bald", "Smiling", "Young")


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("PARTITA_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    home = tmp_path / "celeba"
    (home / "img_align_celeba").mkdir(parents=True)
    rng = np.random.default_rng(0)
    lines, parts = [], []
    for number in range(1, 10):
        face = np.full((218, 178, 3), 20 * number, np.uint8)
        face[:35] = 255  # outside the crop of 148 in the middle
        Image.fromarray(face).save(home / f"img_align_celeba/{number:06d}.jpg", quality=95)
        lines.append(f"{number:06d}.jpg " + " ".join(f"{value:2d}" for value in rng.choice([-1, 1], 3)))
        parts.append(f"{number:06d}.jpg {(number - 1) // 3}")
    (home / "list_attr_celeba.txt").write_text("9\n" + " ".join(NAMES) + " \n" + "\n".join(lines) + "\n")
    (home / "list_eval_partition.txt").write_text("\n".join(parts) + "\n")
    return home


@pytest.mark.parametrize("stream", [True, False])
def test_faces_and_attributes(home, stream):
    data = load("celeba", stream=stream)
    assert data.in_memory != stream
    assert data.x.shape == (9, 3, 64, 64)
    assert data.factor_names == NAMES
    assert data.factor_sizes == (2, 2, 2)
    np.testing.assert_allclose(data.observations()[:, 0, 30, 30] * 255, np.arange(1, 10) * 20, atol=3)
    assert data.observations([0]).max() < 0.2  # the bright border is cut away
    valid = load("celeba", part="valid", size=32)
    np.testing.assert_array_equal(valid.factors, data.factors[3:6])
    assert valid.shape == (3, 32, 32)


def test_what_is_missing_is_listed(home):
    (home / "img_align_celeba/000004.jpg").unlink()
    (home / "img_align_celeba/000007.jpg").unlink()
    with pytest.raises(ValueError, match="2 of 9 images are missing: 000004.jpg, 000007.jpg"):
        load("celeba")
    assert load("celeba", part="train").size == 3
    (home / "list_eval_partition.txt").unlink()
    with pytest.raises(OSError, match="list_eval_partition.txt is not here.*accepting their terms"):
        load("celeba", part="train")
    (home / "list_attr_celeba.txt").unlink()
    with pytest.raises(OSError, match="list_attr_celeba.txt is not here"):
        load("celeba")
    assert "PARTITA_DATA/celeba" in info("celeba")["state"]
    assert len(info("celeba")["factor_names"]) == 40


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("2\nBald\na.jpg 1\n", "announces 2 files, lists 1"),
        ("1\nBald Young\na.jpg 1\n", "does not have 2 attributes"),
        ("1\nBald\n../a.jpg 1\n", "leaves its folder"),
        ("1\nBald\na.jpg 0\n", "neither -1 nor 1"),
        ("x\nBald\na.jpg 1\n", "list_attr_celeba.txt"),
        ("1\nBald\na.jpg one\n", "list_attr_celeba.txt"),
        ("1\nBäld\na.jpg 1\n", "list_attr_celeba.txt"),
    ],
)
def test_bad_lists(home, text, message):
    (home / "list_attr_celeba.txt").write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        load("celeba")


def test_a_damaged_face_is_named(home):
    path = home / "img_align_celeba/000002.jpg"
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(ValueError, match="000002.jpg"):
        load("celeba")
