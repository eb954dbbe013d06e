"""Files that are whole or absent: written beside their place, then moved there."""

import hashlib
import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

FORMAT = 1


def write_bytes(path: Path, content: bytes) -> None:
    """Replaces `path` at once: a reader, or a crash, sees the old content or the new, never a part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def write_json(path: Path, content) -> None:
    write_bytes(path, (json.dumps(content, indent=1, allow_nan=False) + "\n").encode())


def read_json(path: Path):
    """The content of a JSON file; ValueError, naming the file, when it holds something else."""
    try:
        return json.loads(path.read_text("utf-8"))
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise ValueError(f"{path} is not a JSON file ({error}); it may be cut short") from None


def write_tensors(path: Path, kind: str, tensors: Mapping[str, Tensor], about: Mapping) -> None:
    """Tensors and a JSON description in one safetensors file, with a digest of the tensors' bytes."""
    flat = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    note = {"format": FORMAT, "kind": kind, "digest": _digest(flat), "about": about}
    write_bytes(path, save(flat, {"partita": json.dumps(note, allow_nan=False)}))


def read_tensors(path: Path, kind: str) -> tuple[dict[str, Tensor], dict]:
    """What `write_tensors` wrote; ValueError, naming the file, when it is damaged or something else."""
    if not path.is_file():
        raise FileNotFoundError(f"{path} does not exist")
    try:
        with safe_open(path, "pt") as file:
            note = json.loads((file.metadata() or {}).get("partita", "null"))
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  not a dict
    except (SafetensorError, json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is not a whole safetensors file ({error}); it may be cut short") from None
    if not isinstance(note, dict) or note.get("kind") != kind:
        raise ValueError(f"{path} was not written by partita as a {kind}")
    if note.get("format") != FORMAT:
        raise ValueError(f"{path} has format {note.get('format')}, this partita reads format {FORMAT}")
    if note.get("digest") != _digest(tensors):
        raise ValueError(f"{path} is damaged: its tensors do not match its digest")
    return tensors, note["about"]


def _digest(tensors: Mapping[str, Tensor]) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for name in sorted(tensors):
        tensor = tensors[name]
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(tensor.reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()
