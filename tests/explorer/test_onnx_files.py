"""What the files compute is what PyTorch computes."""

import json
from dataclasses import replace

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from torch import nn

import partita as pt
from partita.explorer import export_onnx
from partita.explorer._model import OneModel
from partita.explorer.onnx_files import onnx_graphs
from partita.studies import Store

ALLOWED = 1e-6  # of the largest number


def computed(graph: bytes, **inputs: np.ndarray) -> list[np.ndarray]:
    session = onnxruntime.InferenceSession(graph)
    assert {each.name for each in session.get_inputs()} == set(inputs)
    return session.run(None, {name: np.asarray(values, np.float32) for name, values in inputs.items()})


def check_same(found: np.ndarray, expected: np.ndarray) -> None:
    assert found.shape == expected.shape
    assert np.abs(found - expected).max() < ALLOWED * np.abs(expected).max()


def check_model(model, x: np.ndarray, covariates: np.ndarray | None = None) -> None:
    """Any number of rows, encoded and decoded."""
    encoder, decoder = onnx_graphs(model, covariates=covariates is not None)
    for rows in (1, len(x)):
        z = np.random.default_rng(0).standard_normal((rows, model.recipe.architecture.latents)).astype(np.float32)
        beside = {} if covariates is None else {"covariates": covariates[:rows]}
        for found, expected in zip(computed(encoder, x=x[:rows], **beside), model.posterior(x[:rows], beside=beside)):
            check_same(found, expected)
        (decoded,) = computed(decoder, z=z, **beside)
        check_same(decoded, model.decode(z, beside) / model.x_scale)


def fitted(x: np.ndarray, method: str = "vae", covariates=None, y=None, **settings):
    settings = {"latents": 3, "steps": 3, "batch_size": 20, "device": "cpu"} | settings
    return OneModel(pt.Disentangler(method, **settings).fit(x, y, covariates), x, covariates).subject("model")


VECTORS = (np.random.default_rng(0).standard_normal((60, 7)) * 30 + 400).astype(np.float32)
IMAGES = np.random.default_rng(1).integers(0, 255, (24, 3, 17, 20)).astype(np.uint8)


SLOW = pytest.mark.slow  # an exporter takes seconds a graph


@pytest.mark.parametrize("network", ["linear", "mlp", pytest.param("nearly_linear", marks=SLOW)])
def test_networks_of_vectors_with_their_scale(network):
    subject = fitted(VECTORS, network=network, scale="standard")
    assert subject.model.scale.name == "standard"
    check_model(subject.model, VECTORS[:9])


def test_convolutions_of_odd_sizes_in_bytes():
    subject = fitted(IMAGES, network="conv")
    assert subject.model.x_scale == 1 / 255
    check_model(subject.model, IMAGES[:5])


@pytest.mark.slow
@pytest.mark.parametrize("method", ["pca", "ivae", "full_vae"])
def test_methods_whose_networks_are_of_another_kind(method):
    y = VECTORS[:, :1] - VECTORS[:, :1].mean()
    check_model(fitted(VECTORS, method, y=y, network="mlp", scale="standard").model, VECTORS[:6])


@pytest.mark.slow
def test_a_game_whose_reader_is_normalised():
    """The normalisation divides by deviations that are small before training, and rounding grows with it: so much that
    single precision itself is as far from double."""
    model = fitted(VECTORS, "infogan", network="mlp", scale="standard").model
    encoder, decoder = onnx_graphs(model)
    z = np.random.default_rng(0).standard_normal((6, 3)).astype(np.float32)
    check_same(computed(decoder, z=z)[0], model.decode(z))
    exact = replace(model, dtype=torch.float64).posterior(VECTORS[:6])[0]
    away = np.abs(model.posterior(VECTORS[:6])[0] - exact).max()
    assert np.abs(computed(encoder, x=VECTORS[:6])[0] - exact).max() < 4 * away + ALLOWED


@pytest.mark.slow
def test_counts_are_relative_to_what_is_expected():
    counts = np.random.default_rng(2).poisson(4, (60, 5)).astype(np.float32)
    subject = fitted(counts, likelihood="negative_binomial")
    assert subject.model.scale.needs_exposure
    check_model(subject.model, counts[:6])


def test_covariates_are_an_input():
    table = {"batch": np.repeat(["a", "b", "c"], 20), "age": np.linspace(20, 60, 60)}
    subject = fitted(VECTORS, network="mlp", covariates=table)
    given = np.eye(4)[[0, 1, 3, 2]]
    check_model(subject.model, VECTORS[:4], given)
    assert (subject.model.decode(np.zeros((4, 3)), {"covariates": given}).std(0) > 0).any()


@pytest.mark.slow
def test_covariates_that_nobody_gives_are_average():
    subject = fitted(VECTORS, network="mlp", covariates={"batch": np.repeat(["a", "b", "c"], 20)})
    check_model(subject.model, VECTORS[:4])


class UsersDecoder(nn.Sequential):
    def forward(self, z):
        return super().forward(z) + torch.zeros(len(z), 7).sin()


def users(shape, outputs, inputs):
    return nn.Sequential(nn.Linear(7, outputs), nn.Tanh()), nn.Sequential(nn.Linear(inputs, 7), nn.ELU())


def fixed_rows(shape, outputs, inputs):
    return nn.Linear(7, outputs), UsersDecoder(nn.Linear(inputs, 7))


@pytest.mark.slow
def test_a_network_of_ones_own():
    check_model(fitted(VECTORS, network=users).model, VECTORS[:5])


def test_a_network_that_cannot_be_written_is_refused_in_one_line():
    with pytest.raises(ValueError, match="this model's networks") as error:
        onnx_graphs(fitted(VECTORS, network=fixed_rows).model)
    assert "\n" not in str(error.value)


def test_the_files_say_what_they_are(vectors_study, run_id, tmp_path):
    run = next(run for run in Store(vectors_study).runs() if run.id == run_id)
    files = export_onnx(Store(vectors_study).model(run), tmp_path / "model.onnx", {"run": run_id})
    assert [file.name for file in files] == ["model.encoder.onnx", "model.decoder.onnx"]
    for file in files:
        made = onnx.load(file)
        onnx.checker.check_model(made)
        about = {each.key: each.value for each in made.metadata_props}
        assert about["run"] == run_id
        assert json.loads(about["groups"]) == [[0, 1], [2]]
        assert about["partita"] == pt.__version__


def test_a_folder_that_is_not_there(vectors_study, run_id, tmp_path):
    run = next(run for run in Store(vectors_study).runs() if run.id == run_id)
    with pytest.raises(OSError, match="give a name such as model.onnx"):
        export_onnx(Store(vectors_study).model(run), tmp_path / "none" / "model.onnx")
