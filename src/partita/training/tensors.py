"""Tensors and what is to be known of them in one safetensors file, with a digest of all of it.

Format 2: the digest is that of the whole file, taken with zeros in its own place. Format 1 (partita 0.1) covered the
tensors alone.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

from partita.training.files import digest_of, write_bytes

FORMAT = 2
NO_DIGEST = "0" * 32
DIGEST = re.compile(rb'\\"digest\\": \\"([0-9a-f]{32})\\"')


def write_tensors(path: Path, kind: str, tensors: Mapping[str, Tensor], about: Mapping) -> None:
    flat = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    note = {"digest": NO_DIGEST, "format": FORMAT, "kind": kind, "about": about}
    content = bytearray(save(flat, {"partita": json.dumps(note, allow_nan=False)}))
    start, end = _place(content)
    content[start:end] = digest_of(content).encode()
    write_bytes(path, content)


def read_tensors(path: Path, kind: str) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """What `write_tensors` wrote; ValueError, naming the file, when it is damaged or something else."""
    if not path.is_file():
        raise FileNotFoundError(f"{path} does not exist")
    content = path.read_bytes()
    try:
        tensors = load(content)
        note = _note(content)
    except (SafetensorError, ValueError, RecursionError, KeyError, TypeError) as error:
        raise ValueError(f"{path} is not a whole safetensors file ({error}); it may be cut short") from None
    if not isinstance(note, dict) or note.get("kind") != kind:
        raise ValueError(f"{path} was not written by partita as a {kind}")
    found = note.get("format")
    if found not in (1, FORMAT):
        raise ValueError(f"{path} has format {found}, this partita reads formats 1 to {FORMAT}")
    if note.get("digest") != (_digest_of_tensors(tensors) if found == 1 else _digest_of_file(content)):
        raise ValueError(f"{path} is damaged: its content does not match its digest")
    if not isinstance(note.get("about"), dict):
        raise ValueError(f"{path} is damaged: it does not say what its tensors are")
    return tensors, note["about"]


def _note(content: bytes) -> Any:
    length = int.from_bytes(content[:8], "little")
    about = json.loads(content[8 : 8 + length]).get("__metadata__", {})
    return json.loads(about.get("partita", "null"))


def _place(content: bytes | bytearray) -> tuple[int, int]:
    """Where the digest stands: first in the note, which stands first in the file."""
    found = DIGEST.search(content)
    return (0, 0) if found is None else found.span(1)


def _digest_of_file(content: bytes) -> str:
    start, end = _place(content)
    whole = memoryview(content)
    return digest_of(whole[:start], NO_DIGEST.encode(), whole[end:])


def _digest_of_tensors(tensors: Mapping[str, Tensor]) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for name in sorted(tensors):
        tensor = tensors[name]
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(tensor.reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()
