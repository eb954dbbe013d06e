import contextlib
import io
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

from partita.data import DATASETS, info, load
from partita.data.load import FORMATS


def test_listing_needs_nothing_heavy():
    heavy = ["torch", "sklearn", "matplotlib", "scipy", "h5py", "PIL", "pyarrow", "pooch", "pandas"]
    code = f"import sys, partita.data; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("dsprite", "did you mean 'dsprites'"),
        ("Groups", "did you mean 'groups'"),
        ("zzz", "there are groups"),
        ("", "unknown data set"),
    ],
)
def test_unknown_names(name, message):
    with pytest.raises(ValueError, match=message):
        load(name)


def test_unknown_options_name_the_allowed():
    with pytest.raises(ValueError, match="unknown option 'sed'.*'seed'.*size, seed"):
        load("groups", sed=1)
    with pytest.raises(ValueError, match="takes none"):
        load("pdsprites", size=1)
    with pytest.raises(ValueError, match="expected the name"):
        load(3)  # pyright: ignore


ODD = [
    None,
    -1,
    0,
    1.5,
    np.nan,
    np.inf,
    True,
    "",
    "abc",
    b"x",
    (),
    [],
    ("a",),
    {},
    object(),
    np.zeros(3),
    10**30,
    [[1]],
    set(),
]


@pytest.mark.parametrize("name", ["groups", "independent", "smallnorb", "shapes3d", "mpi3d", "mnist", "celeba"])
def test_odd_values_of_options_are_refused_by_name(name, monkeypatch, tmp_path):
    monkeypatch.setenv("PARTITA_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PARTITA_OFFLINE", "1")
    for option in DATASETS[name].options:
        for value in ODD:
            with contextlib.suppress(ValueError, OSError):  # anything else fails
                load(name, **{option: value})
    with pytest.raises(ValueError, match="groups: noise must be a number, got 'abc'"):
        load("groups", noise="abc")
    with pytest.raises(ValueError, match="groups: groups must be a list, each a whole number"):
        load("groups", groups=(2, 1.5))


def npz_bytes(**arrays):
    stream = io.BytesIO()
    np.savez_compressed(stream, **arrays)
    return stream.getvalue()


def npy_bytes(array, claimed=None):
    stream = io.BytesIO()
    np.lib.format.write_array(stream, np.asarray(array), allow_pickle=True)
    raw = stream.getvalue()
    return raw if claimed is None else raw.replace(b"(4, 3)", claimed)


def lying_npz():
    """A zip member whose header promises far more than it holds."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("x.npy", npy_bytes(np.zeros((4, 3)), b"(9999999, 9999999)"))
    return stream.getvalue()


WHOLE = npz_bytes(x=np.random.default_rng(0).normal(size=(50, 3)))
DAMAGED = {
    "cut.npz": WHOLE[:-40],
    "half.npz": WHOLE[: len(WHOLE) // 2],
    "flipped.npz": WHOLE[:300] + bytes([WHOLE[300] ^ 255]) + WHOLE[301:],
    "text.npz": b"hello",
    "none.npz": npz_bytes(),
    "objects.npz": npz_bytes(x=np.array([{}, 1], dtype=object)),
    "lying.npz": lying_npz(),
    "empty.npz": b"",
    "empty.npy": b"",
    "magic.npy": b"\x93NUMPX" + npy_bytes(np.zeros((4, 3)))[6:],
    "cut.npy": npy_bytes(np.zeros((4, 3)))[:-8],
    "long.npy": npy_bytes(np.zeros((4, 3))) + b"12345678",
    "huge.npy": npy_bytes(np.zeros((4, 3)), b"(99999999999, 99999999999)"),
    "negative.npy": npy_bytes(np.zeros((4, 3)), b"(-4, -3)"),
    "object.npy": npy_bytes(np.array([{}], dtype=object)),
    "fields.npy": npy_bytes(np.zeros(3, dtype=[("a", "i4")])),
    "text.npy": npy_bytes(np.array([["a"]])),
    "nan.npy": npy_bytes(np.full((4, 3), np.nan)),
    "unknown.xyz": b"1",
}


@pytest.mark.parametrize("name", DAMAGED)
def test_files_that_cannot_be_read_are_named(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(DAMAGED[name])
    with pytest.raises((ValueError, OSError)) as caught:
        load(path)
    assert name in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", FORMATS)
def test_every_kind_of_file_says_what_it_is_and_is_in_the_docs(name):
    card = info(name)
    assert 0 < len(card["becomes"]) < 120
    assert card["written_by"]
    assert all(option.isidentifier() for option in card["options"])
    described = (Path(__file__).parents[2] / "docs/data.md").read_text()
    assert all(f"`{suffix}`" in described for suffix in FORMATS[name].card.files)
    assert all(f"`{option}" in described for option in card["options"])
    for suffix in FORMATS[name].card.files:
        assert info(suffix)["files"] == card["files"]
    with pytest.raises(ValueError, match=r"files of type '.xyz' are not read; .npy"):
        info(".xyz")


def test_missing_files_folders_and_no_permission(tmp_path):
    with pytest.raises(OSError, match="gone.npy: no such file"):
        load(tmp_path / "gone.npy")
    (tmp_path / "folder.npy").mkdir()
    with pytest.raises(OSError, match="folder.npy: is a folder"):
        load(tmp_path / "folder.npy")
    (tmp_path / "loop.npy").symlink_to(tmp_path / "loop.npy")
    with pytest.raises(OSError, match="loop.npy"):
        load(tmp_path / "loop.npy")
