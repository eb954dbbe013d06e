"""Which groups of linear coordinates are taken: what ICA leaves a little mixed ties what is independent."""

import numpy as np
import pytest

from partita.structure import _linear_groups
from partita.structure._linear_groups import LinearGroups, ends_of_ica, in_groups, likeliest_end
from partita.structure._principal import Principal
from partita.structure.free_groups import Tie, grouped, threshold

RING_AND_TWO = ((0, 1), (2,), (3,))


def ring_and_two(n, seed=0):
    rng = np.random.default_rng(seed)
    angle = rng.uniform(0, 2 * np.pi, n)
    z = np.stack([np.cos(angle), np.sin(angle), rng.exponential(size=n), rng.uniform(-1, 1, n)], 1)
    z += 0.05 * rng.standard_normal(z.shape)
    principal = Principal.of(z, 4)
    white = principal.white(z)
    left, _, right = np.linalg.svd(white.T @ z)
    return principal, white, left @ right


def mixed(rotation, angle, i, j):
    turn = np.eye(4)
    turn[np.ix_((i, j), (i, j))] = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
    return rotation @ turn


@pytest.mark.parametrize("rows", [2000, 6000])
def test_what_is_left_mixed_is_turned_apart(rows):
    """However many rows: where cuts differ, all of them are turned."""
    principal, white, rotation = ring_and_two(rows)
    end = in_groups(principal, white, mixed(rotation, 0.05, 2, 3), None)
    assert any({2, 3} <= {*group} for group in end.groups)
    assert likeliest_end(principal, white, [end], None, 0).groups == RING_AND_TWO


def test_what_belongs_together_stays_together():
    principal, white, rotation = ring_and_two(2000)
    end = in_groups(principal, white, rotation, None)
    found = likeliest_end(principal, white, [end], None, 0)
    assert found.groups == RING_AND_TWO
    np.testing.assert_allclose(np.abs(rotation[:, 2:].T @ found.rotation[:, 2:]), np.eye(2), atol=0.05)


def test_a_tie_that_nearly_joins_is_asked_of_likelihood():
    principal, white, rotation = ring_and_two(2000)
    weak = [Tie((0, 1), 0.95 * threshold(2, 4))]
    end = LinearGroups(rotation, grouped(weak, 4), weak, 0.0)
    assert end.groups == ((0,), (1,), (2,), (3,))
    assert likeliest_end(principal, white, [end], None, 0).groups == RING_AND_TWO


def test_principal_coordinates_that_hold_groups_are_among_the_ends(monkeypatch):
    """A ring in the two largest: every turn of it is one to ICA, which may end where the ring is mixed with others."""
    rng = np.random.default_rng(0)
    angle = rng.uniform(0, 2 * np.pi, 800)
    x = np.stack([3 * np.cos(angle), 3 * np.sin(angle), *rng.standard_normal((2, 800))], 1)
    x += 0.3 * rng.standard_normal((800, 4))
    principal = Principal.of(x, 4)
    white = principal.white(x)
    astray = mixed(mixed(np.eye(4), np.pi / 4, 0, 2), np.pi / 4, 1, 3)
    monkeypatch.setattr(_linear_groups, "unmixings", lambda *_: [astray.T])
    first, *_ = ends_of_ica(principal, white, (2, 2), 0)
    np.testing.assert_array_equal(first.rotation, np.eye(4))
    assert {(0, 1)} < {*first.groups}
    (own,) = ends_of_ica(principal, white, None, 0)
    np.testing.assert_allclose(own.rotation, astray)


def test_principal_coordinates_are_no_end_where_they_are_mixed():
    """Though what is mixed seems to hold more inside groups, whichever they are."""
    rng = np.random.default_rng(0)
    x = rng.standard_exponential((2000, 4)) @ rng.standard_normal((4, 6)) + 0.05 * rng.standard_normal((2000, 6))
    principal = Principal.of(x, 4)
    white = principal.white(x)
    ends = ends_of_ica(principal, white, (2, 2), 0)
    assert in_groups(principal, white, np.eye(4), (2, 2)).value > 3 * max(end.value for end in ends)
    assert not any(np.array_equal(end.rotation, np.eye(4)) for end in ends)
