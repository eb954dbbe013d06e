"""kill -9 at any moment: the study ends in the bytes of one that nobody touched, and nothing is trained twice."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("killed_at.py")


def killed(scenario: str, folder: Path, every: int) -> dict:
    words = [sys.executable, str(PROGRAM), scenario, str(folder), str(every)]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    ended = subprocess.run(words, capture_output=True, text=True, env=environment)
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked and killed")
@pytest.mark.parametrize(("scenario", "every"), [("study", 83), ("interrupted", 47)])
def test_killed_at_some_calls_that_change_files(scenario, every, tmp_path):
    found = killed(scenario, tmp_path, every)
    assert found["trouble"] == []
    assert found["kills"] >= 7  # at every one of them: below, in an hour


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked and killed")
@pytest.mark.parametrize("scenario", ["alone", "restarts", "auto", "diverged", "halves", "interrupted", "study"])
def test_killed_at_every_call_that_changes_files(scenario, tmp_path):
    found = killed(scenario, tmp_path, 1)
    assert found["trouble"] == []
    assert found["kills"] == found["points"] > 150
