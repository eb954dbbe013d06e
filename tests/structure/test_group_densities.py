"""Densities of groups against densities in closed form, scikit-learn's mixtures, and sums over space."""

import numpy as np
import pytest
import torch
from scipy.special import gammaln
from scipy.stats import multivariate_normal, norm

from partita.data._switch import limits_are_no_news
from partita.structure._group_densities import (
    components_of,
    densities_of,
    ellipses_of,
    log_density,
    log_ellipse,
    log_parts,
    mixtures_of,
)

SPREAD = 0.1  # of the logarithm of a shell's radius


def shells(rows, size, seed=0, matrix=None, spread=SPREAD):
    """Rows of a shell whose radius is log-normal, and their log-densities."""
    rng = np.random.default_rng(seed)
    direction = rng.standard_normal((rows, size))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    distance = np.exp(spread * rng.standard_normal((rows, 1)))
    sphere = np.log(2) + 0.5 * size * np.log(np.pi) - gammaln(size / 2)
    told = norm.logpdf(np.log(distance[:, 0]), scale=spread) - size * np.log(distance[:, 0]) - sphere
    matrix = np.eye(size) if matrix is None else matrix
    return direction * distance @ matrix.T, told - np.linalg.slogdet(matrix)[1]


@pytest.mark.parametrize("size", [3, 4])
def test_the_density_of_a_shell_is_its_closed_form(size):
    """Of any linear map of it, row by row: log p(z) = log p(log |w|) - size log |w| - log area + log |det dw/dz|."""
    matrix = np.random.default_rng(1).standard_normal((size, size))
    matrix = matrix @ matrix.T + np.eye(size)
    z, _ = shells(50_000, size, 0, matrix, 0.4)
    fresh, expected = shells(500, size, 1, matrix, 0.4)
    found = log_ellipse(torch.tensor(fresh[None]), *ellipses_of(torch.tensor(z[None]), seed=0))[0].numpy()
    assert np.abs(found - expected).mean() < 0.05
    assert found.mean() == pytest.approx(expected.mean(), abs=0.02)


def test_shells_of_four_dimensions_need_more_than_a_few_gaussians():
    """The rows of a small study bear so few Gaussians that pieces of a shell would look likelier than the shell."""
    z, _ = shells(1000, 4, 0)
    fresh, expected = shells(1000, 4, 1)
    z, fresh = torch.tensor(z[None]), torch.tensor(fresh[None])
    components = components_of(4, 1000)
    mixture = torch.logsumexp(log_parts(fresh, *mixtures_of(z, 0, components)), -1).mean()
    both = log_density(fresh, *densities_of(z, 0, components)).mean()
    assert float(mixture) < expected.mean() - 0.3
    assert float(both) == pytest.approx(expected.mean(), abs=0.05)


def test_what_is_no_shell_is_as_likely_as_by_a_mixture():
    rng = np.random.default_rng(0)
    centres = 4 * rng.standard_normal((3, 3))
    z, fresh = (torch.tensor(centres[rng.integers(0, 3, 2000)] + rng.standard_normal((2000, 3)))[None] for _ in "ab")
    mixture = torch.logsumexp(log_parts(fresh, *mixtures_of(z, 0, 6)), -1).mean()
    assert float(log_density(fresh, *densities_of(z, 0, 6)).mean()) == pytest.approx(float(mixture), abs=0.01)


@pytest.mark.parametrize("size", [1, 3])
def test_densities_sum_to_one(size):
    """Over space, by rows of a wide Gaussian weighted with one over their own density; of two sets of rows at once."""
    sets = [shells(600, 3, 2)[0] + [1, 0, -1], np.random.default_rng(3).standard_normal((600, 3))]
    parts = densities_of(torch.tensor(np.stack(sets))[..., :size], seed=0, components=5)
    wide = multivariate_normal(np.zeros(size), 4 * np.eye(size))
    places = np.random.default_rng(4).standard_normal((200_000, size)) * 2
    own = wide.logpdf(places)
    told = log_density(torch.tensor(np.stack([places, places])), *parts).numpy()
    np.testing.assert_allclose(np.exp(told - own).mean(1), 1, atol=0.03)


def test_each_set_of_rows_is_told_of_as_if_alone():
    sets = torch.tensor(np.stack([shells(400, 3, 0)[0], np.random.default_rng(3).standard_normal((400, 3))]))
    together = log_density(sets, *densities_of(sets, seed=0, components=4))
    for c in range(2):
        one = sets[c : c + 1]
        alone = log_density(one, *densities_of(one, seed=0, components=4))
        np.testing.assert_allclose(together[c : c + 1], alone, atol=1e-9)


def test_a_direction_without_spread_is_no_error():
    flat = torch.tensor(np.random.default_rng(0).standard_normal((1, 300, 3)), dtype=torch.float32)
    flat[..., 2] = 0
    assert torch.isfinite(log_density(flat, *densities_of(flat, seed=0, components=4))).all()


def test_mixtures_are_as_likely_as_those_of_scikit_learn():
    """EM from random rows against EM from k-means++, on rows that neither saw; and exactly the density they say."""
    from sklearn.mixture import GaussianMixture

    z, fresh = (np.stack([shells(1500, 2, seed)[0], shells(1500, 3, seed)[0][:, :2]]) for seed in (0, 1))
    parts = mixtures_of(torch.tensor(z), seed=0, components=24)
    found = torch.logsumexp(log_parts(torch.tensor(fresh), *parts), -1).mean(1).numpy()
    for c in range(2):
        other = GaussianMixture(24, random_state=0, reg_covar=2e-3, max_iter=20, tol=0, init_params="k-means++")
        with limits_are_no_news:
            other.fit(z[c])
        assert found[c] > other.score(fresh[c]) - 0.05
        logits, centre, diagonal, lower = (part[c].numpy() for part in parts)
        factor = np.tril(lower, -1) + np.apply_along_axis(np.diag, 1, np.exp(diagonal))
        other.weights_, other.means_ = np.exp(logits) / np.exp(logits).sum(), centre
        other.precisions_cholesky_ = np.swapaxes(factor, 1, 2)
        assert found[c] == pytest.approx(other.score(fresh[c]), abs=1e-9)


def test_large_groups_of_few_rows_have_few_components():
    assert components_of(4, 1500) == 1500 // (12 * 15)
    assert components_of(2, 1000) == components_of(4, 10**6) == 24
    assert components_of(1, 10**6) == 12
    assert components_of(10, 100) == 1
