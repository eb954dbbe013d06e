"""partita explore"""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

PORT = 8765


def explore(
    folder: Annotated[Path, typer.Argument(help="a study's folder, or a file that Disentangler.save wrote")],
    host: Annotated[str, typer.Option(help="address to serve on; any but this computer's own prints a token")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, typer.Option(min=0, max=65535, help="0: any that is free")] = PORT,
    export: Annotated[
        Path | None, typer.Option(help="serve nothing: write one run as a page that needs no server and no network")
    ] = None,
    run: Annotated[
        str | None, typer.Option(help="with --export: which run; default the one with the best held-out bound")
    ] = None,
    data: Annotated[str | None, typer.Option(help="with a saved model: the rows to look at, a name or path")] = None,
) -> None:
    """Look at a study, or a saved model, in a browser: move latents and watch the decoder answer.

    The page is served on this computer until Ctrl-C; nothing is trained or changed by looking.
    """
    from partita.cli.own_parts import load_own_parts
    from partita.explorer._open import explored_at

    if run is not None and export is None:
        raise ValueError("--run says which run --export writes: give --export FILE.html, or choose on the page")
    if folder.is_dir():
        load_own_parts(folder)
    explored = explored_at(folder, data)
    if export is None:
        _serve(explored, folder, host, port)
        return
    from partita.explorer import write_single_file

    chosen, why = chosen_run(explored, run)
    page = write_single_file(explored, chosen, export)
    print(f"{page} shows {chosen} ({why}), {page.stat().st_size / 1e6:.1f} MB")


def chosen_run(explored: Any, run: str | None) -> tuple[str, str]:
    """The run asked for, or the best; and why. ValueError, with the nearest id, where there is no such run."""
    from partita.data._nearest import nearest

    if run is None:
        return explored.best()
    known = [row["id"] for row in explored.study()["runs"]]
    if run not in known:
        raise ValueError(f"there is no run {run!r} here{nearest(run, known)}")
    return run, "as asked"


def _serve(explored: Any, folder: Path, host: str, port: int) -> None:
    from secrets import token_urlsafe
    from socket import gethostname

    from partita.explorer import serve
    from partita.explorer._guard import is_loopback

    token = None if is_loopback(host) else token_urlsafe(24)

    def told(bound: int) -> None:
        shown = gethostname() if host in ("0.0.0.0", "::") else host  # any address of this computer
        name = f"[{shown}]" if ":" in shown else shown
        print(f"open http://{name}:{bound}/{'' if token is None else f'?token={token}'}", flush=True)
        if token is not None:
            print(f"whoever has this address can look at {folder}; others are refused", flush=True)
        print("Ctrl-C ends it", file=sys.stderr, flush=True)

    try:
        serve(explored, host=host, port=port, token=token, told=told)
    except KeyboardInterrupt:  # which is how one ends it
        print("ended", file=sys.stderr)
