"""CelebA: 202,599 faces with 40 attributes (Liu, Luo, Wang, Tang 2015).

Its terms forbid passing it on, so it is never fetched: its user accepts them and brings the files.
"""

import os
from functools import partial
from pathlib import Path

import numpy as np

from partita.data._card import Card, RemoteFile
from partita.data._fetch import advice, found
from partita.data._images import checked_size, read_image
from partita.data._reading import existing_file, reading
from partita.data.dataset import Dataset
from partita.data.rows import decoded_rows, settled

IMAGES = "img_align_celeba"
ATTRIBUTES = RemoteFile("list_attr_celeba.txt")
PARTITION = RemoteFile("list_eval_partition.txt")
PARTS = {"train": 0, "valid": 1, "test": 2}
NAMES = """
5_o_Clock_Shadow Arched_Eyebrows Attractive Bags_Under_Eyes Bald Bangs Big_Lips Big_Nose Black_Hair Blond_Hair
Blurry Brown_Hair Bushy_Eyebrows Chubby Double_Chin Eyeglasses Goatee Gray_Hair Heavy_Makeup High_Cheekbones Male
Mouth_Slightly_Open Mustache Narrow_Eyes No_Beard Oval_Face Pale_Skin Pointy_Nose Receding_Hairline Rosy_Cheeks
Sideburns Smiling Straight_Hair Wavy_Hair Wearing_Earrings Wearing_Hat Wearing_Lipstick Wearing_Necklace
Wearing_Necktie Young
""".split()  # noqa: SIM905
CARD = Card(
    summary="202,599 faces, cropped to 64 x 64, with 40 attributes; you must accept its terms",
    size=202_599,
    shape=(3, 64, 64),
    factor_names=tuple(NAMES),
    factor_sizes=(2,) * len(NAMES),
    order="by file name",
    licence="non-commercial research only, no copying, publishing or distributing: accept the terms of its authors",
    citation="Liu, Luo, Wang, Tang: Deep Learning Face Attributes in the Wild, ICCV 2015",
    folder="celeba",
    files=(RemoteFile("img_align_celeba/"), ATTRIBUTES, PARTITION),
    obtain="Get CelebA from its authors (mmlab.ie.cuhk.edu.hk/projects/CelebA.html) after accepting their terms, "
    f"unpack the aligned images into the folder {IMAGES} and put the lists beside it.",
)


def celeba(*, part: str = "all", size: int = 64, crop: int = 148, stream: bool | None = None) -> Dataset:
    """Aligned faces: the middle `crop` x `crop` pixels of 178 x 218, brought to `size`; attributes are binary factors.

    `part` is all, train, valid or test (from list_eval_partition.txt). Decoding all takes minutes; `stream=True`
    decodes batches as they are needed.
    """
    if part not in ("all", *PARTS):
        raise ValueError(f"celeba: part must be all, train, valid or test, got {part!r}")
    if not 1 <= crop <= 178:
        raise ValueError(f"celeba: crop must be 1 to 178 pixels, got {crop!r}")
    height, width = checked_size(size)
    folder = _own(RemoteFile(IMAGES))
    names, files, attributes = read_attributes(_own(ATTRIBUTES))
    if part != "all":
        chosen = np.array([member == PARTS[part] for member in _partition(files)])
        files, attributes = [file for file, mine in zip(files, chosen) if mine], attributes[chosen]
    _check_complete(folder, files)
    decode = partial(read_image, size=(height, width), channels=3, crop=crop)
    rows = decoded_rows([folder / file for file in files], decode, (3, height, width))
    return Dataset(
        name="celeba",
        x=settled(rows, stream),
        x_scale=1 / 255,
        factors=attributes,
        factor_names=names,
        factor_sizes=(2,) * len(names),
        description={"name": "celeba", "options": {"part": part, "size": size, "crop": crop}},
    )


def read_attributes(path: Path) -> tuple[tuple[str, ...], list[str], np.ndarray]:
    """Attribute names, file names and 0/1 (n, attributes) of the official list: count, names, then a file and -1/1."""
    path = existing_file(path)
    with reading(path), path.open(encoding="ascii") as stream:
        count, names = int(stream.readline()), tuple(stream.readline().split())
        lines = [line.split() for line in stream if line.strip()]
        if len(lines) != count or not names:
            raise ValueError(f"announces {count} files, lists {len(lines)}")
        if any(len(line) != len(names) + 1 for line in lines):
            raise ValueError(f"a line does not have {len(names)} attributes")
        files = [line[0] for line in lines]
        if any(os.path.basename(file) != file or file in ("", ".", "..") for file in files):
            raise ValueError("a file name leaves its folder")
        values = np.array([line[1:] for line in lines], dtype=np.int64)
        if not np.isin(values, (-1, 1)).all():
            raise ValueError("an attribute is neither -1 nor 1")
        return names, files, (values + 1) // 2


def _own(file: RemoteFile) -> Path:
    path = found(CARD.folder, file.name)
    if path is None:
        raise OSError(f"{file.name} is not here. {advice(CARD, file)}")
    return path


def _partition(files: list[str]) -> list[int]:
    path = _own(PARTITION)
    with reading(path):
        parts = dict(line.split() for line in path.read_text(encoding="ascii").splitlines() if line.strip())
        missing = [file for file in files if file not in parts]
        if missing:
            raise ValueError(f"does not name {missing[0]}" + (f" and {len(missing) - 1} more" if missing[1:] else ""))
        return [int(parts[file]) for file in files]


def _check_complete(folder: Path, files: list[str]) -> None:
    with reading(folder):
        here = {entry.name for entry in os.scandir(folder)}
    missing = [file for file in files if file not in here]
    if missing:
        shown = ", ".join(missing[:8]) + (", ..." if len(missing) > 8 else "")
        raise ValueError(f"{folder}: {len(missing)} of {len(files)} images are missing: {shown}")
