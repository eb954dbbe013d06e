"""Which groups of linear coordinates are taken: what ICA leaves a little mixed ties what is independent."""

import numpy as np
import pytest

from partita.structure._linear_groups import LinearGroups, in_groups, likeliest_end
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
