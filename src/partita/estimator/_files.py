"""A fitted estimator as one file: its parameters, what it learned, and what it was fitted on."""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch

from partita.training.labels import LabelScale
from partita.training.plain import as_json, from_json
from partita.training.tensors import read_tensors, write_tensors


def write_fitted(path: Path, settings: Mapping[str, Any], fitted: Mapping[str, Any]) -> None:
    """`settings` are the estimator's parameters in Python's own types, `fitted` its attributes that end in _."""
    scale = fitted["label_scale_"]
    about = {
        "parameters": as_json(dict(settings)),
        "architecture": {
            "network": fitted["network_"],
            "likelihood": fitted["likelihood_"],
            "shape": list(fitted["shape_"]),
        },
        "x_scale": fitted["x_scale_"],
        "n_features_in": fitted["n_features_in_"],
        "feature_names_in": list(fitted.get("feature_names_in_", [])) or None,
        "groups": [list(group) for group in fitted["groups_"]],
        "candidate": fitted["candidate_"],
        "label_scale": None if scale is None else asdict(scale),
    }
    history = {f"history/{name}": torch.as_tensor(values) for name, values in fitted["history_"].items()}
    weights = {f"weights/{name}": value for name, value in fitted["parameters_"].items()}
    write_tensors(path, "disentangler", weights | history, about)


def read_fitted(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """The settings and the fitted attributes that `write_fitted` was given."""
    tensors, about = read_tensors(path, "disentangler")
    architecture, scale = about["architecture"], about.get("label_scale")
    fitted = {
        "network_": architecture["network"],
        "likelihood_": architecture["likelihood"],
        "shape_": tuple(architecture["shape"]),
        "x_scale_": about["x_scale"],
        "n_features_in_": about["n_features_in"],
        "label_scale_": scale and LabelScale(tuple(scale["offset"]), tuple(scale["factor"])),
        "history_": {name: tensor.numpy() for name, tensor in _under("history/", tensors)},
        "groups_": tuple(tuple(group) for group in about["groups"]),
        "candidate_": about.get("candidate", 0),
        "parameters_": dict(_under("weights/", tensors)),
    }
    if about.get("feature_names_in"):
        fitted["feature_names_in_"] = np.array(about["feature_names_in"], dtype=object)
    return from_json(about["parameters"]), fitted


def _under(prefix: str, tensors: Mapping[str, torch.Tensor]) -> list[tuple[str, torch.Tensor]]:
    return [(name.removeprefix(prefix), value) for name, value in tensors.items() if name.startswith(prefix)]
