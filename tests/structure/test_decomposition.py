import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from partita.measures import correlation, gaussian_tc
from partita.measures._mixture import one_draw
from partita.structure import (
    bottom_up_tree,
    discrete_entropy,
    gaussian_entropy,
    line,
    posterior_entropy,
    top_down_tree,
)

PATHS = [bottom_up_tree, top_down_tree, line]


def total(found):
    return sum(term.value for term in found.terms)


@settings(deadline=None, max_examples=20)
@given(st.sampled_from(PATHS), st.integers(1, 9), st.integers(0, 999))
def test_every_path_adds_up_to_the_gaussian_total_correlation(path, latents, seed):
    rng = np.random.default_rng(seed)
    codes = rng.standard_normal((50, latents)) @ rng.standard_normal((latents, latents))
    found = path(gaussian_entropy(codes), latents)
    assert total(found) == pytest.approx(found.tc, abs=1e-9)
    assert found.tc == pytest.approx(gaussian_tc(codes), abs=1e-8)
    assert len(found.terms) == latents - 1
    assert all(term.value > -1e-9 for term in found.terms)


@settings(deadline=None, max_examples=20)
@given(st.sampled_from(PATHS), st.integers(2, 6), st.integers(0, 999))
def test_every_path_adds_up_on_random_discrete_distributions(path, latents, seed):
    rng = np.random.default_rng(seed)
    states = np.stack([column.ravel() for column in np.indices((2,) * latents)], 1)
    p = rng.dirichlet(np.ones(len(states)))
    found = path(discrete_entropy(states, p), rng.permutation(latents))
    table = p.reshape((2,) * latents)
    joint = (p * np.log(p)).sum()
    singles = [table.sum(tuple(j for j in range(latents) if j != k)) for k in range(latents)]
    assert found.tc == pytest.approx(joint - sum((q * np.log(q)).sum() for q in singles), abs=1e-10)
    assert total(found) == pytest.approx(found.tc, abs=1e-10)


@pytest.mark.parametrize("path", PATHS)
def test_xnor_hides_its_dependence_in_the_last_term(path):
    found = path(discrete_entropy([[0, 0, 1], [0, 1, 0], [1, 0, 0], [1, 1, 1]]), 3)
    values = sorted(term.value for term in found.terms)
    assert values == pytest.approx([0, math.log(2)], abs=1e-12)


@pytest.mark.parametrize("path", PATHS)
def test_paths_of_an_aggregated_posterior_are_its_exact_correlation(path):
    rng = np.random.default_rng(0)
    mean = rng.standard_normal((120, 5)) @ rng.standard_normal((5, 5))
    log_variance = rng.uniform(-2, 0, (120, 5))
    found = path(posterior_entropy(mean, log_variance, seed=3), 5)
    exact = correlation(one_draw(mean, log_variance, 3), mean, log_variance)
    assert total(found) == pytest.approx(exact.tc, abs=1e-9)
    assert found.tc == pytest.approx(exact.tc, abs=1e-9)


@pytest.mark.parametrize("latents", range(2, 10))
def test_rounds_of_the_trees(latents):
    entropy = gaussian_entropy(np.random.default_rng(1).standard_normal((50, latents)))
    for path in (bottom_up_tree, top_down_tree):
        assert max(term.round for term in path(entropy, latents).terms) == math.ceil(math.log2(latents))
    first = [(term.left, term.right) for term in bottom_up_tree(entropy, latents).terms if term.round == 1]
    assert first == [((k,), (k + 1,)) for k in range(0, latents - 1, 2)]
    sums = bottom_up_tree(entropy, latents).by_round()
    assert sum(sums.values()) == pytest.approx(bottom_up_tree(entropy, latents).tc)


def test_what_is_left_after_a_round_is_the_correlation_between_its_blocks():
    codes = np.random.default_rng(2).standard_normal((100, 6)) @ np.random.default_rng(3).standard_normal((6, 6))
    found = bottom_up_tree(gaussian_entropy(codes), 6)
    first_round = found.by_round()[1]
    assert found.tc - first_round == pytest.approx(gaussian_tc(codes, (2, 2, 2)), abs=1e-8)


def test_bad_input():
    with pytest.raises(ValueError, match="distinct indices"):
        line(gaussian_entropy(np.eye(3)), [0, 0])
    with pytest.raises(ValueError, match="linearly dependent"):
        line(gaussian_entropy(np.ones((5, 2))), 2)
    with pytest.raises(ValueError, match="add up to 1"):
        discrete_entropy([[0], [1]], [0.4, 0.4])
