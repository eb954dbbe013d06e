"""Nobody gets in: each test is an attack on a server that really listens."""

import json
import shutil
import socket
import time

import numpy as np
import pytest
from tests.explorer.conftest import serving

from partita.explorer import _connections
from partita.explorer._guard import allowed_host
from partita.explorer._study import StudyFolder
from partita.explorer._uploads import MOST_BYTES
from partita.explorer.server import serve, static_files
from partita.studies import Run, Store

CONNECTIONS = 1_000


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8765", "127.0.0.1.evil.example", "localhost.evil.example"]
)
@pytest.mark.parametrize("path", ["/", "/api/study", "/static/explorer.js"])
def test_dns_rebinding(served, host, path):
    """A stranger's name that leads to 127.0.0.1: the browser says that name."""
    answer = served.get(path, Host=host)
    assert answer.status == 421
    assert b"pdisvae" not in answer.body


def test_a_host_said_twice_or_not_at_all(served):
    for lines in (b"Host: 127.0.0.1\r\nHost: evil.example\r\n", b"Host: evil.example\r\nHost: 127.0.0.1\r\n", b""):
        with socket.create_connection(("127.0.0.1", served.port), timeout=20) as raw:
            raw.sendall(b"GET /api/study HTTP/1.1\r\n" + lines + b"Connection: close\r\n\r\n")
            said = raw.makefile("rb").read()
        assert said.split(b"\r\n")[0].split()[1] in (b"400", b"421")


def test_its_own_names_are_answered(served):
    for host in (f"127.0.0.1:{served.port}", f"localhost:{served.port}", f"[::1]:{served.port}"):
        assert served.get("/api/study", Host=host).status == 200


def test_hosts_of_other_addresses():
    assert allowed_host("192.168.1.7:80", "0.0.0.0")
    assert allowed_host("[fe80::1]:80", "::")
    assert allowed_host("lab.example:80", "lab.example")
    assert not allowed_host("evil.example:80", "0.0.0.0")
    assert not allowed_host("", "0.0.0.0")
    assert not allowed_host("192.168.1.7", "127.0.0.1")


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1", "http://127.0.0.1:1"])
def test_cross_origin_post(served, run_id, origin):
    body = np.zeros(3, "<f4").tobytes()
    assert served.post(f"/api/run/{run_id}/decode", body, Origin=origin).status == 403
    assert served.get("/api/study", Origin=origin).status == 403
    assert served.post(f"/api/run/{run_id}/decode", body).status == 200


def test_a_post_without_an_origin(served, run_id):
    assert served.ask("POST", f"/api/run/{run_id}/decode", np.zeros(3, "<f4").tobytes()).status == 403


def test_nothing_invites_other_sites(served):
    answer = served.get("/api/study")
    assert not [name for name in answer.headers if name.startswith("access-control")]
    assert served.ask("OPTIONS", "/api/study", Origin="http://evil.example").status == 405
    for site, status in (("cross-site", 403), ("same-site", 403), ("same-origin", 200), ("none", 200)):
        assert served.get("/api/study", Sec_Fetch_Site=site).status == status
    assert served.get("/", Sec_Fetch_Site="cross-site").status == 200  # a link that somebody sent


def test_other_methods_are_refused(served, run_id):
    for method in ("PUT", "DELETE", "PATCH", "TRACE"):
        assert served.ask(method, f"/api/run/{run_id}", Origin=served.origin).status == 405


@pytest.mark.parametrize(
    "path",
    [
        "/../../etc/passwd",
        "/static/../server.py",
        "/static/..%2fserver.py",
        "/static/%2e%2e/%2e%2e/cli/main.py",
        "/static/....//server.py",
        "/static//etc/passwd",
        "/static/\\..\\server.py",
        "/api/run/../../../etc/passwd",
        "/api/run/..%2f..%2f..%2fetc%2fpasswd",
        "/api/run/%2e%2e",
        "/api/run/..",
        "/api/run/%00",
        "/api/run/x/observation/../../../secret",
    ],
)
def test_paths_that_lead_out(served, path):
    answer = served.get(path)
    assert answer.status in (400, 404)
    assert b"root:" not in answer.body
    assert b"import" not in answer.body


def test_static_files_are_a_list_and_no_folder():
    assert {path.parent.name for path in static_files().values()} == {"static"}


