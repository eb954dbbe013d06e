"""A fitted estimator as one file: its parameters, what it learned, and what it was fitted on."""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch

from partita.estimator._building import PARTS, known_recipe
from partita.estimator._seen import Seen
from partita.training.labels import LabelScale
from partita.training.own_parts import named, refound
from partita.training.plain import as_json, from_json
from partita.training.tensors import read_tensors, write_tensors


def write_fitted(path: Path, settings: Mapping[str, Any], fitted: Mapping[str, Any]) -> None:
    """`settings` are the estimator's parameters in Python's own types, `fitted` its attributes that end in _."""
    scale, (seen, arrays) = fitted["label_scale_"], fitted["seen_"].as_file()
    about = {
        "parameters": as_json({name: named(value) if name in PARTS else value for name, value in settings.items()}),
        "architecture": {
            "network": named(fitted["network_"]),
            "likelihood": named(fitted["likelihood_"]),
            "shape": list(fitted["shape_"]),
        },
        "x_scale": fitted["x_scale_"],
        "seen": seen,
        "n_features_in": fitted["n_features_in_"],
        "feature_names_in": list(fitted.get("feature_names_in_", [])) or None,
        "groups": [list(group) for group in fitted["groups_"]],
        "candidate": fitted["candidate_"],
        "restarts": list(fitted["restarts_"]),
        "latents": fitted["latents_"] if settings["latents"] == "auto" else None,
        "validation": fitted.get("validation_"),
        "label_scale": None if scale is None else asdict(scale),
    }
    history = {f"history/{name}": torch.as_tensor(values) for name, values in fitted["history_"].items()}
    weights = {f"weights/{name}": value for name, value in fitted["parameters_"].items()}
    write_tensors(path, "disentangler", weights | history | {f"seen/{k}": v for k, v in arrays.items()}, about)


def read_fitted(path: Path, given: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The settings and the fitted attributes that `write_fitted` was given; parts of one's own, by the name of the
    parameter, from `given` where they are there."""
    tensors, about = read_tensors(path, "disentangler")
    settings, architecture, scale = from_json(about["parameters"]), about["architecture"], about.get("label_scale")
    settings.setdefault("scale", "none")  # in files of 0.1, X was never scaled
    for name in PARTS:
        settings[name] = refound(path, name, settings[name], given[name])
    fitted = {
        **{f"{name}_": _as_fitted(name, settings, architecture) for name in ("network", "likelihood")},
        "shape_": tuple(architecture["shape"]),
        "x_scale_": about["x_scale"],
        "seen_": Seen.from_file(about["x_scale"], about.get("seen", {}), dict(_under("seen/", tensors))),
        "n_features_in_": about["n_features_in"],
        "label_scale_": scale and LabelScale(tuple(scale["offset"]), tuple(scale["factor"])),
        "history_": {name: tensor.numpy() for name, tensor in _under("history/", tensors)},
        "groups_": tuple(tuple(group) for group in about["groups"]),
        "candidate_": about.get("candidate", 0),
        "restarts_": tuple(about.get("restarts", ())),
        "parameters_": dict(_under("weights/", tensors)),
    }
    if about.get("latents") is not None:
        fitted["latents_"] = about["latents"]
    if about.get("validation") is not None or settings.get("validation") == "auto":
        fitted["validation_"] = about["validation"]
    if about.get("feature_names_in"):
        fitted["feature_names_in_"] = np.array(about["feature_names_in"], dtype=object)
    return settings, fitted


def _under(prefix: str, tensors: Mapping[str, torch.Tensor]) -> list[tuple[str, torch.Tensor]]:
    return [(name.removeprefix(prefix), value) for name, value in tensors.items() if name.startswith(prefix)]


def _as_fitted(name: str, settings: Mapping[str, Any], architecture: Mapping[str, Any]) -> Any:
    """The network or likelihood that was fitted: one's own, or the recipe's, or that of this name."""
    if not isinstance(architecture[name], dict):
        return architecture[name]
    recipe = known_recipe(settings["method"]) if settings[name] == "auto" else None
    return settings[name] if recipe is None else getattr(recipe.architecture, name)
