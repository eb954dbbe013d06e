"""What the tables of this folder share: where and when they were made, cells, and how they are kept."""

import json
import platform
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import torch


def about(device: torch.device) -> dict[str, str]:
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else f"CPU, {torch.get_num_threads()} thread(s)"
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "device": name,
        "torch": torch.__version__,
        "python": platform.python_version(),
        "command": f"python benchmarks/{Path(sys.argv[0]).name} {' '.join(sys.argv[1:])}".strip(),
    }


def mean_and_range(values: Sequence[float | None], digits: int = 3) -> str:
    """Mean over runs, and the smallest and largest of them; a dash where there is none."""
    known = np.array([value for value in values if value is not None], float)
    if not len(known):
        return "–"
    shown = f"{known.mean():.{digits}f}"
    return shown if len(known) == 1 else f"{shown} ({known.min():.{digits}f} to {known.max():.{digits}f})"


def markdown(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


def keep(folder: Path, name: str, text: str, content: dict[str, Any]) -> None:
    """Prints the text, and writes it and the numbers behind it as NAME.md and NAME.json."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.json").write_text(json.dumps(content, indent=1) + "\n", "utf-8")
    (folder / f"{name}.md").write_text(text + "\n", "utf-8")
    print(text, flush=True)


def in_one_line(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