def test_symbolic_links_that_lead_out(copied, vectors_study, tmp_path):
    """A run whose folder, or one of whose files, lies elsewhere."""
    folder, outside = copied(vectors_study), tmp_path / "outside"
    first, second, *_ = Store(folder).folders()
    outside.mkdir()
    first.rename(outside / first.name)
    first.symlink_to(outside / first.name)
    weights = second / "weights.safetensors"
    weights.rename(outside / "weights.safetensors")
    weights.symlink_to(outside / "weights.safetensors")
    with serving(StudyFolder(folder)) as server:
        rows = {row["id"]: row for row in server.get("/api/study").json["runs"]}
        assert len(rows) == 4
        for name in (first.name, second.name):
            assert rows[name]["state"] == "damaged"
            assert "symbolic link" in rows[name]["problem"]
            opened = server.get(f"/api/run/{name}").json
            assert "symbolic link" in opened["problem"]
            assert opened["latents"] == 0
            assert server.post(f"/api/run/{name}/decode", bytes(12)).status == 400


def test_a_run_that_names_a_file_without_its_content(copied, vectors_study, tmp_path):
    """A study from a stranger cannot have any file of this computer shown as its data."""
    folder = copied(vectors_study)
    np.save(tmp_path / "secret.npy", np.ones((9, 5)))
    store = Store(folder)
    known = store.runs()[0]
    run = Run(**(known.as_json() | {"data": {"path": str(tmp_path / "secret.npy"), "options": {}}}))
    shutil.copytree(store.folder_of(known), store.folder_of(run))
    (store.folder_of(run) / "run.json").write_text(json.dumps(run.as_json()))
    subject = StudyFolder(folder).subject(run.id)
    assert subject.rows is None


def test_an_upload_of_a_gigabyte_by_its_own_account(served, run_id):
    """Refused by what it says of itself, before a byte of it is read."""
    with socket.create_connection(("127.0.0.1", served.port), timeout=20) as raw:
        head = f"POST /api/run/{run_id}/encode HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\nOrigin: {served.origin}\r\n"
        raw.sendall(f"{head}Content-Length: {1 << 30}\r\n\r\n".encode())
        assert raw.recv(100).startswith(b"HTTP/1.1 413")


def test_an_upload_of_a_gigabyte_in_pieces(served, run_id):
    """One that does not say how long it is, is cut off once it is too long."""
    sent = 0
    with socket.create_connection(("127.0.0.1", served.port), timeout=20) as raw:
        head = f"POST /api/run/{run_id}/encode HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\nOrigin: {served.origin}\r\n"
        raw.sendall(f"{head}Transfer-Encoding: chunked\r\n\r\n".encode())
        piece = b"100000\r\n" + bytes(0x100000) + b"\r\n"
        try:
            while sent < 1 << 30:
                raw.sendall(piece)
                sent += 0x100000
        except OSError:
            pass
        assert MOST_BYTES <= sent < 4 * MOST_BYTES + (64 << 20)
    assert served.get("/api/study").status == 200


@pytest.mark.parametrize("length", ["-1", "1e9", "99999999999999999999", "16, 17", "+5"])
def test_lengths_that_are_no_numbers(served, run_id, length):
    with socket.create_connection(("127.0.0.1", served.port), timeout=20) as raw:
        head = f"POST /api/run/{run_id}/decode HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\nOrigin: {served.origin}\r\n"
        raw.sendall(f"{head}Content-Length: {length}\r\n\r\n".encode())
        assert raw.recv(100).split()[1] in (b"400", b"413")


def test_codes_that_are_none(served, run_id):
    for body in (
        b"",
        b"abc",
        bytes(4 * 3 * 65),
        np.full(3, np.nan, "<f4").tobytes(),
        np.full(3, np.inf, "<f4").tobytes(),
    ):
        answer = served.post(f"/api/run/{run_id}/decode", body)
        assert answer.status == 400
        assert "codes must be" in answer.json["problem"]


def test_the_policy_lets_no_script_in(served):
    for path in ("/", "/api/study", "/static/explorer.js", "/nothing"):
        headers = served.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe-inline" not in policy
        assert "'unsafe-eval'" not in policy
        assert "frame-ancestors 'none'" in policy
        assert headers["x-content-type-options"] == "nosniff"


