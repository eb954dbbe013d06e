import os
import subprocess
import sys

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
