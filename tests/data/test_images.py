import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from PIL import Image, ImageDraw

from partita.data import load
from partita.data._images import MOST_PIXELS

RNG = np.random.default_rng(0)


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "pictures"
    for name, size, mode in (
        ("cats/a.png", (80, 60), "RGB"),
        ("cats/b.jpg", (64, 64), "RGB"),
        ("ants/c.bmp", (33, 99), "L"),
    ):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        Image.effect_noise(size, 60).convert(mode).save(folder / name)
    (folder / "notes.txt").write_text("not an image")
    return folder


@pytest.mark.parametrize("stream", [True, False])
def test_any_size_comes_out_in_one(folder, stream):
    data = load(folder, size=(32, 48), stream=stream)
    assert data.x.shape == (3, 1, 32, 48)  # ants/c.bmp is first, and grey
    assert data.in_memory != stream
    colour = load(folder, size=16, channels=3, stream=stream)
    assert colour.x.shape == (3, 3, 16, 16)
    assert colour.x_scale == 1 / 255
    assert colour.factor_names == ("folder",)
    assert colour.factors[:, 0].tolist() == [0, 1, 1]
    again = load(colour.description["path"], **colour.description["options"])
    np.testing.assert_array_equal(again.x, np.asarray(colour.x))


def test_resizing_is_antialiased(tmp_path):
    """Fine stripes become grey; taking every n-th pixel would give black or white."""
    stripes = np.tile(np.array([0, 255], np.uint8), (256, 128))
    Image.fromarray(stripes).save(tmp_path / "stripes.png")
    assert np.abs(load(tmp_path, size=32).observations() - 0.5).max() < 0.03


def test_crop_keeps_proportions_and_stretch_does_not(tmp_path):
    image = Image.new("L", (200, 100))
    ImageDraw.Draw(image).rectangle((0, 0, 34, 99), fill=255)  # on the left
    image.save(tmp_path / "wide.png")
    assert load(tmp_path, size=20).x.max() == 0
    assert load(tmp_path, size=20, fit="stretch").observations()[0, 0, 10, :3].min() > 0.9


def test_sixteen_bits_are_reduced(tmp_path):
    Image.fromarray(np.full((8, 8), 0x80FF, np.uint16)).save(tmp_path / "deep.png")
    assert (load(tmp_path, size=8).x == 0x80).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"size": 0}, "size must"),
        ({"size": (1, 2, 3)}, "size must"),
        ({"channels": 2}, "channels"),
        ({"fit": "x"}, "fit"),
    ],
)
def test_bad_options(folder, options, message):
    with pytest.raises(ValueError, match=message):
        load(folder, **({"size": 8} | options))


def test_images_keep_their_size_unless_asked(tmp_path):
    for name in ("a.png", "b.png"):
        Image.effect_noise((28, 30), 60).save(tmp_path / name)
    kept = load(tmp_path)
    assert kept.x.shape == (2, 1, 30, 28)
    np.testing.assert_array_equal(kept.x[1, 0], np.asarray(Image.open(tmp_path / "b.png")))
    assert kept.description["options"]["size"] == [30, 28]
    assert load(tmp_path, size=64).x.shape == (2, 1, 64, 64)
    Image.effect_noise((30, 28), 60).save(tmp_path / "c.png")
    with pytest.raises(ValueError, match="28 x 30 pixels in a.png and 30 x 28 pixels in c.png: say size=64"):
        load(tmp_path)
    Image.new("1", (5000, 8)).save(tmp_path / "d.png")
    for name in "abc":
        (tmp_path / f"{name}.png").unlink()
    with pytest.raises(ValueError, match="images of 5000 x 8 pixels: say size="):
        load(tmp_path)


def test_empty_folder_and_damaged_image(folder, tmp_path):
    (tmp_path / "none").mkdir()
    with pytest.raises(ValueError, match="none: no images here"):
        load(tmp_path / "none")
    (folder / "cats/b.jpg").write_bytes(b"\xff\xd8\xff\xe0nothing")
    with pytest.raises(ValueError, match="cats/b.jpg"):
        load(folder, size=64)
    streamed = load(folder, size=64, stream=True)
    with pytest.raises(ValueError, match="cats/b.jpg"):
        streamed.observations([2])


