"""docs/glossary.md has what docstrings and tests send their readers to."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "glossary.md").read_text()
SENT = re.compile(r"docs/glossary\.md, ([A-Z][a-z]+(?: [a-z]+)*)")


def referring() -> list[str]:
    return [path.read_text() for room in ("src", "tests", "benchmarks") for path in sorted((ROOT / room).rglob("*.py"))]


def test_sections_that_are_named_are_there():
    titles = re.findall(r"^## (.+)$", TEXT, re.MULTILINE)
    named = {title for text in referring() for title in SENT.findall(text)}
    assert len(named) >= 4
    assert named <= set(titles)


def test_identities_that_tests_name_are_there():
    named = {int(number) for text in referring() for number in re.findall(r"def test_x(\d+)_", text)}
    there = {int(number) for number in re.findall(r"X(\d+)", TEXT)}
    spans = re.findall(r"^\| X(\d+) to X(\d+) \|", TEXT, re.MULTILINE)
    there |= {k for low, high in spans for k in range(int(low), int(high))}
    assert named
    assert named <= there


def test_nothing_points_at_documents_that_are_not_here():
    assert not [found for text in referring() for found in re.findall(r"spec 0\d\d", text)]
