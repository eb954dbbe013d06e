"""The tracker `wandb`: runs of Weights & Biases, offline; `wandb sync DIR/tracked/wandb/wandb/offline-run-*` sends
them, if anybody wants that. With WANDB_MODE=online in the environment they go there at once."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any


class WeightsAndBiases:
    """One offline run a run, under its id. Nothing is sent, asked or printed: no reports of errors, no statistics of
    the machine, no code."""

    def __init__(self):
        os.environ.setdefault("WANDB_ERROR_REPORTING", "false")  # is read when the package is loaded
        os.environ.setdefault("WANDB_SILENT", "true")
        import wandb

        self.wandb = wandb

    def start(self, run: Mapping[str, Any], folder: Path) -> None:
        quiet = self.wandb.Settings(
            silent=True, console="off", disable_git=True, disable_code=True, save_code=False, x_disable_stats=True,
            x_disable_meta=True, x_disable_machine_info=True,
        )  # fmt: skip
        mode = "online" if os.environ.get("WANDB_MODE") == "online" else "offline"
        self.run = self.wandb.init(
            project="partita", id=run["id"], name=run["id"], config=dict(run), dir=str(folder), mode=mode,
            reinit="create_new", resume="allow" if mode == "online" else None, settings=quiet,
        )  # fmt: skip

    def log(self, step: int, quantities: Mapping[str, float]) -> None:
        self.run.log(dict(quantities), step=step)

    def artifact(self, path: Path, kind: str) -> None:
        self.run.summary[kind] = str(path)

    def finish(self, status: str) -> None:
        self.run.summary["status"] = status
        self.run.finish(exit_code=0 if status == "finished" else 1)
