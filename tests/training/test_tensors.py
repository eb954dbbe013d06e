"""A file that was changed anywhere is refused; files of partita 0.1 are read."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load, save

from partita.training.tensors import read_tensors, write_tensors

STORED = Path(__file__).parents[1] / "stored" / "0.1.0"
TENSORS = {"a": torch.arange(12.0).reshape(3, 4), "b.c": torch.tensor([1, 2, 3]), "empty": torch.zeros(0, 2)}
ABOUT = {"step": 30, "members": ["x", "y"], "zeros": "0" * 32, "digest": "0" * 32}


@pytest.fixture
def written(tmp_path):
    path = tmp_path / "file.safetensors"
    write_tensors(path, "checkpoint", TENSORS, ABOUT)
    return path


def test_what_was_written_is_read(written):
    tensors, about = read_tensors(written, "checkpoint")
    assert about == ABOUT
    assert tensors.keys() == TENSORS.keys()
    assert all(torch.equal(tensors[name], TENSORS[name]) for name in TENSORS)
    assert load(written.read_bytes()).keys() == TENSORS.keys()  # a safetensors file like any other


def refused(path: Path, content: bytes) -> bool:
    path.write_bytes(content)
    try:
        read_tensors(path, "checkpoint")
    except ValueError as error:
        return str(path) in str(error)
    return False


def test_every_changed_byte_is_noticed(written):
    whole = written.read_bytes()
    rng = np.random.default_rng(0)
    for place in range(len(whole)):
        for flip in {1, 32, int(rng.integers(1, 256))}:  # a neighbouring sign, another case, anything
            changed = whole[:place] + bytes([whole[place] ^ flip]) + whole[place + 1 :]
            assert refused(written, changed), (place, flip)
    assert not refused(written, whole)


def test_thousands_of_mutations_are_noticed(written):
    """Bytes set, cut out, doubled, exchanged, zeroed, and files cut short or long."""
    whole = written.read_bytes()
    rng = np.random.default_rng(0)
    for _ in range(3350):
        content = bytearray(whole)
        start, end = sorted(int(place) for place in rng.integers(0, len(whole), 2))
        kind = rng.integers(6)
        if kind == 0:
            content[start] = int(rng.integers(256))
        elif kind == 1:
            del content[start : end + 1]
        elif kind == 2:
            content[start:start] = content[start : min(end, start + 40)]
        elif kind == 3:
            content[start : start + 8], content[end : end + 8] = content[end : end + 8], content[start : start + 8]
        elif kind == 4:
            content[start : start + 16] = bytes(len(content[start : start + 16]))
        else:
            content = content[:start] if rng.integers(2) else content + bytes(int(rng.integers(1, 9)))
        assert bytes(content) == whole or refused(written, bytes(content)), (kind, start, end)


def with_header(whole: bytes, change) -> bytes:
    length = int.from_bytes(whole[:8], "little")
    header = change(whole[8 : 8 + length])
    header += b" " * (-len(header) % 8)
    return len(header).to_bytes(8, "little") + header + whole[8 + length :]


@pytest.mark.parametrize(
    "change",
    [
        lambda header: header + b" " * 8,
        lambda header: header.replace(b'":{', b'": {'),
        lambda header: json.dumps(dict(reversed(json.loads(header).items()))).encode(),
        lambda header: header.replace(b'\\"step\\": 30', b'\\"step\\": 90'),
        lambda header: header.replace(b'\\"step\\": 30', b'\\"step\\":  9'),
        lambda header: header.replace(b'\\"format\\": 2', b'\\"format\\": 1'),
        lambda header: header.replace(b'\\"format\\": 2', b'\\"format\\": 3'),
        lambda header: header.replace(b'{"__metadata__"', b'{"__metadata__":{"other":"x"},"__metadata__"'),
    ],
    ids=["padding", "whitespace", "order", "step", "step shorter", "as format 1", "format 3", "twice"],
)
def test_a_changed_header_is_noticed(written, change):
    whole = written.read_bytes()
    changed = with_header(whole, change)
    assert changed != whole
    assert refused(written, changed)


@pytest.mark.parametrize("about", ["[]", "null", "3"])
def test_a_file_that_does_not_say_what_it_is_is_refused(tmp_path, about):
    note = f'{{"format": 1, "kind": "checkpoint", "digest": "{"0" * 32}", "about": {about}}}'
    assert refused(tmp_path / "file", save(TENSORS, {"partita": note}))
    assert refused(tmp_path / "file", save(TENSORS, {"partita": "[" * 100_000}))
    assert refused(tmp_path / "file", save(TENSORS))


@pytest.mark.parametrize("path", sorted(STORED.rglob("*.safetensors")), ids=lambda path: path.parent.name)
def test_files_of_0_1_are_read(path, tmp_path):
    kind = {"weights": "weights", "model": "disentangler"}.get(path.stem, "checkpoint")
    tensors, about = read_tensors(path, kind)
    plain = load(path.read_bytes())
    assert all(torch.equal(tensors[name], plain[name]) for name in plain)
    assert about
    changed = bytearray(path.read_bytes())
    changed[-3] ^= 1
    (tmp_path / "file").write_bytes(changed)
    with pytest.raises(ValueError, match="damaged"):
        read_tensors(tmp_path / "file", kind)
