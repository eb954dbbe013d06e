"""MNIST: 70,000 handwritten digits (LeCun, Bottou, Bengio, Haffner 1998), in the idx format."""

import gzip
from math import prod
from pathlib import Path
from typing import IO, cast

import numpy as np

from partita.data._card import Card, RemoteFile
from partita.data._fetch import obtain
from partita.data._memory import check_fits
from partita.data._npy import exactly
from partita.data._reading import existing_file, reading
from partita.data.dataset import Dataset

SERVERS = ("https://ossci-datasets.s3.amazonaws.com/mnist/", "https://storage.googleapis.com/cvdf-datasets/mnist/")


def _file(name: str, size: int, sha256: str) -> RemoteFile:
    return RemoteFile(name, tuple(server + name for server in SERVERS), f"sha256:{sha256}", size)


FILES = {
    "train": (
        _file(
            "train-images-idx3-ubyte.gz", 9912422, "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609"
        ),
        _file("train-labels-idx1-ubyte.gz", 28881, "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c"),
    ),
    "test": (
        _file("t10k-images-idx3-ubyte.gz", 1648877, "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6"),
        _file("t10k-labels-idx1-ubyte.gz", 4542, "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6"),
    ),
}
CARD = Card(
    summary="70,000 handwritten digits 28 x 28",
    size=70_000,
    shape=(1, 28, 28),
    factor_names=("digit",),
    factor_sizes=(10,),
    order="as published, the 60,000 of the training part first",
    licence="usually given as CC BY-SA 3.0",
    citation="LeCun, Bottou, Bengio, Haffner: Gradient-based learning applied to document recognition, Proc. IEEE 1998",
    folder="mnist",
    files=(*FILES["train"], *FILES["test"]),
    obtain="The files may be gzipped or plain.",
)


def mnist(*, part: str = "all", pad: int = 0) -> Dataset:
    """Both parts, or `part="train"` or `"test"`; `pad=2` adds an empty border, which makes 32 x 32 images."""
    if part not in ("all", *FILES):
        raise ValueError(f"mnist: part must be all, train or test, got {part!r}")
    if not 0 <= pad <= 64:
        raise ValueError(f"mnist: pad must be 0 to 64 pixels, got {pad!r}")
    images, digits = [], []
    for name in FILES if part == "all" else (part,):
        path, label_path = (obtain(CARD, file) for file in FILES[name])
        pictures, labels = read_idx(path), read_idx(label_path)
        if pictures.ndim != 3 or labels.shape != pictures.shape[:1]:
            raise ValueError(
                f"{path}: images {pictures.shape} do not go with the labels {labels.shape} of {label_path}"
            )
        images.append(np.pad(pictures, ((0, 0), (pad, pad), (pad, pad)))[:, None])
        digits.append(labels)
    return Dataset(
        name="mnist",
        x=np.concatenate(images),
        x_scale=1 / 255,
        factors=np.concatenate(digits)[:, None].astype(np.int64),
        factor_names=("digit",),
        factor_sizes=(10,),
        description={"name": "mnist", "options": {"part": part, "pad": pad}},
    )


def read_idx(path: Path) -> np.ndarray:
    """Bytes in the idx format, gzipped or plain: 0, 0, type 8, number of dimensions, sizes (big-endian), numbers."""
    path = existing_file(path)
    with reading(path), gzip.open(path) if path.suffix == ".gz" else path.open("rb") as stream:
        head = stream.read(4)
        if len(head) < 4 or head[:3] != b"\x00\x00\x08" or not 1 <= head[3] <= 4:
            raise ValueError(f"not an idx file of bytes: it starts with {head.hex()}")
        shape = tuple(int(extent) for extent in np.frombuffer(stream.read(4 * head[3]), ">u4", head[3]))
        expected = prod(shape)
        check_fits(3 * expected, f"its content, bytes {shape},")  # with a border added, and both parts joined
        content = exactly(cast(IO[bytes], stream), expected, "its content")
        if stream.read(1):
            raise ValueError(f"should hold {expected:,} bytes for {shape}, has more")
        return np.frombuffer(content, np.uint8).reshape(shape)
