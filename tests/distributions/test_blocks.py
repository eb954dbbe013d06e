import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from partita.distributions import as_groups, is_refinement


def test_sizes_are_taken_in_order():
    assert as_groups((3, 2, 1), 6) == ((0, 1, 2), (3, 4), (5,))


def test_indices_are_kept_as_given():
    assert as_groups(((0, 3), (1,), (2, 4, 5)), 6) == ((0, 3), (1,), (2, 4, 5))


def test_arrays_are_taken_too():
    assert as_groups(np.array([2, 1]), 3) == ((0, 1), (2,))
    assert as_groups(np.array([[0, 2], [1, 3]]), 4) == ((0, 2), (1, 3))


def test_none_is_one_group_a_latent():
    assert as_groups(None, 3) == ((0,), (1,), (2,))


@pytest.mark.parametrize(
    ("groups", "words"),
    [
        ((2, 2), "add up to 4"),
        ((2, 0, 4), "at least one latent"),
        (((0, 1), (1, 2, 3, 4, 5)), "latent 1 is in group 0 and again in group 1"),
        (((0, 1), (2, 3)), "no group holds latent 4, 5"),
        (((0, 9), (1, 2, 3, 4, 5)), "latents are 0 to 5"),
        ((), "empty"),
        ("2,2,2", "groups must be"),
        (7, "groups must be"),
        (((0, 1), ()), "non-empty"),
    ],
)
def test_what_is_no_partition_is_refused_in_words(groups, words):
    with pytest.raises(ValueError, match=words):
        as_groups(groups, 6)


@settings(deadline=None, max_examples=50)
@given(st.lists(st.integers(-1, 4), max_size=6), st.integers(0, 8))
def test_any_sizes_give_a_partition_or_a_value_error(sizes, latents):
    try:
        groups = as_groups(tuple(sizes), latents)
    except ValueError:
        return
    assert sorted(k for group in groups for k in group) == list(range(latents))


def test_refinement():
    assert is_refinement(((0,), (1,), (2, 3)), ((0, 1), (2, 3)))
    assert not is_refinement(((0, 2), (1, 3)), ((0, 1), (2, 3)))
