"""Files that somebody drops: one observation, or a sentence."""

import io

import numpy as np
import pytest
from PIL import Image
from tests.explorer.conftest import serving

from partita.explorer._study import StudyFolder
from partita.explorer._uploads import MOST_BYTES, read_observation
from partita.studies import Store

NAMES = ("a", "b", "c")


def npy(array, **options) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array, **options)
    return stream.getvalue()


def picture(size=(20, 20), mode="RGB", kind="PNG") -> bytes:
    stream = io.BytesIO()
    pixels = np.random.default_rng(0).integers(0, 255, (*size, 3)).astype(np.uint8)
    Image.fromarray(pixels).convert(mode).save(stream, kind)
    return stream.getvalue()


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "BMP", "GIF", "WEBP", "TIFF"])
def test_images_are_brought_to_size(tmp_path, kind):
    found = read_observation(tmp_path, picture(kind=kind), f"mine.{kind.lower()}", (1, 16, 16), (), 255)
    assert found.shape == (1, 16, 16)
    assert found.max() > 60
    bright = read_observation(tmp_path, picture(kind=kind), f"mine.{kind.lower()}", (3, 16, 16), (), 1)
    assert bright.shape == (3, 16, 16)
    assert 0 < bright.max() <= 1


def test_arrays_and_rows(tmp_path):
    x = np.array([1.5, -2, 3])
    for array in (x, x[None], x.astype(np.float32), x.reshape(3, 1)):
        np.testing.assert_array_equal(read_observation(tmp_path, npy(array), "x.npy", (3,), (), 1), x)
    np.testing.assert_array_equal(read_observation(tmp_path, b"1.5,-2,3\n", "x.csv", (3,), (), 1), x)
    np.testing.assert_array_equal(read_observation(tmp_path, b"c,b,a\n3,-2,1.5\n9,9,9\n", "x.csv", (3,), NAMES, 1), x)
    np.testing.assert_array_equal(read_observation(tmp_path, b"x,y,z\n1.5,-2,3\n", "x.csv", (3,), NAMES, 1), x)


@pytest.mark.parametrize(
    ("content", "name", "words"),
    [
        (b"#!/bin/sh\nrm -rf /", "x.sh", "drop an image"),
        (b"x", "", "drop an image"),
        (b"<svg onload=alert(1)>", "x.svg", "drop an image"),
        (b"<script>", "<script>.html", "drop an image"),
        (b"", "x.npy", "empty"),
        (b"not an array", "x.npy", "x.npy: "),
        (npy(np.array([{"a": 1}], dtype=object), allow_pickle=True), "x.npy", "object"),
        (npy(np.zeros(4)), "x.npy", "shape (4,), and one observation is (3,)"),
        (npy(np.array([1, np.nan, 2])), "x.npy", "missing or not finite"),
        (npy(np.array([1e300, 0, 0])), "x.npy", "not finite"),
        (npy(np.array(["a", "b", "c"])), "x.npy", "numbers are expected"),
        (b"a,b\n1,2\n", "x.csv", "has no column 'c'"),
        (b"1,2\n", "x.csv", "2 columns, and one observation has 3 numbers"),
        (b"a,b,c\n1,2,x\n", "x.csv", "text in column 'c'"),
        (b"a,b,c\n1,,3\n", "x.csv", "missing or not finite"),
        (b"\xff\xfe\x00", "x.csv", "x.csv: "),
        (picture(), "x.png", "is an image, and one observation is (3,)"),
    ],
)
def test_what_is_refused_in_words(tmp_path, content, name, words):
    with pytest.raises(ValueError, match=".*") as error:
        read_observation(tmp_path, content, name, (3,), NAMES, 1)
    assert words in str(error.value)
    assert str(tmp_path) not in str(error.value)


def test_a_small_file_that_claims_to_be_huge(tmp_path):
    """A header that says so many pixels, or numbers, is not believed into memory."""
    content = bytearray(picture(kind="BMP"))
    content[18:26] = (100_000).to_bytes(4, "little") * 2
    with pytest.raises(ValueError, match=r"bomb\.bmp"):
        read_observation(tmp_path, bytes(content), "bomb.bmp", (1, 16, 16), (), 255)
    header = npy(np.zeros(3)).replace(b"(3,)", b"(3" + b"0" * 14 + b",)")
    with pytest.raises(ValueError, match=r"bomb\.npy"):
        read_observation(tmp_path, header, "bomb.npy", (3,), (), 255)


def test_too_large_a_file(tmp_path):
    with pytest.raises(ValueError, match="at most 16 MB"):
        read_observation(tmp_path, bytes(MOST_BYTES + 1), "x.npy", (3,), (), 1)


@pytest.mark.parametrize("name", ["../../evil.npy", "/etc/evil.npy", "..\\evil.npy", "a/b\\..\\evil.npy"])
def test_the_name_that_came_along_is_no_path(tmp_path, name):
    inside = tmp_path / "inside"
    inside.mkdir()
    read_observation(inside, npy(np.zeros(3)), name, (3,), (), 1)
    assert [path.name for path in tmp_path.rglob("*")] == ["inside", "dropped.npy"]
    with pytest.raises(ValueError, match=r"^evil\.npy: "):
        read_observation(inside, b"no", name, (3,), (), 1)


def test_a_dropped_row_is_encoded_as_the_model_does(vectors_study, run_id, served):
    run = next(run for run in Store(vectors_study).runs() if run.id == run_id)
    x = np.array([0.5, -1, 0.25, 2, 1], np.float32)
    mean, log_variance = Store(vectors_study).model(run).posterior(x[None])
    answer = served.post(f"/api/run/{run_id}/encode", npy(x), X_Filename="my%20row.npy")
    assert answer.status == 200
    np.testing.assert_allclose(answer.json["mean"], mean[0], rtol=1e-6)
    np.testing.assert_allclose(answer.json["log_variance"], log_variance[0], rtol=1e-6)
    assert answer.json["shown"] == x.tolist()
    refused = served.post(f"/api/run/{run_id}/encode", npy(x[:2]), X_Filename="my%20row.npy")
    assert refused.status == 400
    assert refused.json["problem"].startswith("my row.npy: holds an array of shape (2,)")


def test_a_dropped_image_is_encoded_in_the_units_of_the_data(images_study):
    (run,) = Store(images_study / "study").runs()
    pixels = np.arange(256, dtype=np.uint8).reshape(16, 16)
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, "PNG")
    mean, _ = Store(images_study / "study").model(run, 1 / 255).posterior(pixels[None, None])
    with serving(StudyFolder(images_study / "study")) as server:
        found = server.post(f"/api/run/{run.id}/encode", stream.getvalue(), X_Filename="a.png").json
    np.testing.assert_allclose(found["mean"], mean[0], rtol=1e-5, atol=1e-6)
    assert found["shown"] == pixels.ravel().tolist()
