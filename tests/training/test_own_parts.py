"""Names and digests of people's own functions and objects."""

import sys
from dataclasses import dataclass
from functools import partial
from types import ModuleType

import numpy as np
import pytest

from partita.training.own_parts import find, given, name_of, source_digest


@dataclass(frozen=True)
class Scaled:
    by: float
    of: object


def double(x):
    return 2 * x


def times(factor):
    def product(x):
        return factor * x

    return product


def knows_itself():
    def down(n):
        return down(n - 1) if n else 0

    return down


SCALED = Scaled(2.0, double)


def test_functions_and_variables_of_a_module_have_its_name():
    assert name_of(double) == f"{__name__}:double"
    assert name_of(SCALED) == f"{__name__}:SCALED"
    assert name_of(Scaled(2.0, double)) == name_of(SCALED)  # as a clone has it
    assert name_of(Scaled(3.0, double)) == "Scaled"
    for part in (double, SCALED):
        assert find(name_of(part), source_digest(part)) == (part, True)
        assert find(name_of(part), "another") == (part, False)


@pytest.mark.parametrize("importer", ["an_importer", "__mp_main__"])
def test_an_object_has_the_name_of_where_it_was_made_whoever_imported_it(monkeypatch, importer):
    module, made = ModuleType(importer), sys.modules[__name__]
    vars(module)["taken"] = SCALED
    monkeypatch.delitem(sys.modules, __name__)
    monkeypatch.setitem(sys.modules, importer, module)
    monkeypatch.setitem(sys.modules, __name__, made)  # loaded after it
    assert name_of(SCALED) == f"{__name__}:SCALED"


def test_what_computes_something_else_has_another_digest():
    one, other = (lambda x: x + 1), (lambda x: x + 2)
    parts = [double, times(2), times(3), one, other, Scaled(2.0, double), Scaled(3.0, double), Scaled(2.0, one)]
    parts += [partial(double, 1), partial(double, 2), double.__call__, Scaled, knows_itself()]
    assert len({source_digest(part) for part in parts}) == len(parts)
    for part, again in [(times(2), times(2)), (SCALED, Scaled(2.0, double)), (knows_itself(), knows_itself())]:
        assert source_digest(part) == source_digest(again)
    assert source_digest(times(np.arange(3))) != source_digest(times(np.arange(4)))


def test_what_no_module_has_is_found_where_it_was_given():
    part = times(7)
    name, source = given(part)
    assert name.startswith(f"{__name__}:times.<locals>.product#")
    assert find(name, source) == (part, True)
    with pytest.raises(ValueError, match="has no name by which it is found"):
        find(name, "another")
