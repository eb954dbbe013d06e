"""Sprites: pixel-art figures in motion, composed from layers (Li, Mandt 2018; art of the Liberated Pixel Cup)."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from partita.data._card import Card, RemoteFile
from partita.data._fetch import advice, found, places
from partita.data._images import check_pixels
from partita.data._npy import read_npz
from partita.data._reading import reading
from partita.data.dataset import Dataset
from partita.data.factors import coarser

LAYERS = ("body", "bottomwear", "topwear", "hair", "shoes")  # painted in this order
PREPARED = RemoteFile("sprites_layers.npz")
CARD = Card(
    summary="93,312 colour images 64 x 64 of figures: body, clothes, hair, action, direction, frame",
    size=93_312,
    shape=(3, 64, 64),
    factor_names=("body", "bottomwear", "topwear", "hair", "action", "direction", "frame"),
    factor_sizes=(6, 6, 6, 6, 3, 3, 8),
    licence="CC BY-SA 3.0 and GPL-3.0 (the art): name the authors, share alike",
    citation="Li, Mandt: Disentangled Sequential Autoencoder, ICML 2018; art: Liberated Pixel Cup",
    folder="sprites_lpc",
    files=(PREPARED,),
    alternatives=("body",),
    obtain="Or put the sprite sheets of github.com/YingzhenLi/Sprites there (folders body, bottomwear, topwear, hair, "
    "shoes).",
)
VARIANTS = 6
# Rows of tiles in a sheet for directions front, left, right, and the columns of the eight frames.
ACTIONS = {
    "walk": ((10, 9, 11), (8, 1, 2, 3, 4, 5, 6, 7)),
    "spellcard": ((2, 1, 3), (0, 1, 2, 3, 4, 5, 4, 6)),
    "slash": ((14, 13, 15), (0, 1, 2, 3, 4, 5, 4, 0)),
}


def sprites(*, every: Sequence[int] = (1, 1, 1, 1, 1, 1, 1)) -> Dataset:
    """All 93,312 images (1.1 GB), or every n-th class of each factor, composed on black."""
    grid, _ = coarser(CARD.factor_names, CARD.factor_sizes, every)
    kept = [np.arange(0, size, int(step)) for size, step in zip(CARD.factor_sizes, every)]
    layers = _layers()
    scene = np.ix_(*kept[4:])
    parts = [layers[name][chosen][(slice(None), *scene)] for name, chosen in zip(LAYERS, kept[:4])]
    return Dataset(
        name="sprites",
        x=composed(parts, layers["shoes"][scene]).reshape(grid.size, 3, 64, 64),
        x_scale=1 / 255,
        factors=grid.all_classes(),
        factor_names=grid.names,
        factor_sizes=grid.sizes,
        description={"name": "sprites", "options": {"every": [int(step) for step in every]}},
    )


def composed(parts: Sequence[np.ndarray], shoes: np.ndarray) -> np.ndarray:
    """The parts (variants, actions, directions, frames, 64, 64, 4) painted over each other on black, then the shoes:

    (variants of each part ..., actions, directions, frames, 3, 64, 64).
    """
    parts = [np.ascontiguousarray(np.moveaxis(part, -1, -3)) for part in parts]
    shoes = np.ascontiguousarray(np.moveaxis(shoes, -1, -3))
    pictures = np.empty((*(len(part) for part in parts), *shoes.shape[:3], 3, 64, 64), dtype=np.uint8)
    for scene in np.ndindex(*shoes.shape[:3]):
        picture = np.zeros((3, 64, 64), dtype=np.uint8)
        for part in parts:
            picture = over(part[(slice(None), *scene)], picture[..., None, :, :, :])
        pictures[(..., *scene, slice(None), slice(None), slice(None))] = over(shoes[scene], picture)
    return pictures


def over(paint: np.ndarray, ground: np.ndarray) -> np.ndarray:
    """RGBA `paint` (..., 4, h, w) over an opaque RGB `ground`: (a * paint + (255 - a) * ground) / 255, rounded."""
    colour, alpha = paint[..., :3, :, :], paint[..., 3:, :, :]
    if ((alpha == 0) | (alpha == 255)).all():
        return np.where(alpha == 255, colour, ground)
    a = alpha.astype(np.uint32)
    return ((a * colour + (255 - a) * ground + 127) // 255).astype(np.uint8)


def _layers() -> dict[str, np.ndarray]:
    prepared = found(CARD.folder, PREPARED.name)
    if prepared is not None:
        with reading(prepared):
            layers = read_npz(prepared, LAYERS)
            for name, layer in layers.items():
                expected = (3, 3, 8, 64, 64, 4) if name == "shoes" else (VARIANTS, 3, 3, 8, 64, 64, 4)
                if layer.dtype != np.uint8 or layer.shape != expected:
                    raise ValueError(f"expected {name} uint8 {expected}, found {layer.dtype} {layer.shape}")
            return layers
    folder = next((place for place in places(CARD.folder) if (place / "body").is_dir()), None)
    if folder is None:
        raise OSError(f"{PREPARED.name} is not here. {advice(CARD, PREPARED)}")
    sheets = {name: [folder / name / f"{number}.png" for number in range(VARIANTS)] for name in LAYERS[:4]}
    sheets["shoes"] = [folder / "shoes/1.png"]
    missing = [str(path.relative_to(folder)) for paths in sheets.values() for path in paths if not path.exists()]
    if missing:
        raise ValueError(f"{folder}: sprite sheets are missing: {', '.join(missing)}")
    layers = {name: np.stack([tiles(path) for path in paths]) for name, paths in sheets.items()}
    return layers | {"shoes": layers["shoes"][0]}


def tiles(path: Path) -> np.ndarray:
    """The frames (action, direction, frame, 64, 64, RGBA) of one sprite sheet of 13 x 21 tiles."""
    from PIL import Image

    with reading(path), Image.open(path, formats=("PNG",)) as image:
        check_pixels(image)
        if image.size != (832, 1344):
            raise ValueError(f"expected a sheet of 832 x 1344 pixels, found {image.width} x {image.height}")
        sheet = np.asarray(image.convert("RGBA")).reshape(21, 64, 13, 64, 4).swapaxes(1, 2)
    frames = np.stack([sheet[np.ix_(rows, columns)] for rows, columns in ACTIONS.values()])
    return np.where(frames[..., 3:] == 0, 0, frames)
