"""Downloads against a server on this machine that behaves badly in every way we know."""

import hashlib
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from partita.data._card import Card, RemoteFile
from partita.data._fetch import cache_folder, found, obtain

CONTENT = bytes(range(256)) * 2000  # 512,000 bytes
SHA256 = "sha256:" + hashlib.sha256(CONTENT).hexdigest()
CARD = Card("a set for the tests", 1, (1,), folder="toys", obtain="")


class Server(BaseHTTPRequestHandler):
    """The path says how to behave; `server.log` keeps (path, first byte asked for)."""

    def do_GET(self):
        path = self.path.strip("/")
        start = int(self.headers.get("Range", "bytes=0-").removeprefix("bytes=").rstrip("-"))
        visits = sum(seen == path for seen, _ in self.server.log)
        self.server.log.append((path, start))
        if path == "missing":
            return self.send_error(404)
        if path == "busy" and visits < 2:
            return self.send_error(503)
        if path == "obstinate" or path == "cut-no-resume":
            start = 0
        body = bytes(len(CONTENT)) if path == "wrong" else CONTENT + b"more" if path == "long" else CONTENT
        if start >= len(body):
            self.send_response(416)
            self.send_header("Content-Range", f"bytes */{len(body)}")
            self.end_headers()
            return None
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
        self.send_header("Content-Length", str(len(body) - start))
        self.end_headers()
        end = (
            min(len(body), start + 200_000)
            if path in ("cut", "stall") or (path == "cut-no-resume" and not visits)
            else len(body)
        )
        self.wfile.write(body[start:end])
        self.wfile.flush()
        if path == "stall" and end < len(body):
            self.server.stop.wait(20)
        return None

    def log_message(self, *_):
        pass


@pytest.fixture
def server(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("PARTITA_DATA", raising=False)
    monkeypatch.delenv("PARTITA_OFFLINE", raising=False)
    http = ThreadingHTTPServer(("127.0.0.1", 0), Server)
    http.daemon_threads = True
    http.log, http.stop = [], threading.Event()
    thread = threading.Thread(target=http.serve_forever, args=(0.02,))
    thread.start()
    yield http
    http.stop.set()
    http.shutdown()
    thread.join()
    http.server_close()


def fetch(server, *paths, known_hash=SHA256, size=None, **options):
    urls = tuple(f"http://127.0.0.1:{server.server_port}/{path}" for path in paths)
    return obtain(CARD, RemoteFile("toy.bin", urls, known_hash, size), **({"pause": 0.01, "timeout": 5} | options))


def leftovers():
    return sorted(path.name for path in (cache_folder() / "toys").iterdir() if not path.name.endswith(".lock"))


def test_a_good_server_is_asked_once(server):
    path = fetch(server, "good")
    assert path.read_bytes() == CONTENT
    assert path == cache_folder() / "toys" / "toy.bin"
    assert fetch(server, "good") == path
    assert server.log == [("good", 0)]
    assert leftovers() == ["toy.bin"]


def test_a_cut_transfer_is_resumed_where_it_stopped(server):
    assert fetch(server, "cut").read_bytes() == CONTENT
    assert server.log == [("cut", 0), ("cut", 200_000), ("cut", 400_000)]


def test_a_later_call_resumes_what_an_earlier_one_left(server):
    with pytest.raises(OSError, match="ended after 200,000 of 512,000 bytes"):
        fetch(server, "cut", attempts=1)
    assert leftovers() == ["toy.bin.part"]
    assert fetch(server, "good").read_bytes() == CONTENT
    assert server.log[-1] == ("good", 200_000)
    assert leftovers() == ["toy.bin"]


def test_a_server_that_cannot_resume_starts_over(server):
    assert fetch(server, "cut-no-resume").read_bytes() == CONTENT
    assert server.log == [("cut-no-resume", 0), ("cut-no-resume", 200_000)]


def test_a_stalled_transfer_is_given_up_and_resumed(server):
    assert fetch(server, "stall", timeout=0.3).read_bytes() == CONTENT
    assert [first for _, first in server.log] == [0, 200_000, 400_000]


def test_mirrors_are_tried_in_turn(server):
    assert fetch(server, "missing", "wrong", "good").read_bytes() == CONTENT
    assert [path for path, _ in server.log] == ["missing", "wrong", "wrong", "good"]


def test_a_busy_server_is_asked_again(server):
    assert fetch(server, "busy").read_bytes() == CONTENT
    assert len(server.log) == 3


def test_wrong_bytes_name_expected_and_found_and_leave_nothing(server):
    found_hash = hashlib.sha256(bytes(len(CONTENT))).hexdigest()
    with pytest.raises(ValueError, match=f"toy.bin.*expected {SHA256}, found sha256:{found_hash}") as caught:
        fetch(server, "wrong")
    assert "\n" not in str(caught.value)
    assert leftovers() == []


def test_a_wrong_part_does_not_spoil_the_file(server):
    folder = cache_folder() / "toys"
    folder.mkdir(parents=True)
    (folder / "toy.bin.part").write_bytes(b"x" * 1000)
    assert fetch(server, "good").read_bytes() == CONTENT
    (folder / "toy.bin").unlink()
    (folder / "toy.bin.part").write_bytes(b"x" * 10**6)  # longer than the file
    assert fetch(server, "good").read_bytes() == CONTENT


def test_more_than_the_file_has_is_refused(server):
    with pytest.raises(ValueError, match="announces 512,004 bytes"):
        fetch(server, "long", size=len(CONTENT))


def test_every_failure_says_which_file_to_put_where(server, monkeypatch, tmp_path):
    with pytest.raises(OSError, match=r"toy.bin could not be fetched: .*answered 404.*Put toy.bin \(sha256:"):
        fetch(server, "missing")
    monkeypatch.setenv("PARTITA_DATA", str(tmp_path / "mine"))
    with pytest.raises(OSError, match=f"Put toy.bin .* into {tmp_path / 'mine' / 'toys'}"):
        fetch(server, "missing")
    monkeypatch.setenv("PARTITA_OFFLINE", "1")
    asked = len(server.log)
    with pytest.raises(OSError, match="PARTITA_OFFLINE is set. Put toy.bin"):
        fetch(server, "good")
    assert len(server.log) == asked
    monkeypatch.delenv("PARTITA_OFFLINE")
    with pytest.raises(OSError, match="toy.bin is not here"):
        fetch(server)


def test_nobody_answers(server):
    with pytest.raises(OSError, match="could not be fetched"):
        obtain(CARD, RemoteFile("toy.bin", ("http://127.0.0.1:1/",), SHA256), pause=0.0, attempts=2)


def test_own_files_come_first(server, monkeypatch, tmp_path):
    monkeypatch.setenv("PARTITA_DATA", str(tmp_path))
    assert found("toys", "toy.bin") is None
    (tmp_path / "toys").mkdir()
    (tmp_path / "toys/toy.bin").write_bytes(b"my own")
    assert fetch(server, "good") == tmp_path / "toys/toy.bin"
    assert server.log == []
    assert found("toys", ("toy.zip", "toy.bin")) == Path(tmp_path / "toys/toy.bin")


def test_two_at_once_fetch_once(server):
    results = []
    threads = [threading.Thread(target=lambda: results.append(fetch(server, "good"))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(results)) == 1
    assert len(results) == 4
    assert server.log == [("good", 0)]
