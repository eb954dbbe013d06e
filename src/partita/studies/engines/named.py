"""Engines by the words of the command line."""

from pathlib import Path

from partita.data._nearest import nearest
from partita.studies.engines._task import Engine

FORMS = "local, ray, ray:ADDRESS or slurm:partition=NAME"


def engine_named(words: str, folder: Path, device: str = "auto") -> Engine | None:
    """The engine of "ray", "ray:127.0.0.1:6379" or "slurm:partition=gpu,time=120"; None of "local".

    `folder` is the study's. ValueError or OSError, in one line, where there is no such engine or nothing answers.
    """
    kind, _, rest = words.partition(":")
    if kind == "local" and not rest:
        return None
    if kind == "ray":
        from partita.studies.engines.on_ray import RayEngine

        return RayEngine.at(rest or None, device)
    if kind == "slurm":
        from partita.studies.engines.on_slurm import SlurmEngine

        return SlurmEngine.at(rest, folder, device)
    raise ValueError(f"--on {words}: no such engine{nearest(kind, ['local', 'ray', 'slurm'])}; choose {FORMS}")
