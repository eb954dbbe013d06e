"""Names of 0.1.0 that moved: the old one works, and says so."""

import importlib
import sys

import pytest

from partita._moved import MOVED


@pytest.mark.parametrize("old", MOVED)
def test_a_module_is_found_by_its_old_name(old):
    sys.modules.pop(old, None)
    new = importlib.import_module(MOVED[old])
    spec, name = new.__spec__, new.__name__
    with pytest.warns(DeprecationWarning, match="now; the old name goes"):
        assert importlib.import_module(old) is new
    assert (new.__spec__, new.__name__) == (spec, name)
    sys.modules.pop(old, None)
