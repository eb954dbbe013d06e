"""docs/plots.md: its code runs as shown, and it names every picture there is."""

import re
from pathlib import Path

import pytest

import partita as pt

PAGE = Path(__file__).parents[2] / "docs/plots.md"


@pytest.mark.filterwarnings("ignore")
def test_the_code_of_the_page_runs_as_shown(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    namespace: dict = {}
    for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL):
        exec(block, namespace)
    assert (tmp_path / "groups.png").stat().st_size > 1000
    assert len(namespace["figure"].axes) > 2


def test_every_picture_is_named():
    named = re.findall(r"^\| `(\w+)` \|", PAGE.read_text(), re.MULTILINE)
    assert sorted(named) == sorted(pt.plot.__all__)
