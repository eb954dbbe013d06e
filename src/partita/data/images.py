"""Image files: single images brought to one size, folders of them, and stacks in TIFF files."""

import ctypes
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from partita.data.arrays import described, from_array
from partita.data.dataset import Dataset
from partita.data.movies import check_samples
from partita.data.reading import check_fits, existing_file, reading
from partita.data.rows import decoded_rows, settled
from partita.data.switch import Switch

SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp", ".ppm", ".pgm", ".tif", ".tiff")
FORMATS = ("PNG", "JPEG", "BMP", "GIF", "WEBP", "PPM", "TIFF")
MOST_PIXELS = 64 * 2**20  # in one image: a small file may claim to unpack into gigabytes
GREY = ("1", "L", "LA", "I;16", "I;16B", "I;16L")


def load_folder(
    path: Path,
    *,
    size: int | Sequence[int] = 64,
    channels: int | None = None,
    fit: str = "crop",
    stream: bool | None = None,
) -> Dataset:
    """Every image in a folder and its subfolders, by name, brought to `size` (pixels, or height and width).

    `fit="crop"` cuts the middle out to the wanted proportions, `"stretch"` changes the proportions; both resize with
    antialiasing. `channels` is 1 or 3, by default what the first image has. Subfolders, if every image lies in one,
    become the factor "folder". `stream=True` decodes batches as they are needed instead of all at once.
    """
    paths = image_paths(path)
    height, width = checked_size(size)
    if channels is None:
        channels = 1 if _is_grey(paths[0]) else 3
    if channels not in (1, 3) or fit not in ("crop", "stretch"):
        raise ValueError(f"{path}: channels must be 1 or 3 and fit 'crop' or 'stretch', got {channels!r}, {fit!r}")
    decode = partial(read_image, size=(height, width), channels=channels, fit=fit)
    rows = decoded_rows(paths, decode, (channels, height, width))
    folders = [str(found.relative_to(path).parent) for found in paths]
    classes = np.unique(folders, return_inverse=True)[1] if "." not in folders else None
    options = {"size": [height, width], "channels": channels, "fit": fit}
    return from_array(
        settled(rows, stream),
        factors=classes,
        factor_names=() if classes is None else ("folder",),
        name=path.name,
        scale=1 / 255,
        description=described(path, options),
    )


def image_paths(folder: Path) -> list[Path]:
    with reading(folder):
        paths = sorted(found for found in folder.rglob("*") if found.suffix.lower() in SUFFIXES and found.is_file())
    if not paths:
        raise ValueError(f"{folder}: no images here; these types are read: {' '.join(SUFFIXES)}")
    return paths


def checked_size(size: int | Sequence[int]) -> tuple[int, int]:
    pair = tuple(int(extent) for extent in np.atleast_1d(np.asarray(size)))
    pair = pair * 2 if len(pair) == 1 else pair
    if len(pair) != 2 or min(pair) < 1 or max(pair) > 4096:
        raise ValueError(f"size must be pixels, or (height, width), of 1 to 4096, got {size!r}")
    return pair[0], pair[1]


def read_image(
    path: Path, *, size: tuple[int, int], channels: int, fit: str = "crop", crop: int | None = None
) -> np.ndarray:
    """One image as uint8 (channels, height, width); `crop` first cuts a square of so many pixels out of the middle."""
    from PIL import Image, ImageOps

    with _opened(path) as image:
        image = _eight_bit(image).convert("L" if channels == 1 else "RGB")
        if crop is not None:
            image = ImageOps.fit(image, (crop, crop)) if min(image.size) < crop else _middle(image, crop)
        target = (size[1], size[0])
        if fit == "crop":
            image = ImageOps.fit(image, target, Image.Resampling.LANCZOS)
        elif image.size != target:
            image = image.resize(target, Image.Resampling.LANCZOS)
        pixels = np.asarray(image)
    return pixels[None] if channels == 1 else np.moveaxis(pixels, 2, 0)


def _middle(image: Any, side: int) -> Any:
    left, top = (image.width - side) // 2, (image.height - side) // 2
    return image.crop((left, top, left + side, top + side))


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    """An image whose size has been checked before a pixel is unpacked; every failure names the file."""
    from PIL import Image

    path = existing_file(path)
    with reading(path), Image.open(path, formats=FORMATS) as image:
        check_pixels(image)
        yield image


def check_pixels(image: Any) -> None:
    if image.width * image.height > MOST_PIXELS:
        raise ValueError(f"claims {image.width} x {image.height} pixels, more than the {MOST_PIXELS:,} that are read")


def _is_grey(path: Path) -> bool:
    with _opened(path) as image:
        return image.mode in GREY


def _eight_bit(image: Any) -> Any:
    from PIL import Image

    if image.mode.startswith("I;16"):
        return Image.fromarray((np.asarray(image) >> 8).astype(np.uint8))
    if image.mode in ("I", "F"):
        raise ValueError(f"its pixels are not 8 or 16 bits deep (mode {image.mode}); load it as an array instead")
    return image


def load_tiff(path: Path, *, samples: str | None = None, labels: Any = None, scale: float | None = None) -> Dataset:
    """The pages of a TIFF file as images, or as frames of a movie; `labels` may be given as an array, a row a page."""
    check_samples(samples)
    options = {"samples": samples, "scale": scale}
    return from_array(
        read_tiff(path),
        labels=labels,
        samples=samples,
        name=path.stem,
        scale=scale,
        description=described(path, options),
    )


@contextmanager
def _without_complaints() -> Iterator[None]:
    """libtiff writes complaints to the terminal before Pillow raises them; a damaged file gets one line, which is ours.
    Pillow has no word for that, so the library inside it is asked; where it cannot be, it goes on complaining."""
    from PIL import Image

    handler = getattr(ctypes.CDLL(Image.core.__file__), "TIFFSetErrorHandler", None)
    if handler is None:
        yield
        return
    handler.argtypes, handler.restype = [ctypes.c_void_p], ctypes.c_void_p
    before = handler(None)
    try:
        yield
    finally:
        handler(before)


decoder_silenced = Switch(_without_complaints)


def read_tiff(path: Path) -> np.ndarray:
    """All pages, (pages, height, width) or (pages, height, width, channels), in the type they are stored in."""
    from PIL import Image

    path = existing_file(path)
    with reading(path), decoder_silenced, Image.open(path, formats=("TIFF",)) as image:
        pages: list[np.ndarray] = []
        seen = 0
        while True:
            check_pixels(image)
            page = np.asarray(image.convert("L") if image.mode == "1" else image)
            seen += page.nbytes
            check_fits(seen, "the stack")
            if pages and (page.shape != pages[0].shape or page.dtype != pages[0].dtype):
                raise ValueError(
                    f"page {len(pages)} is {page.dtype} {page.shape}, page 0 {pages[0].dtype} {pages[0].shape}"
                )
            pages.append(page)
            try:
                image.seek(len(pages))
            except EOFError:
                return np.stack(pages)
