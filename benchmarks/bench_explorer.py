"""How long the explorer takes for one frame, by size of model: one code in, one decoded observation out.

`python benchmarks/bench_explorer.py` takes about a minute. Each row is a decoder of 64 x 64 images, or of vectors: the
plain PyTorch forward pass; the explorer's own `decode`, which adds units and checks; a frame as the browser gets it, by
a POST over a connection that stays open; and the same request for nothing, which is what the transport takes. Medians
of wall-clock times; `ratio` is decode / forward. Then what a page as one file weighs.
"""

import argparse
import http.client
import socket
import threading
import time
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import numpy as np
import torch
import uvicorn

import partita as pt
from partita.explorer import application, write_single_file
from partita.explorer._connections import settings
from partita.explorer._rows import Rows
from partita.explorer._subject import Subject
from partita.networks._building import built
from partita.training import Model

IMAGES = pt.data.load("dsprites", every=(1, 1, 40, 8, 8)).x
COLOURS = np.repeat(IMAGES, 3, 1)
VECTORS = np.random.default_rng(0).standard_normal((256, 1000)).astype(np.float32)
MODELS = {
    "burgess, 1 x 64 x 64": (IMAGES, {"network": "burgess"}),
    "conv, 3 x 64 x 64": (COLOURS, {"network": "conv"}),
    "mlp 256-256, 1 x 64 x 64": (IMAGES, {"network": "mlp"}),
    "mlp 2048 x 4, 3 x 64 x 64": (COLOURS, {"network": "mlp", "hidden": (2048,) * 4}),
    "mlp 256-256, 1,000": (VECTORS, {"network": "mlp"}),
    "linear, 1,000": (VECTORS, {"network": "linear"}),
}


class Shown:
    """A model as it is before training, beside rows."""

    def __init__(self, x: np.ndarray, options: dict):
        recipe = pt.recipes.build("vae", latents=10, shape=x.shape[1:], likelihood="gaussian", **options).recipe
        parameters = {f"{n}.{k}": v for n, each in built(recipe.networks).items() for k, v in each.state_dict().items()}
        model = Model(recipe, parameters)
        rows = Rows(x, lambda chosen: model.posterior(x[chosen]))
        self.opened = Subject("model", "vae", "model", model, rows)

    def study(self) -> dict:
        return {"title": "", "kind": "model", "runs": [], "score_names": []}

    def subject(self, name: str) -> Subject:
        return {"model": self.opened}[name]


def milliseconds(work, times: int) -> float:
    """The median, after a few to warm up."""
    found = []
    for number in range(times + 5):
        start = time.perf_counter()
        work()
        if number >= 5:
            found.append(time.perf_counter() - start)
    return 1000 * median(found)


class Served:
    """The model behind a server of this process, over one connection."""

    def __init__(self, explored: Shown):
        self.server = uvicorn.Server(settings(application(explored), "127.0.0.1", 0))
        self.bound = socket.socket()
        self.bound.bind(("127.0.0.1", 0))
        self.thread = threading.Thread(target=self.server.run, kwargs={"sockets": [self.bound]}, daemon=True)

    def __enter__(self):
        self.thread.start()
        while not self.server.started:
            self.thread.join(0.01)
        port = self.bound.getsockname()[1]
        self.connection = http.client.HTTPConnection("127.0.0.1", port)
        self.connection.connect()
        self.connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # as browsers do
        self.origin = f"http://127.0.0.1:{port}"
        return self

    def frame(self, body: bytes) -> bytes:
        self.connection.request("POST", "/api/run/model/decode", body, {"Origin": self.origin})
        return self.connection.getresponse().read()

    def __exit__(self, *error) -> None:
        self.server.should_exit = True
        self.connection.close()
        self.thread.join(5)
        self.bound.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--frames", type=int, default=200)
    parser.add_argument("--no-files", action="store_true", help="leave out the sizes of pages")
    asked = parser.parse_args()
    times = "".join(f"{column:>10}" for column in ("forward", "decode", "frame", "nothing"))
    print(f"{'model':<26}{'parameters':>12}{times}{'ratio':>8}{'one file':>10}")
    for name, (x, options) in MODELS.items():
        explored = Shown(x, options)
        subject = explored.opened
        decoder, z = subject.model.networks["decoder"], np.zeros((1, 10), np.float32)
        code = torch.as_tensor(z)

        def forward(decoder=decoder, code=code):
            with torch.inference_mode():
                return decoder(code).mean

        plain = milliseconds(forward, asked.frames)
        decode = milliseconds(lambda subject=subject, z=z: subject.decode(z), asked.frames)
        with Served(explored) as served:
            frame = milliseconds(lambda served=served, z=z: served.frame(z.tobytes()), asked.frames)
            nothing = milliseconds(lambda served=served: served.frame(b""), asked.frames)
        size = ""
        if not asked.no_files:
            with TemporaryDirectory() as folder:
                page = write_single_file(explored, "model", Path(folder) / "page.html")
                size = f"{page.stat().st_size / 1e6:.1f} MB"
        count = sum(p.numel() for p in decoder.parameters())
        times = f"{plain:>7.2f} ms{decode:>7.2f} ms{frame:>7.2f} ms{nothing:>7.2f} ms{decode / plain:>8.2f}"
        print(f"{name:<26}{count:>12,}{times}{size:>10}", flush=True)


if __name__ == "__main__":
    main()
