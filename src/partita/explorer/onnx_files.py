"""A trained model as ONNX: files that other programs, and a browser, compute with."""

import json
import logging
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from partita import __version__
from partita.data._switch import Switch
from partita.estimator import Disentangler
from partita.explorer._graphs import DecoderGraph, EncoderGraph
from partita.explorer._model import OneModel
from partita.training import Model
from partita.training.files import write_bytes

EXPORTER = "torch.onnx._internal.exporter._registration"  # which misses torchvision, aloud, at every call


def export_onnx(
    model: Disentangler | Model, out: str | Path, about: Mapping[str, Any] | None = None
) -> tuple[Path, Path]:
    """Encoder and decoder as `NAME.encoder.onnx` and `NAME.decoder.onnx`, beside where `out`, NAME.onnx, would be.

    The encoder makes `mean` and `log_variance`, (rows, latents) each, of `x` (rows, *shape); the decoder makes `x`, the
    mean of p(x|z), of `z`. Observations are in the units of the data: scale and offset are in the graphs. Where the
    model sees covariates, both take a second input, `covariates` (rows, c), as `training.covariates` encodes them;
    their average is in the files' metadata, with the groups and `about`.

    Parameters
    ----------
    model : Disentangler or Model
        A fitted estimator; of a study, `store.model(run, x_scale)`.
    out : path
        Such as `model.onnx`; its folder must be there.
    about : mapping, optional
        What else the files are to say of themselves, JSON.

    Returns
    -------
    tuple of Path
        The encoder's and the decoder's file.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import numpy as np
    >>> import partita as pt
    >>> fitted = pt.Disentangler("pca", latents=2).fit(np.eye(6))
    >>> with TemporaryDirectory() as folder:
    ...     files = export_onnx(fitted, Path(folder) / "model.onnx")
    >>> [file.name for file in files]
    ['model.encoder.onnx', 'model.decoder.onnx']
    """
    out = Path(out)
    name = out.name.removesuffix(".onnx")
    if not name or not out.parent.is_dir():
        raise OSError(f"cannot write {out}: give a name such as model.onnx in a folder that is there")
    trained = OneModel(model).opened.model if isinstance(model, Disentangler) else model
    assert trained is not None
    graphs = onnx_graphs(trained, about, covariates=True)
    files = out.with_name(f"{name}.encoder.onnx"), out.with_name(f"{name}.decoder.onnx")
    for file, graph in zip(files, graphs):
        write_bytes(file, graph)
    return files


def onnx_graphs(model: Model, about: Mapping[str, Any] | None = None, *, covariates: bool = False) -> tuple[bytes, ...]:
    """The bytes of encoder and decoder; where the model sees covariates, they are an input, or else average."""
    try:
        import onnx  # noqa: F401
        import onnxscript  # noqa: F401
    except ImportError as error:
        raise ValueError(f'ONNX needs the package {error.name}: pip install "partita[explore]"') from None
    house = model.recipe.architecture
    told = {"partita": __version__, "groups": [list(group) for group in model.recipe.groups], **(about or {})}
    beside: dict[str, torch.Tensor] = {}
    if covariates and model.average is not None:
        beside["covariates"] = torch.as_tensor(model.average, dtype=torch.float32).expand(2, -1).clone()
        told["covariates_average"] = model.average.tolist()
    x, z = torch.zeros(2, *house.shape), torch.zeros(2, house.latents)
    encoder = _graph(EncoderGraph(model), {"x": x, **beside}, ["mean", "log_variance"], told)
    return encoder, _graph(DecoderGraph(model), {"z": z, **beside}, ["x"], told)


def _graph(module: torch.nn.Module, inputs: Mapping[str, torch.Tensor], outputs: list[str], about: Any) -> bytes:
    rows = torch.export.Dim("rows")
    try:
        with _quietly:
            program = torch.onnx.export(
                module.eval(),
                tuple(inputs.values()),
                input_names=list(inputs),
                output_names=outputs,
                dynamic_shapes=tuple({0: rows} for _ in inputs),
                dynamo=True,
                external_data=False,
                verbose=False,
            )
    except Exception as error:  # whatever the exporter meets in a network of somebody's own
        first = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise ValueError(f"this model's networks cannot be written as ONNX: {first}") from error
    assert program is not None
    made = program.model_proto
    if (
        not made.graph.input[0].type.tensor_type.shape.dim[0].dim_param
    ):  # len(x) in a network is a number to the exporter
        raise ValueError(
            "this model's networks take one number of rows alone as ONNX: use x.shape[0] in them, not len(x)"
        )
    for name, value in about.items():
        entry = made.metadata_props.add()
        entry.key, entry.value = name, value if isinstance(value, str) else json.dumps(value)
    return made.SerializeToString()


@contextmanager
def _without_notices() -> Iterator[None]:
    logger = logging.getLogger(EXPORTER)
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)


_quietly = Switch(_without_notices)
