"""Ways in which one file of a study goes wrong."""

import json
from collections.abc import Callable
from pathlib import Path

import torch

from partita.training.tensors import read_tensors, write_tensors


def _edited(name: str, change: Callable) -> Callable[[Path], None]:
    def edit(folder: Path) -> None:
        content = json.loads((folder / name).read_text())
        (folder / name).write_text(json.dumps(change(content), indent=1))

    return edit


def _content(name: str, content: bytes) -> Callable[[Path], None]:
    return lambda folder: (folder / name).write_bytes(content) and None


def _weights(change: Callable) -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        path = folder / "weights.safetensors"
        tensors, about = read_tensors(path, "weights")
        write_tensors(path, "weights", *change(tensors, about))

    return write


def _flipped(folder: Path) -> None:
    path = folder / "weights.safetensors"
    content = bytearray(path.read_bytes())
    content[-9] ^= 4
    path.write_bytes(content)


def _longer(tensors: dict, about: dict) -> tuple[dict, dict]:
    return {name: torch.cat([value, value]) for name, value in tensors.items()}, about


# What happens to a run's folder, and the file that is to be named.
DAMAGES: dict[str, tuple[Callable[[Path], None], str]] = {
    "weights gone": (lambda folder: (folder / "weights.safetensors").unlink(), "weights.safetensors"),
    "weights flipped": (_flipped, "weights.safetensors"),
    "weights empty": (_content("weights.safetensors", b""), "weights.safetensors"),
    "weights of wrong shapes": (_weights(_longer), "weights.safetensors"),
    "weights without one": (_weights(lambda t, about: (dict(list(t.items())[1:]), about)), "weights.safetensors"),
    "weights of another run": (_weights(lambda t, about: (t, about | {"run": "vae-seed9-0"})), "weights.safetensors"),
    "steps changed": (_edited("run.json", lambda run: run | {"steps": 5}), "run.json"),
    "run.json cut": (_content("run.json", b'{"method": "vae", "opt'), "run.json"),
    "run.json gone": (lambda folder: (folder / "run.json").unlink(), "run.json"),
    "run.json a list": (_content("run.json", b"[]"), "run.json"),
    "run.json nested": (_content("run.json", b"[" * 100_000), "run.json"),
    "unknown keyword": (_edited("run.json", lambda run: run | {"colour": 5}), "run.json"),
    "unknown method": (_edited("run.json", lambda run: run | {"method": ["vae"]}), "run.json"),
    "options a list": (_edited("run.json", lambda run: run | {"options": []}), "run.json"),
    "data null": (_edited("run.json", lambda run: run | {"data": None}), "run.json"),
    "result a list": (_content("result.json", b"[]"), "result.json"),
    "result cut": (_content("result.json", b'{"status": "fin'), "result.json"),
    "result changed": (_edited("result.json", lambda result: result | {"step": 3}), "result.json"),
    "result unsealed": (
        _edited("result.json", lambda result: {k: v for k, v in result.items() if k != "digest"}), "result.json"
    ),
    "history gone": (lambda folder: (folder / "history.jsonl").unlink(), "history.jsonl"),
    "history changed": (_content("history.jsonl", b'{"step": 4, "loss": 1.0}\n'), "history.jsonl"),
    "history no JSON": (_content("history.jsonl", b"4\nx\n"), "history.jsonl"),
}  # fmt: skip
