"""The widget asks its kernel what the page asks its server."""

import numpy as np
import pytest

import partita as pt
from partita.explorer.notebook import answer


@pytest.fixture(scope="module")
def rows():
    return np.random.default_rng(0).standard_normal((90, 6)) @ np.diag([3, 2, 1, 1, 0.5, 0.5])


@pytest.fixture(scope="module")
def model(rows):
    settings = {"groups": (2, 1), "network": "linear", "steps": 20, "options": {"restarts": 1}, "device": "cpu"}
    return pt.Disentangler("pdisvae", **settings).fit(rows)


def test_the_widget_holds_the_bundle_and_answers(model, rows):
    widget = pt.explore(model, rows)
    sent = []
    widget.send = lambda content, buffers=None: sent.append((content, buffers))
    widget._handle_custom_msg({"id": 7, "kind": "study"}, [])
    content, buffers = sent[0]
    assert content["id"] == 7
    assert content["ok"] is True
    assert content["document"]["kind"] == "model"
    assert [row["id"] for row in content["document"]["runs"]] == ["model"]
    assert buffers == []
    assert "export" in str(widget._esm)
    widget.close()


def test_documents_and_numbers(model, rows):
    explored = pt.explore(model, rows).explored
    said, _ = answer(explored, {"id": 1, "kind": "run", "run": "model"})
    assert said["document"]["count"] == 90
    assert said["document"]["groups"] == [[0, 1], [2]]
    codes = np.frombuffer(answer(explored, {"id": 2, "kind": "points", "run": "model"})[1][0], "<f4").reshape(90, 3)
    np.testing.assert_allclose(codes, model.transform(rows), rtol=1e-4, atol=1e-5)
    seen = np.frombuffer(answer(explored, {"id": 3, "kind": "observation", "run": "model", "row": 4})[1][0], "<f4")
    np.testing.assert_allclose(seen, rows[4], rtol=1e-6)
    z = np.array([[1, 0, -1]], "<f4")
    decoded = np.frombuffer(answer(explored, {"id": 4, "kind": "decode", "run": "model"}, [memoryview(z)])[1][0], "<f4")
    np.testing.assert_allclose(decoded, model.inverse_transform(z)[0], rtol=1e-4, atol=1e-5)
    row = ",".join(map(str, rows[4])).encode()
    said, _ = answer(explored, {"id": 5, "kind": "encode", "run": "model", "filename": "row.csv"}, [row])
    np.testing.assert_allclose(said["document"]["mean"], model.transform(rows[4:5])[0], rtol=1e-4, atol=1e-5)
    assert answer(explored, {"id": 6, "kind": "tree", "run": "model"})[0]["document"]["tree"]["merges"]
    said, _ = answer(explored, {"id": 7, "kind": "diagnosis", "run": "model"})
    assert said["document"]["diagnosis"]["verdict"] == model.diagnose(rows).verdict


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"id": 1, "kind": "run", "run": "other"}, "no such run"),
        ({"id": 1, "kind": "nothing", "run": "model"}, "no answer to 'nothing'"),
        ({"id": 1, "kind": "decode", "run": "model"}, "no answer to 'decode'"),
        ({"id": 1, "kind": "observation", "run": "model", "row": 90}, "there is no point 90"),
        ("nonsense", "no such run"),
    ],
)
def test_what_cannot_be_answered_is_said(model, rows, asked, words):
    said, buffers = answer(pt.explore(model, rows).explored, asked)
    assert said["ok"] is False
    assert words in said["problem"]
    assert buffers == []


def test_rows_that_do_not_fit_and_what_is_no_model(model):
    with pytest.raises(ValueError, match="the model was fitted on"):
        pt.explore(model, np.zeros((4, 2)))
    with pytest.raises(ValueError, match="a fitted Disentangler is needed"):
        pt.explore("model")


def test_covariates_colour_the_points(rows):
    table = {"batch": np.repeat(["a", "b", "c"], 30)}
    model = pt.Disentangler("vae", latents=2, network="mlp", steps=3, device="cpu").fit(rows, covariates=table)
    explored = pt.explore(model, rows, covariates=table).explored
    document = answer(explored, {"id": 1, "kind": "run", "run": "model"})[0]["document"]
    assert document["factors"] == [{"name": "batch", "kind": "categorical", "levels": ["a", "b", "c"]}]
    assert "average covariates (batch)" in document["notes"][0]
    numbers = np.frombuffer(answer(explored, {"id": 1, "kind": "points", "run": "model"})[1][0], "<f4")
    np.testing.assert_allclose(numbers[:180].reshape(90, 2), model.transform(rows, table), rtol=1e-4, atol=1e-5)
    assert numbers[180:].tolist() == np.repeat([0.0, 1.0, 2.0], 30).tolist()
    data = pt.data.from_array(rows, columns=table)
    (body,) = answer(pt.explore(model, data).explored, {"id": 1, "kind": "points", "run": "model"})[1]
    assert body == numbers.tobytes()  # a data set brings its own
    with pytest.raises(ValueError, match="trained with covariates batch"):
        pt.explore(model, rows)
