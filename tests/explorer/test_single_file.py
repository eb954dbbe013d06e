"""One page that needs nothing: what stands in it, and that nothing of it gets out."""

import base64
import gzip
import hashlib
import json
import re
from html.parser import HTMLParser

import numpy as np
import onnxruntime
import pytest

import partita as pt
from partita.data import from_array
from partita.explorer import write_single_file
from partita.explorer._model import OneModel
from partita.explorer._study import StudyFolder
from partita.explorer.server import STATIC
from partita.explorer.single_file import NUMBERS_SHOWN, POINTS
from partita.studies import Store, reload


class Page(HTMLParser):
    """The elements of a page by id, its inline scripts and styles, and all that it links to."""

    def __init__(self, text: str):
        super().__init__()
        self.documents, self.scripts, self.styles, self.links, self.policy, self.title = {}, [], [], [], "", ""
        self.open: tuple[str, dict] = ("", {})
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        named = dict(attrs)
        self.open = (tag, named)
        self.links += [named[name] for name in ("src", "href", "action") if name in named]
        if named.get("http-equiv") == "Content-Security-Policy":
            self.policy = named["content"]

    def handle_endtag(self, tag):
        self.open = ("", {})

    def handle_data(self, data):
        tag, named = self.open
        if tag == "script" and named.get("id", "").startswith("partita-"):
            self.documents[named["id"].removeprefix("partita-")] = data
        elif tag in ("script", "style"):
            (self.scripts if tag == "script" else self.styles).append(data)
        elif tag == "title":
            self.title = data

    def json(self, name: str):
        return json.loads(self.documents[name])

    def bytes(self, name: str) -> bytes:
        return gzip.decompress(base64.b64decode(self.documents[name], validate=True))

    def floats(self, name: str) -> np.ndarray:
        return np.frombuffer(self.bytes(name), "<f4")


@pytest.fixture(scope="module")
def images(images_study, tmp_path_factory):
    """The page of a run, its run, and its data."""
    folder = images_study / "study"
    (run,) = Store(folder).runs()
    out = write_single_file(StudyFolder(folder), run.id, tmp_path_factory.mktemp("page") / "page.html")
    return Page(out.read_text("utf-8")), run, reload(run.data, folder)


def test_nothing_is_fetched(images):
    page, *_ = images
    assert [link for link in page.links if not link.startswith("data:")] == []
    assert "connect-src" not in page.policy  # so default-src, which is none, holds for it
    assert page.policy.startswith("default-src 'none'; ")
    assert "unsafe-inline" not in page.policy
    assert "http" not in page.policy


def test_the_policy_knows_its_script_and_style_by_their_content(images):
    page, *_ = images
    for content in (*page.scripts, *page.styles):
        assert base64.b64encode(hashlib.sha256(content.encode()).digest()).decode() in page.policy
    assert (len(page.scripts), len(page.styles)) == (1, 1)


def test_the_runtime_is_the_one_of_the_bundle(images):
    page, *_ = images
    assert page.bytes("wasm")[:4] == b"\0asm"
    assert base64.b64decode(page.documents["wasm"]) == (STATIC / "ort.wasm.gz").read_bytes()


def test_points_observations_and_models_are_those_of_the_run(images, images_study):
    page, run, data = images
    model = Store(images_study / "study").model(run, data.x_scale)
    about = page.json("run")
    count, latents, columns = about["count"], about["latents"], len(about["factors"])
    numbers = page.floats("points")
    codes, factors = (
        numbers[: count * latents].reshape(count, latents),
        numbers[count * latents :].reshape(count, columns),
    )
    observed = page.floats("observations").reshape(-1, 1, 16, 16)
    assert len(observed) == about["observations"] == count == data.size
    np.testing.assert_allclose(codes, model.posterior(observed)[0], rtol=1e-4, atol=1e-5)
    assert sorted(map(tuple, factors.astype(int).tolist())) == sorted(map(tuple, data.factors.tolist()))
    place = int(factors[0, 0])
    assert observed[0, 0, 4, place] == 255
    session = onnxruntime.InferenceSession(page.bytes("decoder"))
    (decoded,) = session.run(None, {"z": codes[:4]})
    np.testing.assert_allclose(decoded, model.decode(codes[:4]) * 255, rtol=1e-5, atol=1e-3)
    mean, _ = onnxruntime.InferenceSession(page.bytes("encoder")).run(None, {"x": observed[:4]})
    np.testing.assert_allclose(mean, codes[:4], rtol=1e-4, atol=1e-5)


def test_the_documents_are_whole(images):
    page, run, _ = images
    about, study = page.json("run"), page.json("study")
    assert [row["id"] for row in study["runs"]] == [run.id]
    assert about["tree"]["merges"]
    assert about["curves"]["loss"]["step"]
    assert about["information"]["columns"] == ["place", "size"]


def test_names_with_a_script_in_them_do_not_get_out(tmp_path):
    evil = "</script><script>alert(1)</script><!--"
    rng = np.random.default_rng(0)
    data = from_array(
        rng.standard_normal((90, 3)), feature_names=[evil, "b", "{{script}}"], factors=rng.integers(0, 3, (90, 1)),
        factor_names=[evil],
    )  # fmt: skip
    model = pt.Disentangler("pca", latents=2).fit(data.x)
    out = write_single_file(OneModel(model, data, title=evil), "model", tmp_path / "page.html")
    text = out.read_text("utf-8")
    page = Page(text)
    assert "alert(1)</script>" not in text
    assert len(page.scripts) == 1
    assert page.json("run")["features"] == [evil, "b", "{{script}}"]
    assert page.json("run")["factors"][0]["name"] == evil
    assert page.title.startswith(evil)


@pytest.mark.slow
def test_large_data_leave_a_sample(tmp_path):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((POINTS + 500, 300)).astype(np.float32)
    model = pt.Disentangler("pca", latents=2).fit(x[:400])
    page = Page(write_single_file(OneModel(model, x), "model", tmp_path / "page.html").read_text("utf-8"))
    about = page.json("run")
    assert about["count"] == POINTS
    assert about["observations"] == NUMBERS_SHOWN // 300
    assert re.search("5,000 rows drawn at random from 5,500", " ".join(about["notes"]))
    codes = page.floats("points").reshape(POINTS, 2)
    observed = page.floats("observations").reshape(-1, 300)
    np.testing.assert_allclose(model.transform(observed[:50]), codes[:50], rtol=1e-3, atol=1e-4)


def test_a_run_without_weights_is_refused_in_words(copied, vectors_study, run_id, tmp_path):
    folder = copied(vectors_study)
    (next(folder.glob(f"runs/**/{run_id}")) / "weights.safetensors").unlink()
    with pytest.raises(ValueError, match="cannot be exported: its weights are gone"):
        write_single_file(StudyFolder(folder), run_id, tmp_path / "page.html")
    assert not (tmp_path / "page.html").exists()
