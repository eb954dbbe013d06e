from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest

from partita.data import load
from partita.measures._ica import picard
from partita.structure import align, groups_of_sizes, unmixed
from partita.structure._principal import Principal


def r2(found, data):
    return align(found.codes(data.x), data.truth, found.groups, data.truth_groups).r2


def linear_ceiling(data):
    x = np.c_[data.x, np.ones(len(data.x))]
    codes = x @ np.linalg.lstsq(x, data.truth, rcond=None)[0]
    return align(codes, data.truth, data.truth_groups, data.truth_groups).r2


def test_principal_coordinates_are_white_and_know_their_noise():
    """Against singular values, and against the noise that was put in."""
    data = load("groups", size=4000)
    x = data.x.astype(float)
    found = Principal.of(x, 6)
    values = np.linalg.svd(x - x.mean(0), compute_uv=False) ** 2 / len(x)
    np.testing.assert_allclose(found.variance, values[:6], rtol=1e-9)
    assert found.noise == pytest.approx(values[6:].mean())
    assert found.noise == pytest.approx(0.25, rel=0.05)
    white = found.white(x)
    np.testing.assert_allclose(white.T @ white / len(x), np.eye(6), atol=1e-9)
    np.testing.assert_allclose(found.signal**2 + found.noise, found.variance, rtol=1e-9)


def test_as_many_latents_as_features_have_no_noise_to_speak_of():
    x = load("groups", size=200, features=6).x.astype(float)
    found = Principal.of(x, 6)
    assert 0 < found.noise < 1e-5 * found.variance.mean()
    np.testing.assert_allclose(np.cov(found.white(x).T, bias=True), np.eye(6), atol=1e-6)


@pytest.mark.parametrize(
    ("seed", "sizes", "features"), [(0, (2, 2, 2), 20), (1, (3, 2, 1), 15), (2, (1, 4, 2, 1), 24), (3, (3, 3, 2), 20)]
)
def test_linear_worlds_are_recovered(seed, sizes, features):
    """Groups given, in the order they were asked for; and found."""
    data = load("groups", size=2000, seed=seed, groups=sizes, features=features)
    top = linear_ceiling(data)
    told, free = unmixed(data.x, sum(sizes), sizes), unmixed(data.x, sum(sizes))
    assert tuple(map(len, told.groups)) == sizes
    assert sorted(map(len, free.groups)) == sorted(sizes)
    for found in (told, free):
        assert found.bend is None
        assert found.gain == 0
        assert found.left < 1.3
        assert sorted(k for group in found.groups for k in group) == list(range(sum(sizes)))
        assert r2(found, data) > top - 0.02


def test_many_latents_of_few_rows_are_unmixed_from_several_starts():
    """Of 24 latents and 700 rows one start of ICA ends where groups are not to be seen."""
    sizes = (2,) * 8 + (3,) * 2 + (1,) * 2
    data = load("groups", seed=4, size=700, groups=sizes, features=60)
    principal = Principal.of(data.x.astype(float), 24)
    white = principal.white(data.x)
    once = white @ picard(white, 0).T
    assert align(once, data.truth, groups_of_sizes(once, sizes).groups, data.truth_groups).r2 < 0.85
    assert r2(unmixed(data.x, 24, sizes), data) > 0.95


def test_directions_of_nothing_but_noise_stay_as_they_are():
    data = load("groups", size=1500)
    found = unmixed(data.x, 9)
    assert found.principal.signals == 6
    np.testing.assert_array_equal(found.rotation[6:], np.eye(9)[6:])
    assert sorted(map(len, found.groups)) == [1, 1, 1, 2, 2, 2]
    assert {(6,), (7,), (8,)} < set(found.groups)
    square = load("groups", size=200, features=6).x.astype(float)
    assert Principal.of(square, 6).signals == 6  # nothing is left out that could tell what noise is


@pytest.mark.parametrize("seed", [0, 1])
def test_two_latents_too_many_do_not_drown_the_groups(seed):
    """They are noise, and stand alone; bow-ties of four dimensions, weakly tied, are found all the same."""
    data = load("groups", size=3000, seed=seed, groups=(4, 2, 1), shapes=("bowtie", "ring", "uniform"), features=16)
    found = unmixed(data.x, 9, bends=False)
    assert sorted(map(len, found.groups)) == [1, 1, 1, 2, 4]
    assert r2(found, data) > linear_ceiling(data) - 0.02


