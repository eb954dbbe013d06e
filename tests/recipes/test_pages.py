"""docs/methods/: a page a method, as the recipes are today."""

import runpy
from pathlib import Path

import pytest

from partita.recipes import RECIPES

DOCS = Path(__file__).parents[2] / "docs"


def test_pages_are_as_the_recipes_are():
    made = runpy.run_path(str(DOCS / "generate_methods.py"))["pages"]()
    there = {path.name: path.read_text() for path in (DOCS / "methods").glob("*.md")}
    assert there == made, "run ./dev docs methods"


@pytest.mark.parametrize("name", RECIPES)
def test_a_method_says_when_to_use_it_what_it_cannot_do_and_whose_its_defaults_are(name):
    words = " ".join((RECIPES[name].__doc__ or "").split())
    for phrase in ("Use it ", "It cannot ", "Defaults: "):
        assert phrase in words
