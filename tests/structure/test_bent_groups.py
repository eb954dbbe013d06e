from dataclasses import replace

import numpy as np

from partita.structure import _bent_groups
from partita.structure._bent_groups import _cuts, _partitions, bent_freely, looks_bent
from partita.structure._bent_judges import LOOSE as LOOSE_COUNTS
from partita.structure._bent_judges import (
    best_of,
    fitted_again,
    judge,
    straightened,
    worth_bent,
    worth_found,
    worth_of_sizes,
)
from partita.structure._unbending import Bend, Start, Unbent, straight, unbend

PAIRS, CROSSED, LOOSE = ((0, 1), (2, 3)), ((0, 2), (1, 3)), ((0, 1), (2,), (3,))


def turn_of(latents, seed=0):
    return np.linalg.qr(np.random.default_rng(seed).standard_normal((latents, latents)))[0]


def bent_rings(n=600, seed=0, bend=0.1):
    """Two rings, white, turned a little into each other by a bend."""
    rng = np.random.default_rng(seed)
    angle = rng.uniform(0, 2 * np.pi, (n, 2))
    radius = 1 + 0.1 * rng.standard_normal((n, 2))
    z = np.sqrt(2) * np.stack([radius * np.cos(angle), radius * np.sin(angle)], 2).reshape(n, 4)
    return z + bend * np.tanh(z @ turn_of(4, 1))


def test_a_start_is_straightened_to_the_rotation_it_was_bent_from():
    """The bend leaves of the rotation what a linear map of the rows explains best, whatever the units; a coordinate
    without any spread, as of rows with fewer directions than latents, does no harm."""
    white = np.random.default_rng(0).standard_normal((5000, 4))
    rotation = turn_of(4, seed=2)
    bend = replace(Bend.straight(rotation), leave=0.02 * np.random.default_rng(1).standard_normal((4, 64)))
    bent = Unbent(Start(bend, PAIRS), bend.mapped(np.diag([3.0, 1.0, 0.2, 1.0]), np.ones(4)), 0.0)
    found = straightened(bent, white)
    np.testing.assert_allclose(found.bend.rotation, rotation, atol=0.05)
    np.testing.assert_allclose(found.bend.rotation @ found.bend.rotation.T, np.eye(4), atol=1e-12)
    assert not found.bend.leave.any()
    assert found.groups == PAIRS
    white[:, 3] = 0
    flat = Bend.straight(np.eye(4))
    np.testing.assert_allclose(
        straightened(Unbent(Start(flat, PAIRS), flat, 0.0), white).bend.rotation, np.eye(4), atol=1e-9
    )


def test_starts_of_any_sizes_are_fitted_as_each_would_be_alone():
    y = bent_rings(400)
    starts = [Start(Bend.straight(np.eye(4)), groups) for groups in (PAIRS, LOOSE, CROSSED)]
    found = fitted_again(starts, y, seed=0)
    assert [each.start.groups for each in found] == [PAIRS, LOOSE, CROSSED]
    (alone,) = unbend(y, starts[1:2])
    np.testing.assert_array_equal(found[1].codes(y), alone.codes(y))
    assert found[0].likelihood > max(found[1].likelihood, found[2].likelihood)


def test_the_last_judge_believes_rows_and_not_what_a_fit_says_of_itself():
    y = bent_rings()
    right, wrong = (unbend(y, [Start(Bend.straight(np.eye(4)), groups)], steps=100)[0] for groups in (PAIRS, CROSSED))
    boasting = replace(wrong, likelihood=right.likelihood + 100)
    assert worth_of_sizes(y, boasting) > worth_of_sizes(y, right)
    (told_wrong, _), (told_right, best) = judge([boasting, right], y, 0, worth_of_sizes)
    assert told_right > told_wrong
    assert best.start.groups == PAIRS


def test_groups_are_judged_with_the_best_bend_that_is_found_for_them():
    """The bend of right groups may have gone astray; one that is fitted again is then the one to keep."""
    y = bent_rings()
    astray = Unbent(Start(Bend.straight(np.eye(4)), PAIRS), Bend.straight(np.eye(4)), 0.0)
    ((told, kept),) = judge([astray], y, 0, worth_of_sizes)
    assert kept is not astray
    assert kept.start.groups == PAIRS
    ((as_good, same),) = judge([kept], y, 0, worth_of_sizes)
    assert abs(as_good - told) < 0.05
    assert same.start.groups == PAIRS