def test_image_bombs_are_refused_before_they_unpack(tmp_path):
    side = int(MOST_PIXELS**0.5) + 50
    Image.new("1", (side, side)).save(tmp_path / "bomb.png")
    assert (tmp_path / "bomb.png").stat().st_size < 200_000
    with pytest.raises(ValueError, match="bomb.png: claims"):
        load(tmp_path)
    Image.new("1", (side, side)).save(tmp_path / "bomb.tif", compression="group4")
    with pytest.raises(ValueError, match="bomb.tif: claims"):
        load(tmp_path / "bomb.tif")


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32, np.int32])
@pytest.mark.parametrize("compression", [None, "tiff_lzw", "tiff_adobe_deflate"])
def test_tiff_stacks(tmp_path, dtype, compression):
    stack = RNG.integers(0, 200, (5, 12, 9)).astype(dtype)
    pages = [Image.fromarray(page) for page in stack]
    pages[0].save(tmp_path / "stack.tif", save_all=True, append_images=pages[1:], compression=compression)
    data = load(tmp_path / "stack.tif")
    assert data.x.shape == (5, 1, 12, 9)
    assert data.x.dtype == (np.uint8 if dtype == np.uint8 else np.float32)
    np.testing.assert_array_equal(data.x[:, 0], stack)
    pixels = load(tmp_path / "stack.tif", samples="pixels")
    np.testing.assert_array_equal(pixels.x, stack.reshape(5, -1).T)


def test_colour_tiff_and_pages_that_differ(tmp_path):
    colour = RNG.integers(0, 256, (3, 8, 7, 3), np.uint8)
    pages = [Image.fromarray(page) for page in colour]
    pages[0].save(tmp_path / "c.tiff", save_all=True, append_images=pages[1:])
    np.testing.assert_array_equal(load(tmp_path / "c.tiff").x, colour.transpose(0, 3, 1, 2))
    pages[0].save(tmp_path / "d.tif", save_all=True, append_images=[Image.new("RGB", (9, 9))])
    with pytest.raises(ValueError, match="d.tif: page 1 is"):
        load(tmp_path / "d.tif")
    (tmp_path / "e.tif").write_bytes((tmp_path / "c.tiff").read_bytes()[:100])
    with pytest.raises(ValueError, match="e.tif"):
        load(tmp_path / "e.tif")


def test_a_damaged_stack_is_refused_in_one_line(tmp_path, capfd):
    """libtiff's own complaints do not reach the terminal, and what is printed afterwards does."""
    pages = [Image.fromarray(page) for page in np.random.default_rng(0).integers(0, 256, (3, 40, 40), np.uint8)]
    pages[0].save(tmp_path / "stack.tif", save_all=True, append_images=pages[1:], compression="tiff_adobe_deflate")
    content = bytearray((tmp_path / "stack.tif").read_bytes())
    content[200:400] = bytes(200)
    (tmp_path / "stack.tif").write_bytes(content)
    with pytest.raises((ValueError, OSError), match="stack.tif"):
        load(tmp_path / "stack.tif")
    assert capfd.readouterr().err == ""
    os.write(2, b"still here")
    assert capfd.readouterr().err == "still here"


def test_threads_read_stacks_and_nobody_loses_the_terminal(tmp_path, capfd):
    """17 of 20 rounds once ended with stderr at /dev/null; whole and damaged files side by side."""
    pages = [Image.fromarray(page) for page in np.random.default_rng(0).integers(0, 256, (3, 40, 40), np.uint8)]
    pages[0].save(tmp_path / "whole.tif", save_all=True, append_images=pages[1:], compression="tiff_adobe_deflate")
    content = bytearray((tmp_path / "whole.tif").read_bytes())
    content[200:400] = bytes(200)
    (tmp_path / "damaged.tif").write_bytes(content)
    terminal = os.fstat(2)

    def read(name):
        try:
            return load(tmp_path / name).x.shape
        except (ValueError, OSError) as error:
            return str(error)

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(read, ["whole.tif", "damaged.tif"] * 40))
    assert os.path.samestat(os.fstat(2), terminal)
    assert set(found[::2]) == {(3, 1, 40, 40)}
    assert all("damaged.tif" in words for words in found[1::2])
    assert capfd.readouterr().err == ""
