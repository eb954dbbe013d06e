"""Image files: single images brought to one size, folders of them, and stacks in TIFF files."""

import ctypes
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from partita.data._card import FileCard
from partita.data._memory import AS_A_FILE_TO_STREAM, check_fits
from partita.data._movies import check_samples
from partita.data._npy import Header
from partita.data._reading import existing_file, reading
from partita.data._switch import Switch
from partita.data.arrays import bytes_needed, described, from_array
from partita.data.dataset import Dataset
from partita.data.rows import decoded_rows, settled

SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp", ".ppm", ".pgm", ".tif", ".tiff")
FORMATS = ("PNG", "JPEG", "BMP", "GIF", "WEBP", "PPM", "TIFF")
LARGEST = 4096  # pixels, of height or width
MOST_PIXELS = 64 * 2**20  # in one image: a small file may claim to unpack into gigabytes
GREY = ("1", "L", "LA", "I;16", "I;16B", "I;16L")

FOLDER_CARD = FileCard(
    name="images",
    files=(),
    becomes="an image a row; subfolders become a factor",
    written_by="png, jpg, bmp, gif, webp, ppm, tif",
)
TIFF_CARD = FileCard("TIFF", (".tif", ".tiff"), "a page a row", "microscopes, ImageJ")


def load_folder(
    path: Path,
    *,
    size: int | Sequence[int] | None = None,
    channels: int | None = None,
    fit: str = "crop",
    stream: bool | None = None,
) -> Dataset:
    """Every image in a folder and its subfolders, by name, brought to `size` (pixels, or height and width).

    By default images keep the size they have, which must be one and the same: the networks of convolutions are for 16
    to 256 pixels, so photographs want `size=64`.

    `fit="crop"` cuts the middle out to the wanted proportions, `"stretch"` changes the proportions; both resize with
    antialiasing. `channels` is 1 or 3, by default what the first image has. Subfolders, if every image lies in one,
    become the factor "folder". `stream=True` decodes batches as they are needed instead of all at once.
    """
    paths = image_paths(path)
    height, width = _common_size(path, paths) if size is None else checked_size(size)
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
        layout="nchw",
        name=path.name,
        scale=1 / 255,
        description=described(path, options),
    )


def has_images(folder: Path) -> bool:
    with reading(folder):
        return any(found.suffix.lower() in SUFFIXES for found in folder.rglob("*"))


def image_paths(folder: Path) -> list[Path]:
    with reading(folder):
        paths = sorted(found for found in folder.rglob("*") if found.suffix.lower() in SUFFIXES and found.is_file())
    if not paths:
        raise ValueError(f"{folder}: no images here; these types are read: {' '.join(SUFFIXES)}")
    return paths


def _common_size(folder: Path, paths: Sequence[Path]) -> tuple[int, int]:
    """Height and width of every image; from their headers alone."""
    sizes: dict[tuple[int, int], Path] = {}
    for path in paths:
        with _opened(path) as image:
            sizes.setdefault((image.height, image.width), path)
        if len(sizes) > 1:
            found = [f"{w} x {h} pixels in {path.relative_to(folder)}" for (h, w), path in sizes.items()]
            raise ValueError(
                f"{folder}: images of different sizes, {' and '.join(found)}: say size=64, or size=[height,width], "
                "to bring all of them to one"
            )
    height, width = next(iter(sizes))
    if max(height, width) > LARGEST:
        raise ValueError(f"{folder}: images of {width} x {height} pixels: say size=64 to bring them to a smaller size")
    return height, width


def checked_size(size: int | Sequence[int]) -> tuple[int, int]:
    pair = tuple(int(extent) for extent in np.atleast_1d(np.asarray(size)))
    pair = pair * 2 if len(pair) == 1 else pair
    if len(pair) != 2 or min(pair) < 1 or max(pair) > LARGEST:
        raise ValueError(f"size must be pixels, or (height, width), of 1 to {LARGEST}, got {size!r}")
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
    pages = read_tiff(path, samples)
    return from_array(
        pages,
        labels=labels,
        samples=samples,
        layout="nhwc" if pages.ndim == 4 else None,
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


def read_tiff(path: Path, samples: str | None = None) -> np.ndarray:
    """All pages, (pages, height, width) or (pages, height, width, channels), in the type they are stored in."""
    from PIL import Image

    path = existing_file(path)
    with reading(path), decoder_silenced, Image.open(path, formats=("TIFF",)) as image:
        pages, count = None, getattr(image, "n_frames", 1)
        for number in range(count):
            image.seek(number)
            check_pixels(image)
            if pages is None:
                _check_room(image, count, samples)
            page = np.asarray(image.convert("L") if image.mode == "1" else image)
            if pages is None:
                pages = np.empty((count, *page.shape), page.dtype)
            if page.shape != pages.shape[1:] or page.dtype != pages.dtype:
                raise ValueError(f"page {number} is {page.dtype} {page.shape}, page 0 {pages.dtype} {pages.shape[1:]}")
            pages[number] = page
        assert pages is not None
        return pages


def _check_room(image: Any, count: int, samples: str | None) -> None:
    """Whether so many pages like this one, and what is made of them, fit into memory."""
    from PIL import ImageMode

    bands, dtype = len(image.getbands()), np.dtype(ImageMode.getmode(image.mode).typestr)
    shape = (count, image.height, image.width) + ((bands,) if bands > 1 else ())
    header = Header(dtype, shape, False)
    needed = bytes_needed(header, samples, "nhwc" if bands > 1 else None) + dtype.itemsize * prod(shape[1:])
    check_fits(needed, f"the stack of {count:,} pages, {header},", AS_A_FILE_TO_STREAM)
