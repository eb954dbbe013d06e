"""The examples in docstrings run, and print what they say."""

import doctest
import importlib
import pkgutil
import warnings

import pytest

import partita
from partita.metrics import METRICS

MODULES = sorted(found.name for found in pkgutil.walk_packages(partita.__path__, "partita.") if "cli" not in found.name)
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def examples(name: str) -> list[doctest.DocTest]:
    try:
        module = importlib.import_module(name)
    except ImportError:  # Triton is not everywhere
        return []
    return [found for found in doctest.DocTestFinder(exclude_empty=True).find(module, name) if found.examples]


EXAMPLES = [each for name in MODULES if "triton" not in name and "__main__" not in name for each in examples(name)]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda each: each.name)
def test_an_example_prints_what_it_says(example):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert doctest.DocTestRunner(optionflags=FLAGS).run(example).failed == 0


@pytest.mark.parametrize("name", METRICS)
def test_a_metric_says_what_it_takes_and_returns_and_shows_how(name):
    text = METRICS[name].function.__doc__ or ""
    for section in ("Parameters\n", "Returns\n", "Examples\n"):
        assert section in text
    for parameter in METRICS[name].function.__annotations__:
        assert parameter == "return" or f"    {parameter} : " in text
