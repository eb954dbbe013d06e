"""What lies at a path: a study's folder, or a saved model."""

from pathlib import Path
from typing import Any

from partita.explorer._study import StudyFolder


def explored_at(path: Path, data: str | None = None) -> Any:
    """ValueError or OSError, in words, where there is nothing to look at. `data` are the rows of a saved model."""
    if path.is_file():
        from partita.explorer._model import OneModel

        return OneModel.at(path, data)
    if not path.is_dir():
        raise OSError(f"{path}: there is no such folder or file; give a study's folder, or a saved model")
    if data is not None:
        raise ValueError("--data is for a saved model: a study knows its data")
    return StudyFolder(path)
