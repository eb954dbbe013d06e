import logging
import os
import subprocess
import sys
import traceback
import warnings
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.forking import may_fork

COMMAND = [sys.executable, "-c", "from partita.cli.main import main; main()"]


@dataclass(frozen=True)
class Ended:
    returncode: int
    stdout: str
    stderr: str


@pytest.fixture
def partita(tmp_path, started):
    """Runs the command as a person would, in an empty folder; returns the ended process."""

    def run(*words: str, **options):
        if not options:
            process = started(*words)
            out, errors = process.communicate(timeout=250)
            return Ended(process.returncode, out, errors)
        environment = os.environ | {"COLUMNS": "120", "OMP_NUM_THREADS": "1"}
        settings = {"capture_output": True, "text": True, "cwd": tmp_path, "env": environment, "timeout": 250}
        return subprocess.run([*COMMAND, *words], **(settings | options))

    return run


@pytest.fixture
def started(tmp_path, tmp_path_factory):
    """The same, not waited for: in a fork of this process, where that can be."""

    def start(*words: str) -> "Forked | subprocess.Popen":
        if may_fork():
            return Forked([str(word) for word in words], tmp_path, tmp_path_factory.mktemp("said"))
        environment = os.environ | {"COLUMNS": "120", "OMP_NUM_THREADS": "1"}
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        return subprocess.Popen([*COMMAND, *words], cwd=tmp_path, env=environment, **pipes)

    return start


class Forked:
    """What tests need of `subprocess.Popen`, of the command in a fork of this process."""

    def __init__(self, words: list[str], folder: Path, said: Path):
        self.said, self.process = said, _forked(words, folder, said)

    def send_signal(self, sign: int) -> None:
        os.kill(self.process, sign)

    def communicate(self, timeout: float) -> tuple[str, str]:
        self.returncode = os.waitstatus_to_exitcode(os.waitpid(self.process, 0)[1])
        return (self.said / "out").read_text(), (self.said / "err").read_text()


def _forked(words: list[str], folder: Path, said: Path) -> int:
    import torch._dynamo  # noqa: F401  which optimisers load

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
        except BaseException:  # said, and the status is 1; what escaped would run pytest on in this copy of it
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)
    return child


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