def test_names_with_a_script_in_them_stay_text(copied, vectors_study):
    """Of a method's option, of a data set: JSON, and never HTML."""
    folder, name = copied(vectors_study), "<script>alert(1)</script>"
    store = Store(folder)
    known = store.runs()[0]
    run = Run(**(known.as_json() | {"data": {"name": name, "options": {name: name}}}))
    store.describe(run)
    with serving(StudyFolder(folder)) as server:
        answer = server.get("/api/study")
        assert answer.headers["content-type"] == "application/json"
        assert name in [row["data"] for row in answer.json["runs"]]
        opened = server.get(f"/api/run/{run.id}")
        assert opened.headers["content-type"] == "application/json"
        missed = server.get("/api/run/%3Cscript%3Ealert(1)%3C%2Fscript%3E")
        assert missed.status == 404
        assert missed.headers["content-type"] == "application/json"


def test_a_thousand_connections_that_say_nothing(vectors_study, monkeypatch):
    """Honest people are answered meanwhile, and those that say nothing, or half of it, are shown out."""
    monkeypatch.setattr(_connections, "PATIENCE", 2)
    idle = []
    with serving(StudyFolder(vectors_study)) as server:
        for _ in range(CONNECTIONS):
            idle.append(socket.create_connection(("127.0.0.1", server.port), timeout=20))
        for half in idle[:100]:
            half.sendall(b"GET / HT")
        assert server.get("/api/study").status == 200
        _all_closed(idle)
        assert server.get("/api/study").status == 200


def test_a_body_that_comes_slowly(vectors_study, run_id, monkeypatch):
    monkeypatch.setattr(_connections, "PATIENCE", 1)
    with serving(StudyFolder(vectors_study)) as server:
        raw = socket.create_connection(("127.0.0.1", server.port), timeout=20)
        head = f"POST /api/run/{run_id}/decode HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nOrigin: {server.origin}\r\n"
        raw.sendall(f"{head}Content-Length: 12\r\n\r\nabc".encode())
        assert raw.recv(100).split()[1] == b"408"
        raw.close()


def test_a_thousand_requests_at_once(served, run_id):
    open_ones = [socket.create_connection(("127.0.0.1", served.port), timeout=60) for _ in range(CONNECTIONS)]
    try:
        head = f"GET /api/run/{run_id}/observation/1 HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\n"
        for each in open_ones:
            each.sendall(f"{head}Connection: close\r\n\r\n".encode())
        said = {each.makefile("rb").readline().split()[1] for each in open_ones}
        assert said <= {b"200", b"503"}
        assert b"200" in said
    finally:
        for each in open_ones:
            each.close()
    assert served.get("/api/study").status == 200


def test_other_addresses_need_the_token(vectors_study, run_id):
    with serving(StudyFolder(vectors_study), host="0.0.0.0", token="right") as server:
        for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": "Bearer "}, {"Authorization": "rig"}):
            for path in ("/api/study", f"/api/run/{run_id}", f"/api/run/{run_id}/points"):
                answer = server.get(path, **headers)
                assert answer.status == 401
                assert "token" in answer.json["problem"]
        assert server.get("/api/study?token=right").status == 401  # an address is remembered, a header is not
        assert server.get("/api/study", Authorization="Bearer right").status == 200
        assert server.get("/").status == 200  # the page itself, which holds nothing of the study


def test_serving_elsewhere_without_a_token_is_refused(vectors_study):
    with pytest.raises(ValueError, match="needs a token"):
        serve(StudyFolder(vectors_study), host="0.0.0.0", port=0)


def test_a_websocket_is_not_answered(served):
    answer = served.get("/api/study", Connection="Upgrade", Upgrade="websocket", Sec_WebSocket_Key="x")
    assert answer.status in (200, 400, 403, 426)
    assert b"HTTP/1.1 101" not in answer.body


def test_frames_do_not_wait_for_the_next_packet(served):
    """Headers and body are two packets: with Nagle's rule the second would wait for the first's receipt."""
    with socket.create_connection(("127.0.0.1", served.port), timeout=20) as raw:
        raw.sendall(f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\n\r\n".encode())
        assert raw.recv(15) == b"HTTP/1.1 200 OK"
        sockets = [each.transport.get_extra_info("socket") for each in served.connections]
        assert sockets
        assert all(each.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) for each in sockets)


def _all_closed(connections: list[socket.socket]) -> None:
    deadline = time.monotonic() + 60
    for each in connections:
        while not _closed(each):
            assert time.monotonic() < deadline, "a connection that says nothing stays for good"
            time.sleep(0.1)
        each.close()


def _closed(connection: socket.socket) -> bool:
    connection.setblocking(False)
    try:
        return connection.recv(1) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True
