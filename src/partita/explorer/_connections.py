"""How many may be connected at once, and for how long somebody may say nothing."""

import asyncio
import socket
from collections.abc import Callable
from typing import Any

PATIENCE = 10  # seconds in which a connection must say what it wants
BACKLOG = 1_024
MOST = 2_000  # connections; a browser opens six


def run_server(application: Any, host: str, port: int, told: Callable[[int], None]) -> None:
    """uvicorn, until it is interrupted; `told` is called with the port once it is bound. OSError where it is taken."""
    import uvicorn

    more_files()
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as bound:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            bound.bind((host, port))
            bound.listen(BACKLOG)
        except OSError as error:
            raise OSError(
                f"cannot serve on {host}, port {port}: {error.strerror or error}; choose another --port, or 0 for any"
            ) from None
        told(bound.getsockname()[1])
        uvicorn.Server(settings(application, host, port)).run(sockets=[bound])


def settings(application: Any, host: str, port: int) -> Any:
    import uvicorn

    return uvicorn.Config(
        application,
        host=host,
        port=port,
        http=patient_protocol(),
        ws="none",
        log_level="warning",
        access_log=False,
        server_header=False,
        limit_concurrency=MOST,
        backlog=BACKLOG,
        timeout_keep_alive=PATIENCE,
        timeout_graceful_shutdown=2,
    )


def patient_protocol() -> type:
    """uvicorn's, but a connection that sends no whole request for ten seconds is closed: a thousand of them that say
    nothing would otherwise stay for good."""
    from uvicorn.protocols.http.h11_impl import H11Protocol

    class Patient(H11Protocol):
        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            # asyncio does it of sockets that it made itself alone; without, a frame waits 40 ms for the next packet
            transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.waiting = asyncio.get_running_loop().call_later(PATIENCE, self.give_up)

        def give_up(self) -> None:
            if self.cycle is None and not self.transport.is_closing():
                self.transport.close()

        def connection_lost(self, exc: Exception | None) -> None:
            self.waiting.cancel()
            super().connection_lost(exc)

    return Patient


def more_files() -> None:
    """As many open files as this process may have: each connection is one, and 1,024 are soon gone."""
    try:
        import resource
    except ImportError:  # Windows has no such bound
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST + 500 if hard == resource.RLIM_INFINITY else min(hard, MOST + 500)
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
