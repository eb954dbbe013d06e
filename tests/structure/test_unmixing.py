import numpy as np
import pytest

from partita.data import load
from partita.structure._unmixing import _fast_ica, spacing_entropy, whitening


def recovered(y, truth):
    """The largest correlation of each true coordinate with any found one."""
    return np.abs(np.corrcoef(y.T, truth.T)[: y.shape[1], y.shape[1] :]).max(0)


@pytest.mark.parametrize("seed", range(12))
def test_no_source_is_erased(seed):
    """Whitened a second time, data that are white already can lose whole directions: it did in a quarter of these."""
    truth = np.random.default_rng(seed).uniform(-1, 1, (500, 6))
    white = whitening(truth)(truth)
    for rotation in _fast_ica(white, 0):
        np.testing.assert_allclose(rotation.T @ rotation, np.eye(6), atol=1e-6)
        assert recovered(white @ rotation, truth).min() > 0.95


def test_twelve_principal_components_keep_all_their_groups():
    dataset = load("groups", seed=101, groups=(3, 3, 2, 2, 1, 1), features=40, size=4000)
    u, s, _ = np.linalg.svd(dataset.x - dataset.x.mean(0).astype(float), full_matrices=False)
    white = whitening(u[:, :12] * s[:12])(u[:, :12] * s[:12])
    for rotation in _fast_ica(white, 0):
        assert recovered(white @ rotation, dataset.truth[:, 10:]).min() > 0.98
        assert spacing_entropy((white @ rotation).T).sum() < 13.9
