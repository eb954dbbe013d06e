"""partita explore and partita export, as a person types them."""

import json
import os
import re
import signal
import socket
import subprocess
import urllib.error
import urllib.request

import numpy as np
import pytest
import torch

import partita as pt
from partita.cli.main import app
from partita.studies import Store, evaluate_run, plan, train
from tests.cli.conftest import COMMAND

onnxruntime = pytest.importorskip("onnxruntime", reason="needs partita[explore] and onnxruntime")
pytest.importorskip("uvicorn", reason="needs partita[explore]")
DATA = pt.data.load("groups", size=120, groups=(2, 1), features=5)


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    folder, cpu = tmp_path_factory.mktemp("study"), torch.device("cpu")
    runs = plan(["vae"], DATA, latents=3, network="linear", steps=10, seeds=[0, 1], options={"restarts": [1]})
    store = Store(folder)
    train(runs, DATA, store, device=cpu)
    for run in runs:
        evaluate_run(store, run, DATA, metrics="gaussian_tc", device=cpu)
    return folder


@pytest.fixture
def serving(study, tmp_path):
    """Starts the command, and ends what it started."""
    started = []

    def start(*words: str) -> tuple[subprocess.Popen, str]:
        command = [*COMMAND, "explore", str(study), "--port", "0", *words]
        environment = os.environ | {"OMP_NUM_THREADS": "1"}
        process = subprocess.Popen(
            command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        started.append(process)
        said = process.stdout.readline()
        assert said.startswith("open http://"), process.stderr.read()
        return process, said.removeprefix("open ").strip()

    yield start
    for process in started:
        process.kill()
        process.communicate()


def test_it_serves_until_it_is_interrupted(serving, study):
    process, address = serving()
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/", address)
    with urllib.request.urlopen(f"{address}api/study", timeout=60) as answer:
        assert len(json.load(answer)["runs"]) == 2
    with urllib.request.urlopen(address, timeout=60) as answer:
        assert b"explorer.js" in answer.read()
    port = int(address.rsplit(":", 1)[1].strip("/"))
    with pytest.raises(OSError, match="refused"):
        socket.create_connection((_other_address(), port), timeout=5)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "Traceback" not in said


def test_another_address_prints_a_token_that_is_required(serving):
    _, address = serving("--host", "0.0.0.0")
    token = re.fullmatch(rf"http://{re.escape(socket.gethostname())}:(\d+)/\?token=(\S{{32}})", address)
    api = f"http://127.0.0.1:{token[1]}/api/study"
    with pytest.raises(urllib.error.HTTPError, match="401"):
        urllib.request.urlopen(api, timeout=60)
    asked = urllib.request.Request(api, headers={"Authorization": f"Bearer {token[2]}"})
    assert urllib.request.urlopen(asked, timeout=60).status == 200
    named = urllib.request.Request(api, headers=dict(asked.headers) | {"Host": f"{socket.gethostname()}:{token[1]}"})
    assert urllib.request.urlopen(named, timeout=60).status == 200


def _other_address() -> str:
    """One of this computer's that is not loopback; of a computer without any, one that refuses as well."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        try:
            asked.connect(("192.0.2.1", 9))
            found = asked.getsockname()[0]
        except OSError:
            found = "127.0.0.2"
    return found if not found.startswith("127.") else "127.0.0.2"


def test_export_names_the_best_run(partita_here, study, tmp_path):
    ended = partita_here("export", study, "--out", "model.onnx")
    assert ended.returncode == 0, ended.stderr
    store = Store(study)
    best = max(store.runs(), key=lambda run: store.scores(run)["elbo"])
    assert f"of {best.id} (the best evaluated bound of 2 runs" in ended.stdout
    z = np.random.default_rng(0).standard_normal((4, 3)).astype(np.float32)
    (decoded,) = onnxruntime.InferenceSession(tmp_path / "model.decoder.onnx").run(None, {"z": z})
    np.testing.assert_allclose(decoded, store.model(best).decode(z), rtol=1e-5, atol=1e-6)
    mean, _ = onnxruntime.InferenceSession(tmp_path / "model.encoder.onnx").run(None, {"x": DATA.x[:4]})
    np.testing.assert_allclose(mean, store.model(best).posterior(DATA.x[:4])[0], rtol=1e-5, atol=1e-6)


def test_a_page_of_the_run_asked_for(partita_here, study, tmp_path):
    run = Store(study).runs()[1].id
    ended = partita_here("explore", study, "--export", "page.html", "--run", run)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.startswith(f"page.html shows {run} (as asked), ")
    assert run in (tmp_path / "page.html").read_text()


@pytest.mark.parametrize(("words", "count"), [
    pytest.param([], 0, marks=pytest.mark.slow), (["--data", "rows.npy"], 120)
])  # fmt: skip
def test_a_saved_model_with_and_without_rows(partita_here, tmp_path, words, count):
    model = pt.Disentangler("pca", latents=2).fit(DATA.x)
    model.save(tmp_path / "model.safetensors")
    np.save(tmp_path / "rows.npy", DATA.x)
    ended = partita_here("explore", "model.safetensors", "--export", "page.html", *words)
    assert ended.returncode == 0, ended.stderr
    assert f'"count": {count}' in (tmp_path / "page.html").read_text()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["explore", "none"], "none: there is no such folder or file"),
        (["explore", "."], "holds no runs; `partita train"),
        (["explore", "STUDY", "--run", "x"], "--run says which run --export writes"),
        (["explore", "STUDY", "--data", "groups"], "--data is for a saved model"),
        (["explore", "STUDY", "--export", "p.html", "--run", "vae-seed0"], "there is no run 'vae-seed0' here"),
        (["explore", "STUDY", "--port", "-1"], "--port"),
        (["explore", "STUDY", "--host", "256.1.1.1", "--port", "0"], "cannot serve on 256.1.1.1"),
        (["explore", "STUDY", "--hots", "x"], "did you mean --host?"),
        (["export", "STUDY"], "--out"),
        (["export", "STUDY", "--out", "none/model.onnx"], "cannot write none/model.onnx"),
        (["export", "STUDY", "--run", "x", "--out", "model.onnx"], "there is no run 'x' here"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(partita_here, study, words, said):
    ended = partita_here(*[str(study) if word == "STUDY" else word for word in words])
    assert ended.returncode == 2
    assert said in ended.stderr
    assert len(ended.stderr.strip().splitlines()) == 1
    assert ended.stdout == ""


def test_a_port_that_is_taken(partita_here, study):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        ended = partita_here("explore", study, "--port", str(other.getsockname()[1]))
    assert ended.returncode == 2
    assert "choose another --port" in ended.stderr


@pytest.mark.parametrize(("package", "words"), [
    ("starlette", ["explore", "STUDY", "--port", "0"]),
    ("uvicorn", ["explore", "STUDY", "--port", "0"]),
    ("onnxscript", ["export", "STUDY", "--out", "model.onnx"]),
])  # fmt: skip
def test_an_extra_that_is_missing_is_named(partita_here, study, monkeypatch, package, words):
    monkeypatch.setitem(__import__("sys").modules, package, None)
    ended = partita_here(*[str(study) if word == "STUDY" else word for word in words])
    assert ended.returncode == 2
    assert 'pip install "partita[explore]"' in ended.stderr
    assert len(ended.stderr.strip().splitlines()) == 1


@pytest.mark.slow
def test_the_demo_writes_a_page_to_explore(partita, tmp_path):
    ended = partita("demo", "--steps", "4", "--out", "demo", "--device", "cpu")
    assert ended.returncode == 0, ended.stderr
    said = ended.stdout.strip().splitlines()[-1]
    assert said.startswith(f"open {tmp_path.resolve() / 'demo' / 'explorer.html'} to turn the latents of pdisvae-seed")
    assert (tmp_path / "demo" / "explorer.html").stat().st_size > 5e6


def test_a_demo_without_the_extra_goes_on(study, monkeypatch, capsys):
    from partita.cli.demo import _write_explorer

    _write_explorer(study)  # which has no run of pdisvae
    assert capsys.readouterr().out.startswith("no page to explore: no run")
    assert not (study / "explorer.html").exists()


def test_both_commands_are_listed():
    assert {"explore", "export"} <= {command.callback.__name__ for command in app.registered_commands}