def test_rows_look_bent_where_a_bend_tells_the_groups_better():
    rng = np.random.default_rng(0)
    y = rng.laplace(size=(2000, 2))
    y = (y - y.mean(0)) / y.std(0)
    assert not looks_bent(y, straight(np.eye(2), ((0,), (1,)), bends=False), seed=0)
    y[:, 1] += 0.5 * (y[:, 0] ** 2 - 1)
    y = (y - y.mean(0)) @ np.linalg.inv(np.linalg.cholesky(np.cov(y.T))).T
    assert looks_bent(y, straight(np.eye(2), ((0,), (1,)), bends=False), seed=0)


def test_groups_that_a_bend_ties_are_looked_at_apart(monkeypatch):
    """Two rings that a bend ties, in one group: the group itself gains nothing by a bend, its parts do, and more than
    by being apart."""
    merged, y = straight(np.eye(4), ((0, 1, 2, 3),), bends=False), bent_rings(1000, bend=0.2)
    monkeypatch.setattr(_bent_groups, "_cuts", lambda codes, factors: [])
    assert not looks_bent(y, merged, seed=0)
    monkeypatch.setattr(_bent_groups, "_cuts", lambda codes, factors: [PAIRS])
    assert looks_bent(y, merged, seed=0)
    assert not looks_bent(bent_rings(1000, bend=0.0), merged, seed=0)


def test_the_best_are_of_more_than_one_partition():
    """Bends of one partition that went astray, each elsewhere, would leave no room for another."""
    y = bent_rings(400)
    bends = [Bend.straight(turn_of(4, seed)) for seed in range(4)]
    many = [Unbent(Start(bend, PAIRS), bend, 0.0) for bend in bends]
    other = Unbent(Start(bends[0], LOOSE), bends[0], -100.0)
    assert all(each is not other for each in best_of([*many, other], y, 4))
    found = best_of([*many, other], y, 4, of_sizes=2)
    assert len(found) == 3
    assert found[-1] is other


def test_a_group_that_nothing_ties_clearly_is_none():
    """Two coordinates that share nothing are as likely together; a ring is a ring."""
    y = np.random.default_rng(1).standard_normal((2000, 4))
    y[:, :2] *= np.sqrt(2) / np.linalg.norm(y[:, :2], axis=1, keepdims=True)
    bend = Bend.straight(np.eye(4))

    def counts_against(groups):
        each = Unbent(Start(bend, groups), bend, -5.0)
        return worth_found(y, each) - worth_bent(y, each)

    assert counts_against(LOOSE) == 0
    assert counts_against(PAIRS) == LOOSE_COUNTS
    assert counts_against(((0, 1, 2), (3,))) == LOOSE_COUNTS
    assert counts_against(CROSSED) == 2 * LOOSE_COUNTS


def test_nothing_is_bent_where_every_cut_leaves_one_group():
    one = np.random.default_rng(0).standard_normal((2000, 1))
    stays = straight(np.eye(2), ((0, 1),), bends=False)
    assert bent_freely(np.hstack([one, one]), np.eye(2), stays, seed=0, clearly=True) is None


def test_partitions_to_start_from_are_cuts_and_packings():
    """Two groups of three that something ties a little: a chain to a cut, not to a packing."""
    rng = np.random.default_rng(0)
    common = rng.standard_normal((4000, 2))
    z = np.repeat(common, 3, axis=1) ** 2 * rng.laplace(size=(4000, 6))
    z[:, 3] += 0.3 * z[:, 2]
    found = [{*groups} for groups in _partitions(z, (1.0,))]
    assert {(0, 1, 2), (3, 4, 5)} in found
    assert {(0, 1, 2), (3, 4, 5)} not in [{*groups} for groups in _cuts(z, (1.0,))]
    assert len(found) == len({frozenset(groups) for groups in found})
