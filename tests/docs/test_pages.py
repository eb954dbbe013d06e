"""Every Python block of README.md and docs/ runs, and prints what the block of text after it says.

A page is one module: its blocks run in order and see each other's names, as in a user's script. `steps=1000` stands
for a run of real length and is short here. A block that cannot run has a comment before it that says why:
`<!--- skip: next "needs two GPUs" -->`.
"""

import doctest
import re
import sys
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from types import ModuleType
from unittest import SkipTest

import pytest

sybil = pytest.importorskip("sybil", reason="runs the pages; pip install sybil")
from sybil import Lexeme  # noqa: E402
from sybil.evaluators.python import PythonEvaluator  # noqa: E402
from sybil.parsers.markdown import CodeBlockParser, SkipParser  # noqa: E402

from partita.structure import _curving  # noqa: E402

REPOSITORY = Path(__file__).parents[2]
DATA = REPOSITORY / "../shared/data"
PAGES = [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").rglob("*.md"))]
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
HAS_PYTHON = re.compile(r"^```(python|text)", re.MULTILINE)


def run(example: sybil.Example) -> None:
    shown = example.parsed
    example.parsed = Lexeme(shown.replace("steps=1000", "steps=20"), shown.offset, shown.line_offset)
    with redirect_stdout(StringIO()) as printed:
        PythonEvaluator()(example)
    example.document.printed = printed.getvalue()


def compare(example: sybil.Example) -> None:
    """A block of text is what the Python block before it prints; `...` stands for anything."""
    printed, example.document.printed = example.document.printed, None
    assert printed is not None, f"{example.path}, line {example.line}: no Python block before these words"
    said = doctest.OutputChecker().check_output(example.parsed, printed, FLAGS)
    assert said, f"{example.path}, line {example.line} says\n{example.parsed}\nand this was printed:\n{printed}"


@pytest.mark.parametrize("page", [page for page in PAGES if HAS_PYTHON.search(page.read_text())], ids=lambda p: p.name)
def test_a_page_runs_as_shown(page, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    if DATA.exists():
        monkeypatch.setenv("PARTITA_DATA", str(DATA.resolve()))
    else:
        monkeypatch.delenv("PARTITA_DATA", raising=False)
    monkeypatch.setattr(_curving, "MODELS", 1)  # as steps are: short
    monkeypatch.setattr(_curving, "STEPS", 60)
    parsers = [CodeBlockParser("python", run), CodeBlockParser("text", compare), SkipParser()]
    document = sybil.Document.parse(str(page), *parsers)
    module = ModuleType(f"page_{page.stem}")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    document.namespace, document.printed = vars(module), None
    ran, why_not = 0, "no block"
    for example in document:
        try:
            example.evaluate()
            ran += 1
        except SkipTest as reason:
            why_not = str(reason)
    if not ran:
        pytest.skip(why_not)


def test_own_parts_need_nothing_but_what_is_public():
    assert not re.findall(r"partita\.\w", "".join(blocks(REPOSITORY / "docs/own_parts.md")))


def blocks(page: Path) -> list[str]:
    return re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("```python\nprint(1 + 1)\n```\n```text\n3\n```\n", "this was printed"),
        ("```python\nraise KeyError\n```\n", "KeyError"),
        ("```text\n3\n```\n", "no Python block"),
    ],
    ids=["other words", "an error", "words of nobody"],
)
def test_a_page_that_is_wrong_fails(tmp_path, monkeypatch, text, complaint):
    (tmp_path / "page.md").write_text(text)
    with pytest.raises((AssertionError, KeyError)) as failed:
        test_a_page_runs_as_shown(tmp_path / "page.md", monkeypatch, tmp_path)
    assert complaint in repr(failed.value)
