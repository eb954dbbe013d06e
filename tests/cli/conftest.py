import logging
import os
import subprocess
import sys
import traceback
import warnings
from dataclasses import dataclass
from pathlib import Path

import pytest

COMMAND = [sys.executable, "-c", "from partita.cli.main import main; main()"]


@dataclass(frozen=True)
class Ended:
    returncode: int
    stdout: str
    stderr: str


@pytest.fixture
def partita(tmp_path, tmp_path_factory):
    """Runs the command as a person would, in an empty folder; returns the ended process.

    In a fork of this process where nothing else is asked of it: loading everything takes longer than most commands.
    (Not where OpenMP may have threads already, which a fork does not survive.)
    """

    def run(*words: str, **options):
        if not options and os.environ.get("OMP_NUM_THREADS") == "1":
            return _forked([str(word) for word in words], tmp_path, tmp_path_factory.mktemp("said"))
        environment = os.environ | {"COLUMNS": "120", "OMP_NUM_THREADS": "1"}
        settings = {"capture_output": True, "text": True, "cwd": tmp_path, "env": environment, "timeout": 250}
        return subprocess.run([*COMMAND, *words], **(settings | options))

    return run


def _forked(words: list[str], folder: Path, said: Path) -> Ended:
    import partita.estimator
    import partita.metrics
    import partita.reports
    import partita.structure
    import partita.studies  # noqa: F401  loaded once, before the fork
    from partita.cli.main import main

    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            for descriptor, name in ((1, "out"), (2, "err")):
                os.dup2(os.open(said / name, os.O_WRONLY | os.O_CREAT, 0o600), descriptor)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
            logging.getLogger().handlers.clear()  # pytest's
            warnings.resetwarnings()
            os.environ["COLUMNS"] = "120"
            os.chdir(folder)
            sys.argv = ["partita", *words]
            main()
            status = 0
        except SystemExit as end:
            status = int(end.code or 0)
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)
    _, status = os.waitpid(child, 0)
    return Ended(os.waitstatus_to_exitcode(status), (said / "out").read_text(), (said / "err").read_text())


@pytest.fixture
def partita_here(tmp_path, monkeypatch, capfd):
    """The same in this process: quicker by the time it takes to load everything. An exception that gets out fails."""
    from partita.cli.main import main

    def run(*words: str) -> Ended:
        monkeypatch.setattr(sys, "argv", ["partita", *map(str, words)])
        monkeypatch.chdir(tmp_path)
        capfd.readouterr()
        with pytest.raises(SystemExit) as end:
            main()
        said = capfd.readouterr()
        return Ended(int(end.value.code or 0), said.out, said.err)

    return run