BENT = {"seed": 1, "groups": (3, 2), "features": 10, "noise": 0.15, "mixing": "nonlinear", "condition": 3.0}


@pytest.fixture(scope="module")
def bent_world():
    return load("groups", size=1000, **BENT)


@pytest.fixture(scope="module")
def fresh():
    """Other rows of the same world."""
    return load("groups", size=2000, sample=1, **BENT)


def test_a_bent_world_is_unbent_with_groups_given(bent_world, fresh):
    straight = unmixed(bent_world.x, 5, (3, 2), bends=False)
    found = unmixed(bent_world.x, 5, (3, 2))
    assert straight.bend is None
    assert found.bend is not None
    assert found.left == straight.left > 1.3
    assert found.gain > 0.1
    assert 1 - r2(found, fresh) < 0.75 * (1 - r2(straight, fresh))
    assert r2(found, fresh) > 0.985


def test_a_bent_world_is_unbent_with_groups_found(bent_world, fresh):
    straight = unmixed(bent_world.x, 5, bends=False)
    assert straight.left > 1.3  # whichever groups: bent, all hangs together
    found = unmixed(bent_world.x, 5)
    assert sorted(map(len, found.groups)) == [2, 3]
    assert r2(found, fresh) > 0.985


def test_rows_are_asked_whether_they_show_groups_again():
    data = load("groups", size=1000)
    found, given = unmixed(data.x, 6), unmixed(data.x, 6, (2, 2, 2))
    fresh = load("groups", size=1000, sample=1).x.astype(float)
    assert found.shown_by(fresh, None, cuts=False)
    assert given.shown_by(fresh, (2, 2, 2), cuts=False)
    finer = replace(found, groups=tuple((k,) for k in range(6)))
    assert not any(finer.shown_by(fresh, None, cuts) for cuts in (False, True))
    assert not replace(given, groups=((0, 2), (1, 3), (4, 5))).shown_by(fresh, (2, 2, 2), cuts=True)


def test_linear_groups_that_stay_tied_have_no_advantage(bent_world, monkeypatch):
    """Where a linear map leaves groups tied, a bend need not be better by more than what is asked of any."""
    asked = []
    module = import_module("partita.structure.unmixed")
    monkeypatch.setattr(module, "bent_freely", lambda *args, clearly: asked.append(clearly))
    assert unmixed(bent_world.x, 5).left > 1
    monkeypatch.setattr(module, "looks_bent", lambda *args: True)
    assert unmixed(load("groups", size=1000).x, 6).left < 1
    assert asked == [False, True]


def test_few_rows_are_not_bent_and_fewer_are_refused(bent_world):
    found = unmixed(bent_world.x[:390], 5, (3, 2))
    assert found.bend is None
    assert tuple(map(len, found.groups)) == (3, 2)
    with pytest.raises(ValueError, match="at least 60 rows"):
        unmixed(bent_world.x[:59], 5)


def test_one_latent_is_one_group():
    x = load("independent", size=300).x
    for sizes in (None, (1,)):
        assert unmixed(x, 1, sizes).groups == ((0,),)


def test_directions_that_are_not_there_tie_nothing():
    """Six latents of rows that have four directions: the other two are groups of their own, not a knot of all."""
    data = load("groups", size=1000, groups=(2, 2), noise=0.0, features=10)
    found = unmixed(data.x, 6)
    assert sorted(map(len, found.groups)) == [1, 1, 2, 2]
    assert found.bend is None
    told = unmixed(data.x, 6, (2, 2, 2))
    pairs = [group for group in told.groups if group != (4, 5)]
    assert len(pairs) == 2
    alive = [k for group in pairs for k in group]
    halves = tuple(tuple(alive.index(k) for k in group) for group in pairs)
    assert align(told.codes(data.x)[:, alive], data.truth, halves, data.truth_groups).r2 > 0.97
    assert unmixed(np.ones((100, 5)), 3).groups == ((0,), (1,), (2,))


def test_bad_input_is_refused_in_words():
    x = load("groups", size=100).x
    with pytest.raises(ValueError, match="at most the 20 features, got 21"):
        unmixed(x, 21)
    with pytest.raises(ValueError, match="add up to 5"):
        unmixed(x, 6, (3, 2))
    with pytest.raises(ValueError, match="x holds nan at row 3"):
        unmixed(np.where(np.arange(100)[:, None] == 3, np.nan, x), 6)
