"""Who may ask, and how much: every request goes through here before anything else looks at it."""

import ipaddress
import json
import socket
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass
from secrets import compare_digest
from typing import Any

from partita.explorer._uploads import MOST_BYTES

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]

POLICY = (
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "x-frame-options": "DENY",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
}
METHODS = ("GET", "HEAD", "POST")


@dataclass(frozen=True)
class Guard:
    """An ASGI application around another: Host, Origin, token, size. What it refuses never reaches `app`.

    `host` is the address that the server is bound to. A browser that a stranger's page sends here by a name of theirs
    (DNS rebinding) says that name in Host, so names are refused but for `localhost`, this computer's and `host`.
    """

    app: Callable[[Scope, Receive, Send], Awaitable[None]]
    host: str = "127.0.0.1"
    token: str | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            return await self.app(scope, receive, send)
        if scope["type"] != "http":
            return await send({"type": "websocket.close", "code": 1008})
        headers = _headers(scope)
        refused = self._refused(scope, headers)
        if refused is not None:
            return await _answer(send, *refused)
        try:
            await self.app(scope, _counted(receive, MOST_BYTES), _with_headers(send, scope["path"]))
        except TooLarge:
            await _answer(send, 413, f"files of at most {MOST_BYTES >> 20} MB are taken")

    def _refused(self, scope: Scope, headers: Mapping[str, str]) -> tuple[int, str] | None:
        """Status and words, or None where the request may pass."""
        host, origin = headers.get("host", ""), headers.get("origin")
        if not allowed_host(host, self.host):
            return 421, "this page is served to its own address alone: open the address that `partita explore` printed"
        if scope["method"] not in METHODS:
            return 405, "only GET and POST are answered"
        if origin is not None and origin != f"http://{host}":
            return 403, "another site's page asked, and is not answered"
        if origin is None and scope["method"] == "POST":
            return 403, "a POST needs the Origin of this page"
        # a link to the page may stand anywhere; what it asks for is its own business
        if scope["path"].startswith("/api/") and headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            return 403, "another site's page asked, and is not answered"
        length = headers.get("content-length", "0")
        if not length.isdigit() or len(length) > 12 or int(length) > MOST_BYTES:
            return 413, f"files of at most {MOST_BYTES >> 20} MB are taken"
        if self.token is not None and scope["path"].startswith("/api/"):
            given = headers.get("authorization", "").removeprefix("Bearer ")
            if not compare_digest(given.encode(), self.token.encode()):
                return 401, "the token is missing or wrong: open the whole address that `partita explore` printed"
        return None


class TooLarge(Exception):
    """A body went on beyond what is taken."""


def allowed_host(header: str, bound: str) -> bool:
    """Whether a Host header is an address of this server."""
    name = header.rpartition(":")[0] if header.rpartition(":")[2].isdigit() else header
    name = name.strip("[]").lower()
    if is_loopback(bound):
        return is_loopback(name)
    if name in (bound.lower(), "localhost", socket.gethostname().lower()):
        return True
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True  # numbers name no site: nobody can be led here by them


def is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _headers(scope: Scope) -> dict[str, str]:
    """The last of each name, but for Host and Origin: said twice, they are as good as wrong."""
    found: dict[str, str] = {}
    for name, value in scope["headers"]:
        key = name.decode("latin-1").lower()
        twice = key in found and key in ("host", "origin", "content-length")
        found[key] = "said twice" if twice else value.decode("latin-1")
    return found


def _counted(receive: Receive, most: int) -> Receive:
    seen = 0

    async def counting() -> Any:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        if seen > most:
            raise TooLarge
        return message

    return counting


def _with_headers(send: Send, path: str) -> Send:
    kept = HEADERS | ({"cache-control": "no-store"} if path.startswith("/api/") else {"cache-control": "no-cache"})

    async def sending(message: Any) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message.get("headers", ()), *_encoded(kept)]
        await send(message)

    return sending


async def _answer(send: Send, status: int, words: str) -> None:
    body = json.dumps({"problem": words}).encode()
    headers = HEADERS | {"content-type": "application/json", "content-length": str(len(body)), "connection": "close"}
    await send({"type": "http.response.start", "status": status, "headers": _encoded(headers)})
    await send({"type": "http.response.body", "body": body})


def _encoded(headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.encode(), value.encode()) for name, value in headers.items()]
