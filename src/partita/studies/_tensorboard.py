"""The tracker `tensorboard`: event files, a folder a run; look at them by `tensorboard --logdir DIR/tracked`."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any


class TensorBoard:
    """Scalars a quantity, and the run's description and ending as text."""

    def __init__(self):
        from torch.utils.tensorboard import SummaryWriter

        self.open = SummaryWriter

    def start(self, run: Mapping[str, Any], folder: Path) -> None:
        # what another process logged after the checkpoint that this one goes on from is to be forgotten
        again = {"purge_step": run["step"] + 1} if run["step"] else {}
        self.writer = self.open(str(folder / run["id"]), **again)
        self.writer.add_text("run", f"```json\n{json.dumps(run, indent=1, default=str)}\n```")

    def log(self, step: int, quantities: Mapping[str, float]) -> None:
        for name, value in quantities.items():
            self.writer.add_scalar(name, value, step)

    def artifact(self, path: Path, kind: str) -> None:
        self.writer.add_text(kind, str(path))

    def finish(self, status: str) -> None:
        self.writer.add_text("status", status)
        self.writer.close()
