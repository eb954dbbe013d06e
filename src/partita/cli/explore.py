"""partita explore"""

import sys
from pathlib import Path
from typing import Annotated

import typer

PORT = 8765


def explore(
    folder: Annotated[Path, typer.Argument(help="a study's folder, or a file that Disentangler.save wrote")],
    host: Annotated[str, typer.Option(help="address to serve on; any but this computer's own needs a token")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, typer.Option(help="0: any that is free")] = PORT,
    data: Annotated[str | None, typer.Option(help="with a saved model: the rows to look at, a name or path")] = None,
) -> None:
    """Look at a study, or a saved model, in a browser: move latents and watch the decoder answer.

    The page is served on this computer until Ctrl-C; nothing is trained or changed by looking.
    """
    from secrets import token_urlsafe

    from partita.cli.own_parts import load_own_parts
    from partita.explorer import serve
    from partita.explorer._guard import is_loopback
    from partita.explorer._open import explored_at

    if folder.is_dir():
        load_own_parts(folder)
    explored = explored_at(folder, data)
    token = None if is_loopback(host) else token_urlsafe(24)

    def told(bound: int) -> None:
        name = f"[{host}]" if ":" in host else host
        print(f"open http://{name}:{bound}/{'' if token is None else f'?token={token}'}")
        if token is not None:
            print(f"whoever has this address can look at {folder}; others are refused")
        print("Ctrl-C ends it", file=sys.stderr, flush=True)
        sys.stdout.flush()

    serve(explored, host=host, port=port, token=token, told=told)
