"""The page on this computer's own address: documents and numbers of a study, to whoever may ask."""

import mimetypes
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import unquote

import numpy as np

from partita.explorer import _connections
from partita.explorer._documents import diagnosis_document, plain, run_document, tree_document
from partita.explorer._guard import Guard, is_loopback
from partita.explorer._subject import Subject

STATIC = Path(__file__).parent / "static"
AT_WORK, WAITING = 4, 2  # threads that decode, and that open, encode or test


class Explored(Protocol):
    """What is looked at: a study's folder, or one model."""

    def study(self) -> dict[str, Any]: ...
    def subject(self, name: str) -> Subject: ...


def application(explored: Explored, *, host: str = "127.0.0.1", token: str | None = None) -> Any:
    """The ASGI application: static files that are read now, the documents of `explored`, and its guard.

    Parameters
    ----------
    explored : what is looked at, a study's folder or one model.
    host : the address that it will be served on.
    token : what requests for data must bring; needed where `host` is not this computer's own.

    Returns
    -------
    an ASGI application
    """
    import anyio
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import JSONResponse, Response
    from starlette.routing import Route

    quick, slow = anyio.CapacityLimiter(AT_WORK), anyio.CapacityLimiter(WAITING)

    def answering(answer: Callable[[Request, bytes], Response], limiter: anyio.CapacityLimiter):
        async def endpoint(request: Request) -> Response:
            try:
                with anyio.fail_after(_connections.PATIENCE):
                    body = await request.body() if request.method == "POST" else b""
            except TimeoutError:
                return JSONResponse({"problem": "the file came too slowly"}, 408, {"connection": "close"})
            try:
                return await anyio.to_thread.run_sync(partial(answer, request, body), limiter=limiter)
            except KeyError:
                return JSONResponse({"problem": f"there is no run {request.path_params['run'][:80]!r} here"}, 404)
            except ValueError as error:
                return JSONResponse({"problem": str(error)}, 400)
            except OSError as error:
                return JSONResponse({"problem": f"a file could not be read: {error.strerror or error}"}, 500)

        return endpoint

    def subject(request: Request) -> Subject:
        return explored.subject(request.path_params["run"])

    def points(request: Request, body: bytes) -> Response:
        codes, columns = subject(request).points()
        return _binary(Response, codes, columns, count=len(codes))

    def decode(request: Request, body: bytes) -> Response:
        opened = subject(request)
        return _binary(Response, opened.decode(opened.codes(body)))

    def encode(request: Request, body: bytes) -> Response:
        name = unquote(request.headers.get("x-filename", ""))
        return JSONResponse(plain(subject(request).encode_file(body, name)))

    def document(make: Callable[[Subject], dict[str, Any]]) -> Callable[[Request, bytes], Response]:
        return lambda request, body: JSONResponse(make(subject(request)))

    def observation(request: Request, body: bytes) -> Response:
        return _binary(Response, subject(request).observation(request.path_params["point"]))

    routes = [Route(path, _static(file)) for path, file in static_files().items()]
    routes += [
        Route("/api/study", answering(lambda request, body: JSONResponse(explored.study()), slow)),
        Route("/api/run/{run}", answering(document(run_document), slow)),
        Route("/api/run/{run}/tree", answering(document(tree_document), slow)),
        Route("/api/run/{run}/diagnosis", answering(document(diagnosis_document), slow)),
        Route("/api/run/{run}/points", answering(points, slow)),
        Route("/api/run/{run}/observation/{point:int}", answering(observation, quick)),
        Route("/api/run/{run}/decode", answering(decode, quick), methods=["POST"]),
        Route("/api/run/{run}/encode", answering(encode, quick), methods=["POST"]),
    ]
    return Guard(Starlette(routes=routes, exception_handlers={404: _not_here, 405: _not_here}), host, token)


def serve(
    explored: Explored,
    *,
    host: str = "127.0.0.1",
    port: int = 8765,
    token: str | None = None,
    told: Callable[[int], None] = lambda port: None,
) -> None:
    """Answers until it is interrupted; ValueError where another address than this computer's own has no token.

    Parameters
    ----------
    explored : what is looked at, a study's folder or one model.
    host, port : where to listen; port 0 is any that is free.
    token : what requests for data must bring.
    told : is called with the port once somebody listens there.
    """
    if not is_loopback(host) and token is None:
        raise ValueError(f"serving on {host} needs a token")
    try:
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise ValueError(f'the explorer needs the package {error.name}: pip install "partita[explore]"') from None
    _connections.run_server(application(explored, host=host, token=token), host, port, told)


def static_files() -> dict[str, Path]:
    """Addresses and the files that lie behind them: no other path is ever opened because somebody asks."""
    files = [path for path in sorted(STATIC.glob("*")) if path.is_file() and not path.is_symlink()]
    pages = {f"/static/{path.name}": path for path in files}
    return pages | {"/": pages.get("/static/index.html", STATIC / "index.html")}


def _static(path: Path) -> Any:
    from starlette.responses import Response

    content = path.read_bytes()
    kind = {".js": "text/javascript", ".wasm": "application/wasm", ".gz": "application/gzip"}.get(path.suffix)
    kind = kind or mimetypes.guess_type(path.name)[0] or "application/octet-stream"

    async def endpoint(request: Any) -> Response:
        return Response(content, media_type=kind)

    return endpoint


async def _not_here(request: Any, error: Any) -> Any:
    from starlette.responses import JSONResponse

    return JSONResponse({"problem": "there is nothing at this address"}, error.status_code)


def _binary(response: Any, *arrays: np.ndarray, count: int | None = None) -> Any:
    body = b"".join(np.ascontiguousarray(array, "<f4").tobytes() for array in arrays)
    headers = {} if count is None else {"X-Count": str(count)}
    return response(body, media_type="application/octet-stream", headers=headers)
