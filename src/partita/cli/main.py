"""The command `partita`: thin files, and nothing heavy imported before a command needs it."""

import logging
import os
import sys
import warnings
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from partita import __version__
from partita.cli.compare import compare
from partita.cli.data import data
from partita.cli.demo import demo
from partita.cli.doctor import doctor
from partita.cli.evaluate import evaluate
from partita.cli.explore import explore
from partita.cli.export import export
from partita.cli.methods import methods
from partita.cli.metrics import metrics
from partita.cli.planned import WithNames
from partita.cli.report import report
from partita.cli.status import status
from partita.cli.train import train
from partita.cli.values import complain
from partita.cli.verify import verify

app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command()(demo)
app.command()(methods)
app.command()(metrics)
app.command()(data)
app.command(cls=WithNames, context_settings={"allow_extra_args": True, "ignore_unknown_options": True})(train)
app.command()(evaluate)
app.command()(report)
app.command()(explore)
app.command()(export)
app.command()(compare)
app.command()(verify)
app.command()(status)
app.command()(doctor)


def _say_version(asked: bool) -> None:
    if asked:
        print(f"partita {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def about(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_say_version, is_eager=True, help="print the version")
    ] = False,
) -> None:
    """Learn, measure and look at latent spaces that fall into independent parts."""
    if context.invoked_subcommand is None:
        print(context.get_help())


def main() -> None:
    """Exit status 0 on success, 1 when a run diverged, is damaged or could not be measured, 2 on bad input with one
    line on stderr, 130 when interrupted."""
    logging.basicConfig(format="partita: %(message)s", level=logging.WARNING)
    for said in ("partita.memory", "partita.compiler", "partita.index"):
        logging.getLogger(said).setLevel(logging.INFO)
    warnings.showwarning = _tell_once(warnings.showwarning)
    try:
        code = app(standalone_mode=False)
    except KeyboardInterrupt:
        _fail("interrupted", 130)
    except Exception as error:
        _fail(*_explained(error))
    if int(os.environ.get("WORLD_SIZE") or 1) > 1:
        # PyTorch's threads now and then abort one of several processes that ends the usual way, with all its work done
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code or 0)
    sys.exit(code or 0)


def _tell_once(otherwise):
    """Shows a warning of ours in one line, the same words once; those of others as Python does."""
    told = set()

    def tell(message, category, *where, **more):
        if not category.__module__.startswith("partita"):
            otherwise(message, category, *where, **more)
        elif str(message) not in told:
            told.add(str(message))
            print(f"partita: {message}", file=sys.stderr)

    return tell


def _explained(error: Exception) -> tuple[str, int]:
    """One line and an exit status for what a person can mend; anything else is our bug and keeps its traceback."""
    if isinstance(error, typer.Abort):
        return "interrupted", 130
    if hasattr(error, "format_message"):  # a usage error of the command-line library, whichever click it brings
        return _with_suggestion(error, sys.argv), 2
    if type(error).__name__ == "Interrupted":  # partita.training.Interrupted, without loading torch to say so
        return f"{error}; the same command goes on from here", 130
    if isinstance(error, OSError) and error.strerror and not str(error.args[0]).startswith("partita"):
        return f"{error.filename or 'file'}: {error.strerror}", 2
    if isinstance(error, ValueError | OSError):
        return str(error), 2
    if isinstance(error, MemoryError) or "can't allocate memory" in str(error):  # PyTorch says it by a RuntimeError
        return "this computer's memory is too small for it: use a smaller batch, network or data set", 2
    raise error


def _with_suggestion(error: Any, words: Sequence[str]) -> str:
    """What the command-line library says, and which flag was probably meant."""
    from partita.data._nearest import nearest

    command = error.ctx.command if getattr(error, "ctx", None) is not None else None
    flags = [flag for each in command.params for flag in each.opts] if command is not None else []
    if hasattr(error, "option_name") and hasattr(error, "possibilities"):
        meant = nearest(error.option_name.lstrip("-"), [flag.lstrip("-") for flag in flags], prefix="--")
        return f"No such option: {error.option_name}{meant}"
    said, missing = error.format_message(), getattr(error, "param", None)
    given = [word.partition("=")[0] for word in words if word.startswith("--")]
    for flag in missing.opts if missing is not None else ():
        meant = nearest(flag.lstrip("-"), [word.lstrip("-") for word in given if word not in flags], prefix="--")
        said += meant.replace("did you mean", f"is {flag} what you meant by")
    return said


def _fail(message: str, status: int) -> None:
    complain(message)
    sys.exit(status)
