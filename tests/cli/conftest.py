import os
import subprocess
import sys
from dataclasses import dataclass

import pytest

COMMAND = [sys.executable, "-c", "from partita.cli.main import main; main()"]


@pytest.fixture
def partita(tmp_path):
    """Runs the command as a person would, in an empty folder; returns the ended process."""

    def run(*words: str, **options):
        environment = os.environ | {"COLUMNS": "120", "OMP_NUM_THREADS": "1"}
        settings = {"capture_output": True, "text": True, "cwd": tmp_path, "env": environment, "timeout": 250}
        return subprocess.run([*COMMAND, *words], **(settings | options))

    return run


@dataclass(frozen=True)
class Ended:
    returncode: int
    stdout: str
    stderr: str


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
