from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from partita.data import load
from partita.data.sprites import over

SHARED = Path(__file__).parents[2] / "../shared/data"


def test_painting_agrees_with_pillow_for_every_alpha():
    rng = np.random.default_rng(0)
    paint = rng.integers(0, 256, (64, 64, 4), np.uint8)
    paint[..., 3] = np.arange(64 * 64).reshape(64, 64) % 256
    ground = rng.integers(0, 256, (64, 64, 4), np.uint8)
    ground[..., 3] = 255
    expected = np.asarray(Image.alpha_composite(Image.fromarray(ground), Image.fromarray(paint)))[..., :3]
    painted = over(paint.transpose(2, 0, 1), ground[..., :3].transpose(2, 0, 1)).transpose(1, 2, 0)
    np.testing.assert_allclose(painted.astype(int), expected.astype(int), atol=1)
    assert (painted == expected).mean() > 0.99


@pytest.fixture(scope="module")
def sheets(tmp_path_factory):
    """Sheets of 13 x 21 tiles of random paint, as the original repository has them."""
    rng = np.random.default_rng(0)
    home = tmp_path_factory.mktemp("data")
    for layer in ("body", "bottomwear", "topwear", "hair", "shoes"):
        (home / "sprites_lpc" / layer).mkdir(parents=True)
        for number in range(6):
            paint = np.repeat(np.repeat(rng.integers(0, 256, (84, 52, 4), np.uint8), 16, 0), 16, 1)
            paint[..., 3] = np.where(paint[..., 3] < 128, 0, 255)
            Image.fromarray(paint).save(home / f"sprites_lpc/{layer}/{number}.png")
    return home


def test_sheets_are_composed_and_cut(sheets, monkeypatch):
    """Against whole sheets laid over each other by Pillow and then cut: walk, front, left, right and so on."""
    monkeypatch.setenv("PARTITA_DATA", str(sheets))
    data = load("sprites", every=(2, 3, 3, 5, 1, 1, 1))
    assert data.factor_sizes == (3, 2, 2, 2, 3, 3, 8)
    columns = {
        "walk": [8, 1, 2, 3, 4, 5, 6, 7],
        "spellcard": [0, 1, 2, 3, 4, 5, 4, 6],
        "slash": [0, 1, 2, 3, 4, 5, 4, 0],
    }
    first_row = {"walk": 8, "spellcard": 0, "slash": 12}  # of back, left, front, right
    figure = Image.new("RGBA", (832, 1344), "black")
    for layer, number in (("body", 2), ("bottomwear", 0), ("topwear", 3), ("hair", 5), ("shoes", 1)):
        figure = Image.alpha_composite(figure, Image.open(sheets / f"sprites_lpc/{layer}/{number}.png"))
    whole = np.asarray(figure)[..., :3]
    for a, action in enumerate(columns):
        for d, row in enumerate((2, 1, 3)):
            for frame, column in enumerate(columns[action]):
                top, left = 64 * (first_row[action] + row), 64 * column
                index = data.grid.to_index([1, 0, 1, 1, a, d, frame])
                tile = whole[top : top + 64, left : left + 64].transpose(2, 0, 1)
                np.testing.assert_array_equal(data.x[index], tile)


def test_what_is_missing_or_wrong(sheets, tmp_path, monkeypatch):
    monkeypatch.setenv("PARTITA_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with pytest.raises(OSError, match="sprites_layers.npz is not here.*sprite sheets"):
        load("sprites")
    (tmp_path / "sprites_lpc/body").mkdir(parents=True)
    Image.new("RGBA", (10, 10)).save(tmp_path / "sprites_lpc/body/0.png")
    with pytest.raises(ValueError, match="sprite sheets are missing: body/1.png, body/2.png"):
        load("sprites")
    np.savez(
        tmp_path / "sprites_lpc/sprites_layers.npz",
        **{k: np.zeros(3) for k in ("body", "bottomwear", "topwear", "hair", "shoes")},
    )
    with pytest.raises(ValueError, match="sprites_layers.npz: expected body uint8"):
        load("sprites")


@pytest.mark.skipif(not (SHARED / "sprites_lpc").exists(), reason="the real layers are not at hand in ../shared/data")
def test_the_real_figures(monkeypatch):
    """Against Pillow laying the real layers over each other."""
    monkeypatch.setenv("PARTITA_DATA", str(SHARED))
    data = load("sprites", every=(3, 3, 1, 3, 1, 1, 3))
    with np.load(SHARED / "sprites_lpc/sprites_layers.npz", allow_pickle=False) as archive:
        layers = {name: archive[name] for name in ("body", "bottomwear", "topwear", "hair", "shoes")}
    rng = np.random.default_rng(0)
    for index in rng.integers(0, data.size, 60):
        body, bottom, top, hair, *scene = data.factors[index] * (3, 3, 1, 3, 1, 1, 3)
        figure = Image.new("RGBA", (64, 64), "black")
        for layer, variant in (("body", body), ("bottomwear", bottom), ("topwear", top), ("hair", hair)):
            figure = Image.alpha_composite(figure, Image.fromarray(layers[layer][(variant, *scene)]))
        figure = Image.alpha_composite(figure, Image.fromarray(layers["shoes"][tuple(scene)]))
        np.testing.assert_allclose(data.x[index].transpose(1, 2, 0), np.asarray(figure)[..., :3].astype(int), atol=1)
